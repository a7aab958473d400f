"""Things kept."""

import unittest

from pocket.stores import moving_mean, Recent


class Shown(unittest.TestCase):
    def test_known_values(self):
        kept = Recent(2)
        kept.put("a", 1)
        kept.put("b", 2)
        self.assertEqual(kept.get("a"), 1)
        kept.put("c", 3)
        self.assertEqual((kept.get("a"), kept.get("b"), kept.get("c")), (1, None, 3))
        self.assertEqual(moving_mean([1, 3, 5], 2), [2, 4])
        again = Recent(2)
        again.put("a", 1)
        again.put("b", 1)
        again.put("a", 2)
        again.put("c", 3)
        self.assertEqual((again.get("a"), again.get("b")), (2, None))
