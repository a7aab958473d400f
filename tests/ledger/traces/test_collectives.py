"""Collectives with known sizes, waits and bandwidths, on generated ranks and on real ones."""

import os
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger import traces
from ledger.traces.collective_names import element_bytes, operation_of
from ledger.traces.collective_sizes import full, shaped
from ledger.traces.collectives import COLLECTIVES, bus_factor, collectives, notes, unsplit
from tests.ledger.traces.builder import MAIN, STREAM, WORKER, annotation, event, op, write

SHARED = Path(os.environ.get("STACKPROOF_SHARED", Path(__file__).parents[4] / "shared")) / "data"
KERNEL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def told(
    operation: str, counted: int, made: int, dtype: str = "Float", ranks: str = "[0, 1]", group: str = "0"
) -> dict:
    return {
        "Collective name": operation,
        "In msg nelems": counted,
        "Out msg nelems": made,
        "dtype": dtype,
        "Group size": ranks.count(",") + 1,
        "Process Group Name": group,
        "Process Group Ranks": ranks,
    }


def collective(at: float, until: float, correlation: int, name: str = KERNEL, **args: Any) -> list[dict[str, Any]]:
    """A launch and the kernel of a collective."""
    return [
        event("cuda_runtime", "cudaLaunchKernel", at - 2, 1, correlation=correlation),
        event("kernel", name, at, until - at, STREAM, correlation=correlation, **args),
    ]


def rank(tmp_path: Path, number: int, events: list[dict[str, Any]], size: int = 2) -> traces.reading.Trace:
    events = [annotation("ProfilerStep#1", 0, 1000), *events]
    info = {"rank": number, "world_size": size}
    return traces.read(write(tmp_path / f"rank-{number}.json", events, distributedInfo=info))


def rows(*ranks: traces.reading.Trace) -> list[dict[str, Any]]:
    return collectives(ranks).to_pylist()


def test_the_rank_that_comes_first_waits_and_both_transfer_as_long(tmp_path):
    args = told("allreduce", 1000, 1000)
    early = rank(tmp_path, 0, collective(100, 150, 1, **args))
    late = rank(tmp_path, 1, collective(130, 150, 1, **args))
    first, second = rows(early, late)
    assert (first["peer_wait_ns"], second["peer_wait_ns"]) == (30_000, 0)
    assert first["transfer_ns"] == second["transfer_ns"] == 20_000
    assert (first["operation"], first["bytes"], first["group_size"]) == ("all_reduce", 4000, 2)
    assert first["algorithm_bandwidth"] == pytest.approx(4000 / 20e-6)
    assert first["bus_bandwidth"] == pytest.approx(4000 / 20e-6)  # 2 (n - 1) / n is 1 for two ranks
    assert (first["step"], first["in_steps"], first["rank"], second["rank"]) == (1, True, 0, 1)


@pytest.mark.parametrize(
    ("operation", "counted", "made", "size", "factor"),
    [
        ("allreduce", 800, 800, 800, 2 * 3 / 4),
        ("_allgather_base", 200, 800, 800, 3 / 4),
        ("_reduce_scatter_base", 800, 200, 800, 3 / 4),
        ("all_to_allv", 800, 640, 800, 3 / 4),
        ("broadcast", 800, 800, 800, 1),
        ("gather", 200, 0, 800, 3 / 4),
        ("scatter", 0, 200, 800, 3 / 4),
        ("reduce", 800, 800, 800, 1),
    ],
)
def test_bytes_are_those_of_the_full_buffer_and_the_bus_has_its_factor(
    tmp_path, operation, counted, made, size, factor
):
    args = told(operation, counted, made, "BFloat16", "[0, 1, 2, 3]")
    found = rows(*(rank(tmp_path, each, collective(100, 150, 1, **args), 4) for each in range(4)))
    assert {row["bytes"] for row in found} == {2 * size}
    assert found[0]["bus_bandwidth"] == pytest.approx(2 * size / 50e-6 * factor)


def test_one_rank_alone_is_one_value_and_says_so(tmp_path):
    table = collectives([rank(tmp_path, 0, collective(100, 150, 1, **told("allreduce", 10, 10)))])
    (row,) = table.to_pylist()
    assert (row["duration_ns"], row["peer_wait_ns"], row["transfer_ns"], row["bus_bandwidth"]) == (
        50_000, None, None, None,
    )  # fmt: skip
    assert unsplit(table) == "not every rank of the group has a trace"


