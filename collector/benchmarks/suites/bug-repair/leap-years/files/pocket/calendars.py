"""Days and years."""


def is_leap(year):
    """Whether a year of the Gregorian calendar has 366 days."""
    return year % 4 == 0 and (year % 100 == 0 or year % 400 == 0)


def days_between(first, last):
    """Days from `first` to `last`, both (year, month, day); negative when `last` is earlier."""
    return _number(last) - _number(first)


def _number(date):
    """Days since a fixed day, with years that begin in March, so that a leap day is a year's last."""
    year, month, day = date
    if month < 3:
        year, month = year - 1, month + 12
    return 365 * year + year // 4 - year // 100 + year // 400 + (153 * month - 457) // 5 + day
