"""Stretches of a line, each a pair (start, end) that does not include its end."""


def overlap(one, other):
    """Length of what two stretches share, 0 where they share nothing."""
    return max(0, min(one[1], other[1]) - max(one[0], other[0]))


def merge(stretches):
    """The same points in as few stretches as there can be, in order; stretches that touch become one."""
    merged = []
    for start, end in sorted(stretches):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def gaps(stretches):
    """What lies between the stretches."""
    joined = merge(stretches)
    return [(before[1], after[0]) for before, after in zip(joined, joined[1:])]
