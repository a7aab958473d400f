"""Amounts of money in whole cents."""


def split(amount, people):
    """Shares that add up to the amount and differ by a cent at most, the larger ones first."""
    share, left = divmod(amount, people)
    return [share + 1] * left + [share] * (people - left)


def with_tax(amount, percent):
    """The amount with a tax on it, rounded to a cent, half a cent up."""
    return amount + (amount * percent ) // 100


def show(amount):
    """Text such as -1,234.05."""
    sign = "-" if amount < 0 else ""
    whole, cents = divmod(abs(amount), 100)
    return f"{sign}{whole:,}.{cents:02d}"
