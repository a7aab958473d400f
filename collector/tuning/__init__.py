"""Tuning: which settings of a stack to try next, from what is sealed of earlier trials alone.

Nothing is kept between two trials but evidence: a search that was broken off goes on from what it sealed.
"""