def test_groups_are_split_apart(tmp_path):
    inner, outer = told("allreduce", 10, 10, group="1"), told("allreduce", 10, 10, ranks="[0, 1, 2]", group="2")
    found = rows(
        rank(tmp_path, 0, [*collective(100, 150, 1, **inner), *collective(200, 250, 2, **outer)], 3),
        rank(tmp_path, 1, [*collective(120, 150, 1, **inner), *collective(210, 250, 2, **outer)], 3),
    )
    assert [(row["group"], row["peer_wait_ns"]) for row in found] == [("1", 20_000), ("2", None), ("1", 0), ("2", None)]


def test_other_collectives_on_another_rank_are_not_matched(tmp_path):
    table = collectives(
        [
            rank(tmp_path, 0, collective(100, 150, 1, **told("allreduce", 10, 10))),
            rank(tmp_path, 1, collective(100, 150, 1, **told("allreduce", 20, 20))),
        ]
    )
    assert "same collectives" in unsplit(table)
    assert table["peer_wait_ns"].null_count == 2


def test_clocks_that_do_not_agree_split_nothing(tmp_path):
    args = told("allreduce", 10, 10)
    table = collectives(
        [
            rank(tmp_path, 0, [*collective(100, 110, 1, **args), *collective(200, 210, 2, **args)]),
            rank(tmp_path, 1, [*collective(500, 510, 1, **args), *collective(900, 910, 2, **args)]),
        ]
    )
    assert unsplit(table) == "the clocks of the ranks do not agree"
    assert table["peer_wait_ns"].null_count == table["last_rank"].null_count == 4


def test_a_clock_that_is_ahead_is_aligned_and_that_is_noted(tmp_path):
    args = told("allreduce", 10, 10)
    ends = (150, 250, 350, 450)
    early = [each for n, end in enumerate(ends, 1) for each in collective(end - 30, end, n, **args)]
    late = [each for n, end in enumerate(ends, 1) for each in collective(480 + end, 500 + end, n, **args)]
    table = collectives([rank(tmp_path, 0, early), rank(tmp_path, 1, late)])
    assert table["peer_wait_ns"].to_pylist() == [10_000] * 4 + [0] * 4
    assert set(table["transfer_ns"].to_pylist()) == {20_000}
    (note,) = notes(table)
    assert note.startswith("the clock of rank 1 is 0.500 ms ahead of rank 0's, by the ends of 4 collectives")
    assert unsplit(table) is None


def test_clocks_that_agree_leave_no_note(tmp_path):
    args = told("allreduce", 10, 10)
    table = collectives([rank(tmp_path, each, collective(100 + each, 150, 1, **args)) for each in (0, 1)])
    assert (notes(table), unsplit(table)) == ((), None)


def test_sequence_numbers_match_what_both_ranks_have(tmp_path):
    def calls(*numbers: int, late: int = 0) -> list[dict[str, Any]]:
        args = told("allreduce", 10, 10)
        return [
            each
            for number in numbers
            for each in collective(100 * number + late, 100 * number + 50, number, **args, Seq=number)
        ]

    table = collectives([rank(tmp_path, 0, calls(1, 2, 3)), rank(tmp_path, 1, calls(2, 3, 4, late=5))])
    assert table["sequence"].to_pylist() == [1, 2, 3, 2, 3, 4]
    assert table["peer_wait_ns"].to_pylist() == [None, 5000, 5000, 0, 0, None]
    assert table["last_rank"].to_pylist() == [None, 1, 1, 1, 1, None]
    assert unsplit(table) == "some collectives are not in the trace of every rank"


def test_groups_of_one_name_and_different_ranks_are_different_groups(tmp_path):
    pairs = {0: "[0, 1]", 1: "[0, 1]", 2: "[2, 3]", 3: "[2, 3]"}
    found = rows(
        *(
            rank(tmp_path, each, collective(100 + 10 * each, 180, 1, **told("allreduce", 10, 10, ranks=pair)), 4)
            for each, pair in pairs.items()
        )
    )
    assert [row["peer_wait_ns"] for row in found] == [10_000, 0, 10_000, 0]
    assert [row["last_rank"] for row in found] == [1, 1, 3, 3]


