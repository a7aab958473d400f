"""Figures: each drawn twice from the same numbers, as an interactive Plotly figure and as a static inline SVG.

The SVG is what stands on the page: without JavaScript, in print, and until Plotly has drawn. Colours are the names of
CSS variables, so that both follow the reader's light or dark scheme; shape, label and order carry the meaning as well.
"""
