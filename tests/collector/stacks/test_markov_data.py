import math
from collections import Counter
from itertools import pairwise

import pytest

from collector.stacks.launch import markov


def test_digest_is_the_same_on_every_machine_and_python():
    chain = markov.tokens(seed=7, count=5000, branching=4, vocabulary_size=64)
    assert markov.digest(chain) == "3a53e570aefba8ad63373ee4553a1ca968353d9105c89597910c90459a488b6f"


def test_digest_depends_on_every_parameter():
    given = [(7, 500, 4, 64), (8, 500, 4, 64), (7, 501, 4, 64), (7, 500, 3, 64), (7, 500, 4, 65)]
    assert len({markov.digest(markov.tokens(*each)) for each in given}) == len(given)


def test_each_token_has_its_successors_with_unequal_probabilities():
    chain = markov.tokens(seed=1, count=60_000, branching=3, vocabulary_size=16)
    counts = Counter(pairwise(chain))
    for token in range(16):
        after = sorted((counts[pair] for pair in counts if pair[0] == token), reverse=True)
        assert [count / sum(after) for count in after] == pytest.approx([6 / 11, 3 / 11, 2 / 11], abs=0.04)


def test_frequencies_alone_tell_nothing():
    counts = Counter(markov.tokens(seed=1, count=60_000, branching=3, vocabulary_size=16))
    assert max(counts.values()) / min(counts.values()) < 1.15


def test_entropy_is_that_of_the_weights():
    assert markov.entropy(1) == 0
    assert markov.entropy(2) == pytest.approx(-(2 / 3 * math.log(2 / 3) + 1 / 3 * math.log(1 / 3)))


def test_more_successors_than_tokens_is_refused():
    with pytest.raises(ValueError, match=r"at most the vocabulary's size \(4\), got 5"):
        markov.tokens(1, 100, 5, 4)


def test_held_out_sequences_are_never_trained_on():
    training, held_out = markov.split(6000, 16)
    assert (training + held_out) * 17 <= 6000
    assert held_out == 35
    order = markov.batches(1, training, 8, 60)
    assert all(len(batch) == 8 for batch in order)
    assert {index for batch in order for index in batch} == set(range(training))


def test_every_epoch_sees_each_sequence_once_in_another_order():
    stream = [index for batch in markov.batches(3, 40, 8, 10) for index in batch]
    assert sorted(stream[:40]) == sorted(stream[40:]) == list(range(40))
    assert stream[:40] != stream[40:]
