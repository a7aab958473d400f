"""Collectives with known sizes, waits and bandwidths, on generated ranks and on real ones."""

import os
from pathlib import Path
from typing import Any

import pytest

from ledger import traces
from ledger.metrics import derive
from ledger.traces.collective_names import element_bytes, operation_of
from ledger.traces.collectives import bus_factor, collectives, unsplit
from tests.ledger.traces.builder import STREAM, annotation, event, launched, op, write

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
        ("send", 800, 800, 800, 1),
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
            rank(tmp_path, 1, [*collective(500, 510, 1, **args), *collective(600, 610, 2, **args)]),
        ]
    )
    assert "clocks" in unsplit(table)


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
    assert [element_bytes(each) for each in ("Float", "c10::BFloat16", "Long", "Float8_e4m3fn", "double", "?")] == [
        4, 2, 8, 1, 8, None,
    ]  # fmt: skip
    assert (bus_factor("all_reduce", 8), bus_factor("all_reduce", 1), bus_factor("barrier", 8)) == (1.75, None, None)


def run(tmp_path: Path, *ranks: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Metrics of a run folder with these ranks."""
    (tmp_path / "traces").mkdir()
    for number, events in enumerate(ranks):
        info = {"rank": number, "world_size": len(ranks)}
        step = annotation("ProfilerStep#1", 0, 1000)
        write(tmp_path / f"traces/rank-{number}.json", [step, *events], distributedInfo=info)
    found: dict[str, list[Any]] = {}
    for row in derive.derive(tmp_path):
        found.setdefault(row.metric, []).append(row.value if row.missing_reason is None else row.missing_reason)
    return found


def test_metrics_tell_a_straggler_from_a_slow_link(tmp_path):
    args = told("allreduce", 1000, 1000)
    short, long = launched("kernel", "gemm", 10, 20, 60, 9), launched("kernel", "gemm", 10, 20, 100, 9)
    found = run(tmp_path, [*short, *collective(100, 150, 1, **args)], [*long, *collective(130, 150, 1, **args)])
    assert found["peer_wait"] == [pytest.approx(30e-6), 0]
    assert found["transfer_time"] == [pytest.approx(20e-6), pytest.approx(20e-6)]
    assert found["communication.all_reduce"] == [pytest.approx(50e-6), pytest.approx(20e-6)]
    assert found["collective_bytes"] == [4000, 4000]
    assert found["bus_bandwidth"][0] == pytest.approx(200e6)
    assert found["rank_imbalance"] == [pytest.approx(100 / 80)]
    assert (found["straggler_rank"], found["critical_rank"]) == ([1], [1])
    assert found["communication.broadcast"] == ["no broadcast in the trace"]


def test_metrics_of_one_rank_say_why_they_are_absent(tmp_path):
    found = run(tmp_path, collective(100, 150, 1, **told("allreduce", 10, 10)))
    assert found["peer_wait"] == ["waiting cannot be told from transfer: not every rank of the group has a trace"]
    assert found["rank_imbalance"] == found["straggler_rank"] == ["only one rank has a trace"]
    assert found["bus_bandwidth"][0].startswith("the transfer of no collective is known")


def test_metrics_without_communication_are_absent(tmp_path):
    found = run(tmp_path, [op("aten::mm", 10, 20)], [op("aten::mm", 10, 40)])
    assert found["collective_bytes"] == found["communication.all_reduce"] == ["no communication in the trace"]
    assert found["rank_imbalance"] == [pytest.approx(40 / 30)]


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared traces are not here")
def test_real_nccl_kernels_know_what_they_moved():
    found = rows(traces.read(SHARED / "traces/nvidia-a100-training/nccl_data.json.gz"))
    assert len(found) == 21
    assert {row["operation"] for row in found} == {"all_reduce", "broadcast"}
    assert 2_049_000 * 4 in [row["bytes"] for row in found]
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
    if name == "torch-fsdp2":
        assert {row["operation"] for row in found} == {"all_gather", "reduce_scatter"}
