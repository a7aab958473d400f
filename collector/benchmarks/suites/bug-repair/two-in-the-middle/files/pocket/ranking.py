"""Order and place."""


def ranks(scores):
    """{name: place}; the best score has place 1, and equal scores share the better place."""
    ordered = sorted(scores.values(), reverse=True)
    return {name: ordered.index(score) + 1 for name, score in scores.items()}


def median(values):
    """The middle value, or the mean of the two middle ones. Raises ValueError where there is none."""
    if not values:
        raise ValueError("no values")
    ordered = sorted(values)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle] + ordered[middle + 1]) / 2


def top(scores, count):
    """Names of the `count` best, best first; names in order where scores are equal."""
    return sorted(scores, key=lambda name: (-scores[name], name))[:count]