def test_a_send_waits_for_its_receive_and_more_ranks_do_not_tell_which(tmp_path):
    sends = [collective(100 + 20 * each, 150, 1, **told(name, 8, 8)) for each, name in enumerate(("send", "recv"))]
    found = rows(*(rank(tmp_path, each, events) for each, events in enumerate(sends)))
    assert [(row["operation"], row["bytes"], row["peer_wait_ns"]) for row in found] == [
        ("send", 32, 20_000),
        ("recv", 32, 0),
    ]
    assert found[0]["bus_bandwidth"] == pytest.approx(32 / 30e-6)
    three = "[0, 1, 2]"
    table = collectives(
        [
            rank(
                tmp_path,
                each,
                [
                    *collective(100 + each, 150, 1, **told("allreduce", 8, 8, ranks=three)),
                    *(collective(200, 250, 2, **told("send", 8, 8, ranks=three)) if each else []),
                ],
                3,
            )
            for each in range(3)
        ]
    )
    assert table["peer_wait_ns"].to_pylist() == [2000, 1000, None, 0, None]
    assert unsplit(table) == "sends and receives do not tell the other rank"


def test_an_empty_collective_has_bytes_and_no_bandwidth(tmp_path):
    args = told("all_to_allv", 0, 0)
    found = rows(*(rank(tmp_path, each, collective(100, 150, 1, **args)) for each in (0, 1)))
    assert [(row["bytes"], row["transfer_ns"], row["algorithm_bandwidth"]) for row in found] == [(0, 50_000, None)] * 2


def test_a_group_of_one_waits_for_nobody_and_has_no_bandwidth(tmp_path):
    table = collectives([rank(tmp_path, 0, collective(100, 150, 1, **told("allreduce", 10, 10, ranks="[0]")))])
    (row,) = table.to_pylist()
    assert (row["peer_wait_ns"], row["transfer_ns"], row["bus_bandwidth"]) == (0, 50_000, None)
    assert unsplit(table) is None


def test_an_all_to_all_may_move_another_size_on_each_rank(tmp_path):
    found = rows(
        *(rank(tmp_path, each, collective(100, 150, 1, **told("all_to_allv", 10 + each, 21))) for each in (0, 1))
    )
    assert [(row["bytes"], row["peer_wait_ns"]) for row in found] == [(40, 0), (44, 0)]


def test_two_traces_of_one_rank_are_not_matched(tmp_path):
    table = collectives([rank(tmp_path, 0, collective(100, 150, 1, **told("allreduce", 1, 1)))] * 2)
    assert unsplit(table) == "the traces do not tell their ranks apart"
    assert table["trace"].to_pylist() == [0, 1]


def test_what_has_no_external_id_is_not_joined_by_none(tmp_path):
    elsewhere = op("record_param_comms", 10, 5, WORKER, **told("allgather", 50, 100))
    (row,) = rows(rank(tmp_path, 0, [elsewhere, *collective(100, 150, 1)]))
    assert (row["operation"], row["bytes"]) == ("all_reduce", None)


def test_the_call_around_a_launch_is_on_its_thread_and_the_one_that_names_the_operation(tmp_path):
    other = op("record_param_comms", 90, 20, WORKER, **told("broadcast", 7, 7))
    outer = op("record_param_comms", 80, 40, MAIN, **told("allreduce", 50, 50))
    inner = op("nccl:all_reduce", 85, 30, MAIN, **{"Input Dims": [[9]], "Input type": ["float"]})
    (row,) = rows(rank(tmp_path, 0, [other, outer, inner, *collective(100, 150, 1)]))
    assert (row["operation"], row["bytes"], row["group"]) == ("all_reduce", 200, "0")


def test_the_step_is_that_of_the_launch(tmp_path):
    late = [
        annotation("ProfilerStep#2", 1000, 500),
        event("cuda_runtime", "cudaLaunchKernel", 990, 1, correlation=1),
        event("kernel", KERNEL, 1100, 50, STREAM, correlation=1),
        event("cuda_runtime", "cudaLaunchKernel", 1600, 1, correlation=2),
        event("kernel", KERNEL, 1700, 50, STREAM, correlation=2),
    ]
    assert [(row["step"], row["in_steps"]) for row in rows(rank(tmp_path, 0, late))] == [(1, True), (None, False)]


def test_the_table_has_its_schema_with_and_without_rows(tmp_path):
    none = collectives([rank(tmp_path, 0, [op("aten::mm", 10, 20)])])
    some = collectives([rank(tmp_path, 0, collective(100, 150, 1))])
    assert none.schema.equals(COLLECTIVES) and some.schema.remove_metadata().equals(COLLECTIVES)
    assert (none.num_rows, some.num_rows, collectives([]).num_rows) == (0, 1, 0)


