"""Words and lines."""

import unittest

from pocket.texts import count_words, slug, wrap


class Hidden(unittest.TestCase):
    def test_known_values(self):
        self.assertEqual(wrap("", 5), [])
        self.assertEqual(wrap("extraordinary a", 3), ["extraordinary", "a"])
        self.assertEqual(wrap("aaa bbb ccc", 7), ["aaa bbb", "ccc"])
        self.assertEqual(slug(" -- A b-2 -- "), "a-b-2")
        self.assertEqual(count_words("?! a"), {"a": 1})
