"""Amounts in whole cents."""

import unittest

from pocket.money import show, split, with_tax


class Shown(unittest.TestCase):
    def test_known_values(self):
        self.assertEqual(split(100, 3), [34, 33, 33])
        self.assertEqual(sum(split(1001, 7)), 1001)
        self.assertEqual(with_tax(1000, 19), 1190)
        self.assertEqual(with_tax(50, 7), 54)
        self.assertEqual(show(123405), "1,234.05")
        self.assertEqual(show(-5), "-0.05")
