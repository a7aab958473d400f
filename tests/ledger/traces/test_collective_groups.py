"""Kernels that carry out several calls of a group: the bytes of all of them, or none."""

from pathlib import Path
from typing import Any

import pytest

from tests.ledger.traces.builder import STREAM, WORKER, event, op
from tests.ledger.traces.collective_builder import KERNEL, collective, rank, rows, told

SEND_RECV = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"


def call(at: float, operation: str = "allreduce", elements: int = 1000, group: str = "0", **args: Any) -> dict:
    """What the process group records of a call, 2 us long."""
    return op("record_param_comms", at, 2, **{**told(operation, elements, elements, group=group), **args})


def launch(at: float, correlation: int, name: str = KERNEL, start: float | None = None, **args: Any) -> list:
    start = at + 5 if start is None else start
    return [
        event("cuda_runtime", "cudaLaunchKernelExC", at, 1, correlation=correlation),
        event("kernel", name, start, 50, STREAM, correlation=correlation, **args),
    ]


def group(*calls: dict) -> list:
    """Calls at 10, 20, … and one kernel, launched after all of them in what joins them."""
    return [op("c10d::_coalesced", 5, 60), op("nccl:_coalesced", 5, 60), *calls, *launch(60, 1)]


def moved(tmp_path: Path, events: list) -> list[tuple[str, int | None, float | None]]:
    return [(row["operation"], row["bytes"], row["algorithm_bandwidth"]) for row in rows(rank(tmp_path, 0, events))]


def both(tmp_path: Path, events: list) -> dict:
    """The first collective, of two ranks that did the same, so that transfer is known."""
    return rows(rank(tmp_path, 0, events), rank(tmp_path, 1, events))[0]


def test_a_kernel_moves_what_all_calls_of_its_group_do(tmp_path):
    calls = [call(10 * place, elements=place * 1000) for place in (1, 2, 3)]
    row = both(tmp_path, group(*calls))
    assert (row["operation"], row["bytes"], row["group"], row["group_size"]) == ("all_reduce", 24_000, "0", 2)
    assert row["algorithm_bandwidth"] == pytest.approx(24_000 / 50e-6)


def test_arguments_of_the_last_call_on_the_kernel_are_not_those_of_all(tmp_path):
    events = [call(10), call(20, elements=500), *launch(60, 1, **told("allreduce", 500, 500))]
    assert both(tmp_path, events)["bytes"] == 6000
    linked = [call(10), call(20, elements=500, **{"External id": 7}), *launch(60, 1, **{"External id": 7})]
    assert both(tmp_path, linked)["bytes"] == 6000


@pytest.mark.parametrize(
    "unknown",
    [
        call(20) | {"args": {"Collective name": "allreduce", "dtype": "Float", "Process Group Name": "0"}},
        call(20, dtype="Strange"),
        call(20, group="1"),
    ],
    ids=["no size", "no width", "another group"],
)
def test_a_call_of_which_the_bytes_are_not_told_leaves_none(tmp_path, unknown):
    row = both(tmp_path, group(call(10), unknown))
    assert (row["bytes"], row["algorithm_bandwidth"], row["bus_bandwidth"]) == (None, None, None)


def test_several_kernels_of_one_group_do_not_tell_who_moves_what(tmp_path):
    events = [call(10), call(20), *launch(60, 1), *launch(62, 2, start=120)]
    assert [bytes_ for _, bytes_, _ in moved(tmp_path, events)] == [None, None]


def test_a_group_ends_with_its_kernel_and_other_threads_are_no_part_of_it(tmp_path):
    single = [op("record_param_comms", 197, 6, **told("allreduce", 7, 7)), *collective(200, 250, 3)]
    other = call(30) | {"tid": WORKER}
    events = [call(10), call(20), other, *launch(60, 1), call(130), call(140), *launch(150, 2), *single]
    assert [bytes_ for _, bytes_, _ in moved(tmp_path, events)] == [8000, 8000, 28]


def test_what_moves_nothing_is_no_part_of_a_group(tmp_path):
    events = [call(10), call(20, "wait"), call(30, "barrier"), call(40, "init"), *launch(60, 1)]
    assert moved(tmp_path, events)[0][:2] == ("all_reduce", 4000)


def test_calls_before_one_that_launches_its_own_kernel_are_not_left_for_later(tmp_path):
    single = [op("record_param_comms", 97, 6, **told("allreduce", 7, 7)), *collective(100, 150, 3)]
    events = [call(10), *single, *launch(160, 4, **told("allreduce", 50, 50))]
    assert [bytes_ for _, bytes_, _ in moved(tmp_path, events)] == [28, 200]


def test_batched_sends_and_receives_count_the_larger_way(tmp_path):
    events = [call(10, "send", 1000), call(20, "recv", 400), call(30, "send", 500), *launch(60, 1, SEND_RECV)]
    assert moved(tmp_path, events)[0][:2] == ("send_recv", 6000)


def test_one_call_that_lists_all_tensors_tells_their_sum(tmp_path):
    args = {"Input Dims": [[[10, 10], [50]], []], "Input type": ["TensorList", "Scalar"]}
    events = [op("nccl:allreduce_coalesced", 5, 60, **args, **told("allreduce_coalesced", 150, 150)), *launch(60, 1)]
    assert moved(tmp_path, events)[0][:2] == ("all_reduce", 600)


def test_a_graph_carries_out_nothing_that_was_called_while_it_was_captured(tmp_path):
    graph = launch(60, 1, **told("allreduce", 9, 9))
    graph[0]["name"] = "cudaGraphLaunch"
    assert moved(tmp_path, [call(10), call(20), *graph])[0][:2] == ("all_reduce", 36)
