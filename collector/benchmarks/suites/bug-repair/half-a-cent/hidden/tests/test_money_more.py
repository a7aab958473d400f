"""Amounts in whole cents."""

import unittest

from pocket.money import show, split, with_tax


class Hidden(unittest.TestCase):
    def test_known_values(self):
        self.assertEqual(split(0, 2), [0, 0])
        self.assertEqual(split(5, 5), [1, 1, 1, 1, 1])
        self.assertEqual(split(8, 5), [2, 2, 2, 1, 1])
        self.assertEqual(with_tax(3, 19), 4)
        self.assertEqual(with_tax(2, 19), 2)
        self.assertEqual(show(-123456789), "-1,234,567.89")
        self.assertEqual(show(0), "0.00")
