"""Days and years."""

import unittest

from pocket.calendars import days_between, is_leap


class Hidden(unittest.TestCase):
    def test_known_values(self):
        self.assertTrue(is_leap(2000))
        self.assertFalse(is_leap(2100))
        self.assertEqual([year for year in range(1890, 1913) if is_leap(year)], [1892, 1896, 1904, 1908, 1912])
        self.assertEqual(days_between((1970, 1, 1), (2000, 1, 1)), 10957)
        self.assertEqual(days_between((2024, 3, 1), (2024, 2, 1)), -29)
        self.assertEqual(days_between((1900, 2, 28), (1900, 3, 1)), 1)
