"""Words and lines."""


def wrap(text, width):
    """Lines of whole words, none longer than `width` unless a single word is."""
    lines = []
    for word in text.split():
        if lines and len(lines[-1]) + len(word) <= width:
            lines[-1] += " " + word
        else:
            lines.append(word)
    return lines


def slug(title):
    """Lower-case letters and digits with single hyphens between."""
    kept = "".join(each if each.isalnum() else " " for each in title.lower())
    return "-".join(kept.split())


def count_words(text):
    """{word in lower case: how often it stands there}."""
    counts = {}
    for word in text.lower().split():
        word = word.strip(".,;:!?")
        if word:
            counts[word] = counts.get(word, 0) + 1
    return counts
