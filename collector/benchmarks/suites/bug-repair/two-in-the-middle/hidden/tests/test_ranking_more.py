"""Order and place."""

import unittest

from pocket.ranking import median, ranks, top


class Hidden(unittest.TestCase):
    def test_known_values(self):
        self.assertEqual(ranks({"a": 7, "b": 7, "c": 1}), {"a": 1, "b": 1, "c": 3})
        self.assertEqual(ranks({}), {})
        self.assertEqual(median([5]), 5)
        self.assertEqual(median([1, 1, 9, 9, 9, 1]), 5)
        self.assertEqual(top({"x": 1}, 5), ["x"])
        self.assertEqual(top({"x": 1, "y": 2}, 0), [])
