"""Synthetic token data that a language model can learn: a seeded Markov chain of order one.

Standard library only, and the same bytes on every machine and Python version: the planner computes the digest here
without a framework, and the launched trial checks it. Only `Random.random()` is drawn from, the one method whose
sequence Python promises to keep for a seed.
"""

from __future__ import annotations

import hashlib
import math
import random
import sys
from array import array
from bisect import bisect_right
from itertools import accumulate


def weights(branching: int) -> list[float]:
    """Probabilities of a token's successors, most likely first: Zipf's law, so that there is something to learn."""
    shares = [1.0 / (rank + 1) for rank in range(branching)]
    return [share / sum(shares) for share in shares]


def entropy(branching: int) -> float:
    """The chain's entropy in nats a token: the lowest loss that any model can reach."""
    return -sum(share * math.log(share) for share in weights(branching))


def tokens(seed: int, count: int, branching: int, vocabulary_size: int) -> array[int]:
    """`count` token ids as unsigned 32-bit numbers.

    Token t is followed by order[(place(t) + offset_k) mod V] with probability `weights`[k]: every token has `branching`
    different successors and all tokens are equally frequent in the long run, so knowing frequencies alone gains
    nothing. Raises ValueError when there are more successors than tokens.
    """
    if branching > vocabulary_size:
        raise ValueError(f"branching must be at most the vocabulary's size ({vocabulary_size}), got {branching}")
    source = random.Random(seed)  # noqa: S311 (data, not secrets)
    order = _shuffled(source, vocabulary_size)
    place = array("I", bytes(4 * vocabulary_size))
    for position, token in enumerate(order):
        place[token] = position
    offsets = _shuffled(source, vocabulary_size)[:branching]
    bounds = list(accumulate(weights(branching)))[:-1]
    draw, token = source.random, order[0]
    chain = array("I", bytes(4 * count))
    for index in range(count):
        chain[index] = token
        token = order[(place[token] + offsets[bisect_right(bounds, draw())]) % vocabulary_size]
    return chain


def digest(chain: array[int]) -> str:
    """sha256 over the ids as little-endian 32-bit numbers."""
    if sys.byteorder == "big":
        chain = chain[:]
        chain.byteswap()
    return hashlib.sha256(chain.tobytes()).hexdigest()


def _shuffled(source: random.Random, count: int) -> list[int]:
    """0 … count-1 in a random order (Fisher-Yates over `random()`; `shuffle` is not promised to stay)."""
    numbers = list(range(count))
    for last in range(count - 1, 0, -1):
        other = int(source.random() * (last + 1))
        numbers[last], numbers[other] = numbers[other], numbers[last]
    return numbers


def batches(seed: int, sequences: int, batch_size: int, steps: int) -> list[list[int]]:
    """Which sequences each step trains on: every epoch goes through all of them in a new order."""
    source = random.Random(seed)  # noqa: S311
    stream: list[int] = []
    while len(stream) < batch_size * steps:
        stream.extend(_shuffled(source, sequences))
    return [stream[step * batch_size : (step + 1) * batch_size] for step in range(steps)]


def split(count: int, sequence_length: int) -> tuple[int, int]:
    """(training, held-out) sequences in `count` tokens: the last tenth, at most 64, is held out for evaluation.

    A sequence takes sequence_length + 1 tokens: inputs, and the same shifted by one as targets.
    """
    sequences = count // (sequence_length + 1)
    held_out = min(64, sequences // 10)
    return sequences - held_out, held_out
