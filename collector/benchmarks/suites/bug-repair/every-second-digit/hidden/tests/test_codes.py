"""Numerals and check digits."""

import unittest

from pocket.codes import from_roman, luhn, to_roman


class Shown(unittest.TestCase):
    def test_known_values(self):
        self.assertEqual(to_roman(1994), "MCMXCIV")
        self.assertEqual(to_roman(3), "III")
        self.assertEqual(from_roman("MCMXCIV"), 1994)
        self.assertTrue(luhn("4539578763621486"))
        self.assertFalse(luhn("4539578763621487"))
