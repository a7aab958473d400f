"""Days and years."""

import unittest

from pocket.calendars import days_between, is_leap


class Shown(unittest.TestCase):
    def test_known_values(self):
        self.assertTrue(is_leap(2024))
        self.assertFalse(is_leap(2023))
        self.assertFalse(is_leap(1900))
        self.assertEqual(days_between((2023, 12, 31), (2024, 1, 1)), 1)
        self.assertEqual(days_between((2024, 2, 28), (2024, 3, 1)), 2)
