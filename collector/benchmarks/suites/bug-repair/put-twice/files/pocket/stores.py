"""Things kept for a while."""


class Recent:
    """Keeps the `size` values that were used last."""

    def __init__(self, size):
        self.size = size
        self.values = {}

    def get(self, key):
        """The value of a key, which then counts as used; None where it is not kept."""
        if key not in self.values:
            return None
        value = self.values.pop(key)
        self.values[key] = value
        return value

    def put(self, key, value):
        """Keep a value; the one that was not used for the longest time goes when there are too many."""
        self.values[key] = value
        if len(self.values) > self.size:
            oldest = next(iter(self.values))
            del self.values[oldest]


def moving_mean(values, width):
    """Mean of every `width` values in a row."""
    return [sum(values[first : first + width]) / width for first in range(len(values) - width + 1)]