def test_the_arguments_are_found_by_external_id_else_around_the_launch(tmp_path):
    comms = [
        op("record_param_comms", 90, 20, **{"External id": 7}, **told("allreduce", 50, 50)),
        op("nccl:all_to_all", 190, 20, **{"Input Dims": [[8, 4]], "Input type": ["int"]}),
    ]
    sent = "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)"
    found = rows(
        rank(
            tmp_path,
            0,
            [*comms, *collective(130, 150, 1, **{"External id": 7}), *collective(200, 250, 2, sent)],
        )
    )
    assert [(row["operation"], row["bytes"], row["dtype"]) for row in found] == [
        ("all_reduce", 200, "Float"),
        ("all_to_all", 128, "int"),
    ]


def test_gloo_runs_a_reduce_scatter_as_an_all_reduce_and_is_not_believed(tmp_path):
    host = [
        op(
            "c10d::_reduce_scatter_base_", 100, 5, **{"Input Dims": [[50], [100], []], "Input type": ["float", "float"]}
        ),
        annotation("gloo:all_reduce", 110, 40, 9) | {"args": {"Input Dims": [[100]], "Input type": ["float"]}},
        op("c10d::_allgather_base_", 200, 5, **{"Input Dims": [[100], [50], []], "Input type": ["float"]}),
        annotation("gloo:all_gather", 210, 40, 9) | {"args": {"Input Dims": [[50]], "Input type": ["float"]}},
    ]
    found = rows(rank(tmp_path, 0, host), rank(tmp_path, 1, host))
    assert [(row["operation"], row["bytes"], row["transfer_ns"]) for row in found[:2]] == [
        ("reduce_scatter", 400, 40_000),
        ("all_gather", 400, 40_000),
    ]


def test_gloo_operators_whose_runs_are_missing_are_left_over(tmp_path):
    def called(name: str, at: float) -> dict[str, Any]:
        return op(name, at, 5, **{"Input Dims": [[[10]], []], "Input type": ["TensorList", ""]})

    def ran(name: str, at: float) -> dict[str, Any]:
        return annotation(name, at, 20, WORKER) | {"args": {"Input Dims": [[10], [4]], "Input type": ["float"] * 2}}

    host = [ran("gloo:all_reduce", 1), called("c10d::allreduce_", 50), called("c10d::broadcast_", 55),
            ran("gloo:all_reduce", 60), ran("gloo:broadcast", 90), called("c10d::allreduce_", 95)]  # fmt: skip
    found = rows(rank(tmp_path, 0, host))
    assert [(row["operation"], row["bytes"]) for row in found] == [
        ("all_reduce", 56), ("all_reduce", 56), ("broadcast", 56),
    ]  # fmt: skip


def test_shapes_of_outputs_come_before_those_of_inputs_in_c10d():
    table = pa.table(
        {
            "name": ["c10d::_allgather_base_", "c10d::allreduce_", "c10d::allgather_", "gloo:all_reduce", "nccl:x"],
            "shapes": ["[[8], [4], []]", "[[[3], [2, 2]], []]", "[[], [[5]]]", "[[]]", None],
            "types": ['["float", "float", ""]', '["TensorList", ""]', '["", "TensorList"]', '["float"]', "not JSON"],
        }
    )
    taken, given = shaped(table)
    assert (taken.tolist(), given.tolist()) == ([4, 7, 5, 1, -1], [8, -1, -1, -1, -1])


def test_an_output_that_is_not_told_is_the_input_of_every_rank():
    operation = pa.chunked_array([["all_gather", "reduce_scatter", "all_reduce", "all_gather"]])
    found = full(operation, np.array([5, -1, 5, 5]), np.array([-1, 6, -1, -1]), np.array([4, 4, 4, -1]))
    assert found.tolist() == [20, 24, 5, -1]


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=8))
@settings(max_examples=25, deadline=None)
def test_waiting_and_transfer_add_up_and_the_last_rank_does_not_wait(late):
    args = told("allreduce", 10, 10)
    with tempfile.TemporaryDirectory() as folder:
        ranks = [
            rank(
                Path(folder),
                each,
                [
                    one
                    for number, starts in enumerate(late)
                    for one in collective(100 * number + starts[each], 100 * number + 60, number + 1, **args)
                ],
            )
            for each in (0, 1)
        ]
        found = rows(*ranks)
    assert all(row["peer_wait_ns"] + row["transfer_ns"] == row["duration_ns"] for row in found)
    assert all(row["peer_wait_ns"] == 0 for row in found if row["last_rank"] == row["rank"])
    expected = [1000 * (max(starts) - starts[each]) for each in (0, 1) for starts in late]
    assert [row["peer_wait_ns"] for row in found] == expected


