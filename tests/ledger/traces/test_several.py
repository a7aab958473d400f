"""Ranks that were merged into one file: each is explained as by itself, or the file is left whole and says so."""

from typing import Any

import pytest

from ledger import traces
from ledger.traces import reading
from ledger.traces.breakdown import explain
from ledger.traces.collectives import collectives
from ledger.traces.integrity import inspect
from tests.ledger.traces.builder import STREAM, annotation, event, launched, op, training, write
from tests.ledger.traces.collective_builder import collective, told


def rank(number: int, slower: float = 0) -> list[dict[str, Any]]:
    """One rank's events, whose ids are those of every other rank."""
    at = 3.0 * number
    return [
        annotation("ProfilerStep#1", at, 500),
        op("aten::mm", at + 5, 10, **{"External id": 1, "Input Dims": [[4, 8], [8, 2]]}),
        *launched("kernel", "ampere_sgemm", at + 6, at + 20, 50 + slower, 1),
        event("cuda_runtime", "cudaMemcpyAsync", at + 100, 1, correlation=2),
        event("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", at + 120, 2, STREAM, bytes=4000, correlation=2),
        *collective(at + 200, 300, 3, **told("allreduce", 1000, 1000)),
    ]


def as_rank(events: list[dict[str, Any]], process: Any, device: Any) -> list[dict[str, Any]]:
    """The same in a file that holds others too: of a process and a device of its own."""
    on_device = ("kernel", "gpu_memcpy")
    return [{**each, "pid": device if each["cat"] in on_device else process} for each in events]


def merged(tmp_path, *parts: list[dict[str, Any]]) -> list[traces.reading.Trace]:
    events = [each for part in zip(*parts, strict=True) for each in part]
    return list(reading.read_each(write(tmp_path / "merged.json", events, distributedInfo={"rank": 0})))


def test_each_rank_is_explained_as_by_itself(tmp_path):
    ranks = [rank(0), rank(1, slower=40), rank(2)]
    found = merged(tmp_path, *(as_rank(each, f"rank {place}", place) for place, each in enumerate(ranks)))
    assert [(trace.rank, trace.facts.share) for trace in found] == [(n, f"process rank {n}") for n in range(3)]
    for place, (trace, events) in enumerate(zip(found, ranks, strict=True)):
        alone = traces.read(write(tmp_path / f"rank-{place}.json", events))
        assert explain(trace) == explain(alone)
        assert collectives([trace]).drop_columns(["rank"]) == collectives([alone]).drop_columns(["rank"])
        assert inspect(trace).usable
        assert (trace.flops.value.tolist(), trace.bytes.value.tolist()) == ([128], [4000])


def test_ranks_that_no_process_names_are_told_apart_all_the_same(tmp_path):
    found = merged(tmp_path, as_rank(rank(0), 100, 1), as_rank(rank(1, 40), 200, 0))
    assert [(trace.rank, trace.facts.share) for trace in found] == [(None, "process 100"), (None, "process 200")]
    assert [explain(trace).part("compute") for trace in found] == [50_000, 90_000]


def test_launches_that_fit_two_devices_alike_tell_nothing(tmp_path):
    same = (rank(0), rank(0, 40))
    (found,) = merged(tmp_path, as_rank(same[0], 100, 1), as_rank(same[1], 200, 0))
    assert found.facts.share is None
    found, other = merged(tmp_path, as_rank(same[0], "rank 1", 1), as_rank(same[1], "rank 0", 0))
    assert [explain(trace).part("compute") for trace in (found, other)] == [50_000, 90_000]


def test_ranks_whose_devices_have_one_name_stay_together_and_gate(tmp_path):
    (found,) = merged(tmp_path, as_rank(rank(0), 100, 0), as_rank(rank(1), 200, 0))
    (finding,) = [each for each in inspect(found).findings if each.gates and each.code == "several_ranks"]
    assert (finding.count, found.facts.share) == (2, None)


def test_a_device_whose_launches_are_not_there_is_no_ranks(tmp_path):
    (found,) = merged(tmp_path, as_rank(rank(0), 100, 0), [each | {"args": {}} for each in as_rank(rank(1), 200, 1)])
    assert found.facts.share is None


def test_hosts_without_a_device_are_told_apart(tmp_path):
    found = merged(tmp_path, training(), [{**each, "pid": 2} for each in training()])
    assert [explain(trace).part("compute") for trace in found] == [120_000, 120_000]


def test_allocations_of_several_ranks_are_left_out_and_it_says_so(tmp_path):
    memory = {"ph": "i", "s": "t", "name": "[memory]", "pid": 100, "tid": 1, "ts": 5}
    memory["args"] = {"Device Type": 1, "Device Id": 0, "Bytes": 512}
    ranks = (as_rank(rank(0), 100, 0), as_rank(rank(1), 200, 1))
    found = merged(tmp_path, *([*each, memory] for each in ranks))
    assert [len(trace.memory) for trace in found] == [0, 0]
    assert all("allocations" in trace.facts.notes[0] for trace in found)


@pytest.mark.parametrize("stray", [1, 2])
def test_a_few_events_of_another_process_make_no_rank(tmp_path, stray):
    others = [{**op("aten::mm", 5 + place, 1), "pid": 2} for place in range(stray)]
    (found,) = reading.read_each(write(tmp_path / "rank-0.json", [*training(60), *others]))
    assert found.facts.share is None
