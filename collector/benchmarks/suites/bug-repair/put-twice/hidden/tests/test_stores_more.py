"""Things kept."""

import unittest

from pocket.stores import moving_mean, Recent


class Hidden(unittest.TestCase):
    def test_known_values(self):
        kept = Recent(1)
        kept.put("a", 1)
        self.assertEqual(kept.get("a"), 1)
        kept.put("b", 2)
        self.assertIsNone(kept.get("a"))
        self.assertIsNone(kept.get("z"))
        three = Recent(3)
        for name in "abcd":
            three.put(name, name)
        self.assertEqual([three.get(name) for name in "abcd"], [None, "b", "c", "d"])
        self.assertEqual(moving_mean([1, 2, 3, 6], 4), [3])
        self.assertEqual(moving_mean([1], 2), [])
