"""Metrics of communication and of ranks, on generated runs with known answers and on real ones."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from ledger.metrics import derive
from tests.ledger.traces.builder import WORKER, annotation, launched, op, write
from tests.ledger.traces.collective_builder import collective, told

SHARED = Path(os.environ.get("STACKPROOF_SHARED", Path(__file__).parents[4] / "shared")) / "data"


def metrics(folder: Path) -> dict[str, list[Any]]:
    """Values of each metric, or why there are none."""
    found: dict[str, list[Any]] = {}
    for row in derive.derive(folder):
        found.setdefault(row.metric, []).append(row.value if row.missing_reason is None else row.missing_reason)
    return found


def run(tmp_path: Path, *ranks: list[dict[str, Any]], world_size: int | None = None) -> dict[str, list[Any]]:
    """Metrics of a run folder with these ranks, each of one step."""
    (tmp_path / "traces").mkdir()
    for number, events in enumerate(ranks):
        info = {"rank": number, "world_size": world_size or len(ranks)}
        step = annotation("ProfilerStep#1", 0, 1000)
        write(tmp_path / f"traces/rank-{number}.json", [step, *events], distributedInfo=info)
    return metrics(tmp_path)


def compute(until: float) -> list[dict[str, Any]]:
    return launched("kernel", "gemm", 10, 20, until - 20, 99)


def test_a_straggler_is_told_from_a_slow_link(tmp_path):
    args = told("allreduce", 1000, 1000)
    found = run(
        tmp_path,
        [*compute(80), *collective(100, 150, 1, **args)],
        [*compute(120), *collective(130, 150, 1, **args)],
    )
    assert found["peer_wait"] == [pytest.approx(30e-6), 0]
    assert found["transfer_time"] == [pytest.approx(20e-6), pytest.approx(20e-6)]
    assert found["communication.all_reduce"] == [pytest.approx(50e-6), pytest.approx(20e-6)]
    assert found["collective_bytes"] == found["collective_bytes.all_reduce"] == [4000, 4000]
    for name in ("algorithm_bandwidth", "bus_bandwidth", "bus_bandwidth.all_reduce"):
        assert found[name] == [pytest.approx(200e6)] * 2
    assert found["rank_imbalance"] == [pytest.approx(100 / 80)]
    assert (found["straggler_rank"], found["critical_rank"]) == ([1], [1])
    assert found["communication.broadcast"] == found["bus_bandwidth.broadcast"] == ["no broadcast in the trace"]


def test_bandwidth_is_all_bytes_over_all_transfer_time(tmp_path):
    small, large = told("allreduce", 1000, 1000), told("_allgather_base", 5000, 10_000)
    events = [*collective(100, 110, 1, **small), *collective(200, 290, 2, **large)]
    found = run(tmp_path, events, events)
    assert found["algorithm_bandwidth"][0] == pytest.approx(44_000 / 100e-6)
    assert found["bus_bandwidth"][0] == pytest.approx((4000 + 20_000) / 100e-6)
    assert found["bus_bandwidth.all_gather"][0] == pytest.approx(20_000 / 90e-6)


def test_time_of_two_collectives_at_once_is_counted_once(tmp_path):
    args = told("allreduce", 1000, 1000)
    found = run(tmp_path, [*collective(100, 150, 1, **args), *collective(120, 160, 2, **args)])
    assert found["communication.all_reduce"] == [pytest.approx(60e-6)]
    assert found["collective_bytes"] == [8000]


def test_values_are_of_one_step(tmp_path):
    args = told("allreduce", 1000, 1000)
    second = [annotation("ProfilerStep#2", 1000, 1000), *collective(1100, 1130, 2, **args)]
    outside = collective(2100, 2200, 3, **args)
    found = run(tmp_path, [*collective(100, 150, 1, **args), *second, *outside])
    assert found["communication.all_reduce"] == [pytest.approx(40e-6)]
    assert found["collective_bytes"] == [4000]


def test_the_critical_rank_is_the_one_that_others_wait_for_not_the_one_that_computes_most(tmp_path):
    args = told("allreduce", 1000, 1000)
    found = run(
        tmp_path,
        [*compute(60), *collective(140, 150, 1, **args), *collective(200, 250, 2, **args)],
        [*compute(90), *collective(100, 150, 1, **args), *collective(210, 250, 2, **args)],
    )
    assert (found["straggler_rank"], found["critical_rank"]) == ([1], [0])


def test_nobody_is_critical_where_nobody_waits(tmp_path):
    events = [*compute(60), *collective(100, 150, 1, **told("allreduce", 10, 10))]
    found = run(tmp_path, events, events)
    assert found["critical_rank"] == ["no rank waits"]
    assert found["straggler_rank"] == ["all ranks compute as long"]
    assert found["rank_imbalance"] == [1]


def test_one_rank_alone_says_why_what_needs_others_is_absent(tmp_path):
    found = run(tmp_path, collective(100, 150, 1, **told("allreduce", 10, 10)), world_size=2)
    why = "not every rank of the group has a trace"
    assert found["peer_wait"] == found["transfer_time"] == [f"waiting cannot be told from transfer: {why}"]
    assert found["bus_bandwidth"] == [f"of no collective both size and transfer time are known: {why}"]
    assert found["rank_imbalance"] == found["straggler_rank"] == found["critical_rank"] == ["only one rank has a trace"]
    assert found["collective_bytes"] == [40]


def test_a_missing_rank_may_be_the_straggler(tmp_path):
    args = told("allreduce", 10, 10, ranks="[0, 1, 2]")
    events = [*compute(60), *collective(100, 150, 1, **args)]
    found = run(tmp_path, events, events, world_size=3)
    assert found["rank_imbalance"] == found["straggler_rank"] == ["only 2 of 3 ranks have a trace"]
    assert "not every rank" in found["peer_wait"][0]


def test_sizes_that_are_not_told_are_no_bytes(tmp_path):
    known, unknown = told("allreduce", 10, 10), told("allreduce", 10, 10, "Unheard")
    found = run(tmp_path, [*collective(100, 150, 1, **known), *collective(200, 250, 2, **unknown)])
    assert found["collective_bytes"] == ["the size of 1 of 2 collectives is not told"]


def test_without_communication_there_are_no_values(tmp_path):
    found = run(tmp_path, [op("aten::mm", 10, 20)], [op("aten::mm", 10, 40)])
    for name in ("collective_bytes", "communication.all_reduce", "peer_wait", "bus_bandwidth"):
        assert found[name] == ["no communication in the trace"]
    assert found["critical_rank"] == ["no waiting is known: no communication in the traces"]
    assert found["rank_imbalance"] == [pytest.approx(40 / 30)]


def test_a_run_without_traces_says_so(tmp_path):
    for name in ("peer_wait", "bus_bandwidth.all_gather", "critical_rank"):
        assert metrics(tmp_path)[name] == ["no trace: the trial was not profiled"]


def test_ranks_that_are_not_told_are_numbered_by_their_place(tmp_path):
    (tmp_path / "traces").mkdir()
    gloo = annotation("gloo:all_reduce", 20, 40, WORKER) | {"args": {"Input Dims": [[10]], "Input type": ["float"]}}
    for number in (0, 1):
        events = [annotation("ProfilerStep#1", 0, 100), gloo | {"dur": 40 + number}]
        write(tmp_path / f"traces/rank-{number}.json", events)
    assert metrics(tmp_path)["communication.all_reduce"] == [pytest.approx(40e-6), pytest.approx(41e-6)]


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared traces are not here")
@pytest.mark.parametrize("name", ["torch-ddp", "torch-fsdp2"])
def test_real_ranks_have_waits_bandwidths_and_a_straggler(tmp_path, name):
    (tmp_path / "traces").mkdir()
    for rank in (0, 1):
        shutil.copy(SHARED / f"cpu/traces/{name}-rank{rank}.json.gz", tmp_path / f"traces/rank-{rank}.json.gz")
    found = metrics(tmp_path)
    assert all(0 <= wait < 10 for wait in found["peer_wait"])
    assert all(1e6 < speed < 1e12 for speed in found["bus_bandwidth"])
    assert 1 <= found["rank_imbalance"][0] < 2
    assert {found["straggler_rank"][0], found["critical_rank"][0]} <= {0, 1}