def test_what_is_not_told_is_absent_not_zero(tmp_path):
    (row,) = rows(rank(tmp_path, 0, collective(100, 150, 1)))
    assert (row["operation"], row["bytes"], row["dtype"], row["group"]) == ("all_reduce", None, None, None)
    (row,) = rows(rank(tmp_path, 0, collective(100, 150, 1, **told("allreduce", 10, 10, "Float3"))))
    assert (row["bytes"], row["dtype"]) == (None, "Float3")


def test_no_communication_is_no_row(tmp_path):
    assert rows(rank(tmp_path, 0, [op("aten::mm", 10, 20)])) == []


@pytest.mark.parametrize(
    ("name", "operation"),
    [
        ("allreduce", "all_reduce"),
        ("c10d::_allgather_base_", "all_gather"),
        ("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL", "reduce_scatter"),
        ("ncclKernel_Broadcast_RING_LL_Sum_int8_t", "broadcast"),
        ("all_to_allv", "all_to_all"),
        ("ncclDevKernel_SendRecv(ncclDevComm*)", "send_recv"),
        ("void vllm::cross_device_reduce_1stage<__nv_bfloat16, 4>", "all_reduce"),
        ("ncclDevKernel_Reduce_Sum_f32_RING_LL", "reduce"),
        ("recv", "recv"),
        ("barrier", "barrier"),
        ("something", "other"),
    ],
)
def test_operations_by_name(name, operation):
    assert operation_of(name) == operation


def test_element_sizes_and_factors():
    assert [element_bytes(each) for each in ("Float", "c10::BFloat16", "Long", "Float8_e4m3fn", "double", "Half", "?")] == [
        4, 2, 8, 1, 8, 2, None,
    ]  # fmt: skip
    assert (bus_factor("all_reduce", 8), bus_factor("all_reduce", 1), bus_factor("barrier", 8)) == (1.75, None, None)


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared traces are not here")
def test_real_nccl_kernels_know_what_they_moved():
    found = rows(traces.read(SHARED / "traces/nvidia-a100-training/nccl_data.json.gz"))
    assert len(found) == 21
    assert {row["operation"] for row in found} == {"all_reduce", "broadcast"}
    assert [(row["operation"], row["bytes"]) for row in found].count(("all_reduce", 8_196_000)) == 3
    assert None not in [row["bytes"] for row in found]


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared traces are not here")
@pytest.mark.parametrize("name", ["torch-ddp", "torch-fsdp2", "torch-tp", "deepspeed-zero1"])
def test_real_gloo_ranks_are_split(name):
    table = collectives([traces.read(SHARED / f"cpu/traces/{name}-rank{each}.json.gz") for each in (0, 1)])
    found = table.to_pylist()
    assert unsplit(table) is None
    assert all(row["peer_wait_ns"] + row["transfer_ns"] == row["duration_ns"] for row in found)
    assert all(row["bytes"] for row in found)
    assert max(row["bus_bandwidth"] or 0 for row in found) < 1e12
    assert sum(row["peer_wait_ns"] for row in found) > 0
    assert notes(table) == ()
    operations = {
        "torch-ddp": {"all_reduce", "broadcast"},
        "torch-fsdp2": {"all_gather", "reduce_scatter"},
        "torch-tp": {"all_reduce"},
        "deepspeed-zero1": {"all_reduce", "all_gather"},
    }
    assert {row["operation"] for row in found} == operations[name]


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared traces are not here")
def test_real_kernels_without_arguments_take_the_shapes_around_their_launch():
    found = rows(traces.read(SHARED / "traces/nvidia-a100-training/control.json.gz"))
    assert Counter(row["operation"] for row in found) == {"all_to_all": 42, "all_reduce": 18}
    assert 45_310_188 * 4 in [row["bytes"] for row in found if row["operation"] == "all_reduce"]
    assert None not in [row["bytes"] for row in found]
