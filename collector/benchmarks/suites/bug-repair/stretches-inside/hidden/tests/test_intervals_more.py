"""Stretches of a line."""

import unittest

from pocket.intervals import gaps, merge, overlap


class Hidden(unittest.TestCase):
    def test_known_values(self):
        self.assertEqual(overlap((3, 5), (0, 9)), 2)
        self.assertEqual(merge([]), [])
        self.assertEqual(merge([(0, 10), (2, 3), (4, 12), (12, 13)]), [(0, 13)])
        self.assertEqual(merge([(-5, -1), (-1, 0)]), [(-5, 0)])
        self.assertEqual(gaps([(8, 9), (0, 4), (2, 5)]), [(5, 8)])
        self.assertEqual(gaps([(0, 1)]), [])
