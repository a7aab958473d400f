"""Words and lines."""

import unittest

from pocket.texts import count_words, slug, wrap


class Shown(unittest.TestCase):
    def test_known_values(self):
        self.assertEqual(wrap("a bb ccc", 4), ["a bb", "ccc"])
        self.assertEqual(wrap("aa bb", 4), ["aa", "bb"])
        self.assertEqual(slug("Hello,  World!"), "hello-world")
        self.assertEqual(count_words("One, two. One!"), {"one": 2, "two": 1})
        self.assertEqual(count_words("well - no"), {"well": 1, "-": 1, "no": 1})
        self.assertEqual(count_words("so ..."), {"so": 1})
