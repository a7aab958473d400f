"""Numerals and check digits."""

ROMAN = (("M", 1000), ("CM", 900), ("D", 500), ("CD", 400), ("C", 100), ("XC", 90), ("L", 50), ("XL", 40),
         ("X", 10), ("IX", 9), ("V", 5), ("IV", 4), ("I", 1))


def to_roman(number):
    """A whole number from 1 to 3999 in Roman numerals."""
    text = ""
    for numeral, value in ROMAN:
        while number >= value:
            text += numeral
            number -= value
    return text


def from_roman(text):
    """The number that Roman numerals stand for."""
    values = {numeral: value for numeral, value in ROMAN if len(numeral) == 1}
    total = 0
    for place, numeral in enumerate(text):
        value = values[numeral]
        after = values[text[place + 1]] if place + 1 < len(text) else 0
        total += -value if value < after else value
    return total


def luhn(digits):
    """Whether the last digit of a card's number is its right check digit."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (2 if place % 2 else 1)
        total += value - 10 if value > 9 else value
    return total % 10 == 0
