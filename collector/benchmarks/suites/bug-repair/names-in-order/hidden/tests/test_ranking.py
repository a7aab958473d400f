"""Order and place."""

import unittest

from pocket.ranking import median, ranks, top


class Shown(unittest.TestCase):
    def test_known_values(self):
        self.assertEqual(ranks({"a": 5, "b": 9}), {"a": 2, "b": 1})
        self.assertEqual(median([3, 1, 2]), 2)
        self.assertEqual(median([4, 1, 2, 3]), 2.5)
        self.assertEqual(top({"x": 1, "b": 3, "a": 3}, 2), ["a", "b"])
        with self.assertRaises(ValueError):
            median([])
