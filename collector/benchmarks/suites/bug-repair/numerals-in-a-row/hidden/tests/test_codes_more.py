"""Numerals and check digits."""

import unittest

from pocket.codes import from_roman, luhn, to_roman


class Hidden(unittest.TestCase):
    def test_known_values(self):
        self.assertEqual([from_roman(to_roman(number)) for number in range(1, 400)], list(range(1, 400)))
        self.assertEqual(to_roman(3999), "MMMCMXCIX")
        self.assertTrue(luhn("79927398713"))
        self.assertFalse(luhn("79927398710"))
        self.assertTrue(luhn("0"))
