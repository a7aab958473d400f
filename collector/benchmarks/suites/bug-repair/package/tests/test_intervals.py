"""Stretches of a line."""

import unittest

from pocket.intervals import gaps, merge, overlap


class Shown(unittest.TestCase):
    def test_known_values(self):
        self.assertEqual(overlap((0, 4), (2, 9)), 2)
        self.assertEqual(overlap((0, 1), (5, 9)), 0)
        self.assertEqual(merge([(5, 6), (0, 2), (1, 3)]), [(0, 3), (5, 6)])
        self.assertEqual(merge([(0, 1), (1, 2)]), [(0, 2)])
        self.assertEqual(merge([(0, 9), (1, 2)]), [(0, 9)])
        self.assertEqual(gaps([(0, 1), (3, 4)]), [(1, 3)])
