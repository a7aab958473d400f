"""What collectives are and moved, on generated traces with known sizes and on real ones."""

import os
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from ledger import traces
from ledger.traces.collective_names import element_bytes, operation_of
from ledger.traces.collective_sizes import full, shaped
from ledger.traces.collectives import COLLECTIVES, bus_factor, collectives
from tests.ledger.traces.builder import MAIN, STREAM, WORKER, annotation, event, launched, op
from tests.ledger.traces.collective_builder import KERNEL, collective, rank, rows, told

SHARED = Path(os.environ.get("STACKPROOF_SHARED", Path(__file__).parents[4] / "shared")) / "data"


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


def test_an_empty_collective_has_bytes_and_no_bandwidth(tmp_path):
    args = told("all_to_allv", 0, 0)
    found = rows(*(rank(tmp_path, each, collective(100, 150, 1, **args)) for each in (0, 1)))
    assert [(row["bytes"], row["transfer_ns"], row["algorithm_bandwidth"]) for row in found] == [(0, 50_000, None)] * 2


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


def test_what_was_launched_before_the_profiler_looked_is_of_no_step(tmp_path):
    leftover = event("kernel", KERNEL, 50, 10, STREAM, correlation=7)
    unknown = event("kernel", KERNEL, 300, 10, STREAM, correlation=8)
    found = rows(rank(tmp_path, 0, [leftover, *collective(100, 150, 1), unknown]))
    assert [(row["step"], row["in_steps"]) for row in found] == [(None, False), (1, True), (1, True)]


def test_what_was_launched_before_is_told_by_its_stream(tmp_path):
    copy = launched("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 10, 12, 3, 50)
    copy[1]["tid"] = 9
    leftover = event("kernel", KERNEL, 50, 10, STREAM, correlation=7)
    found = rows(rank(tmp_path, 0, [*copy, leftover, *collective(100, 150, 1)]))
    assert [(row["step"], row["in_steps"]) for row in found] == [(None, False), (1, True)]


def test_the_table_has_its_schema_with_and_without_rows(tmp_path):
    none = collectives([rank(tmp_path, 0, [op("aten::mm", 10, 20)])])
    some = collectives([rank(tmp_path, 0, collective(100, 150, 1))])
    assert none.schema.equals(COLLECTIVES)
    assert some.schema.remove_metadata().equals(COLLECTIVES)
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
    names = ("Float", "c10::BFloat16", "Long", "Float8_e4m3fn", "double", "Half", "?")
    assert [element_bytes(each) for each in names] == [4, 2, 8, 1, 8, 2, None]
    assert (bus_factor("all_reduce", 8), bus_factor("all_reduce", 1), bus_factor("barrier", 8)) == (1.75, None, None)


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared traces are not here")
def test_real_nccl_kernels_know_what_they_moved():
    found = rows(traces.read(SHARED / "traces/nvidia-a100-training/nccl_data.json.gz"))
    assert len(found) == 21
    assert {row["operation"] for row in found} == {"all_reduce", "broadcast"}
    assert [(row["operation"], row["bytes"]) for row in found].count(("all_reduce", 8_196_000)) == 3
    assert None not in [row["bytes"] for row in found]


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared traces are not here")
def test_real_kernels_that_were_launched_before_the_trace_do_not_tell_their_size():
    found = rows(traces.read(SHARED / "traces/nvidia-a100-training/test.json.gz"))
    assert Counter(row["operation"] for row in found) == {"all_to_all": 42, "all_reduce": 21, "send_recv": 1}
    assert [row["bytes"] for row in found].count(None) == 4


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared traces are not here")
def test_real_kernels_without_arguments_take_the_shapes_around_their_launch():
    found = rows(traces.read(SHARED / "traces/nvidia-a100-training/control.json.gz"))
    assert Counter(row["operation"] for row in found) == {"all_to_all": 42, "all_reduce": 18}
    assert 45_310_188 * 4 in [row["bytes"] for row in found if row["operation"] == "all_reduce"]
    assert None not in [row["bytes"] for row in found]
