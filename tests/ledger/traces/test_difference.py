"""The difference of two sides: rows that add up exactly, whatever runs at once, and what one side alone has."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger import traces
from ledger.errors import InputError
from ledger.traces.breakdown import PARTS
from ledger.traces.difference import Difference, Profile, Row, difference, profile
from tests.ledger.traces.builder import MAIN, annotation, event, launched, op, training, write

SHARED = Path(os.environ.get("STACKPROOF_SHARED", Path(__file__).parents[4] / "shared")) / "data"
PAIRS = SHARED / "traces/h100-vs-mi300"
needs_pairs = pytest.mark.skipif(not PAIRS.is_dir(), reason="the public traces are not here")

GEMM = {"h100": "ampere_sgemm_128x64_nn", "mi300": "Cijk_Alik_Bljk_S_B_UserArgs_MT16x16"}
ADD = "void at::native::{}elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(int)"


def profiled(tmp_path: Path, events: list, name: str = "t.json") -> Profile:
    return profile(traces.read(write(tmp_path / name, events)))


def device(gemm: str, add: str, slower: float = 0) -> list:
    """One step: a product of 20 us and an addition of 10 us + `slower`, each launched by its operator."""
    return [
        annotation("ProfilerStep#1", 0, 200),
        op("aten::mm", 5, 10),
        *launched("kernel", gemm, 6, 20, 20, 1),
        op("aten::add", 20, 10),
        *launched("kernel", add, 21, 50, 10 + slower, 2),
    ]


def rows(row: Row) -> list[Row]:
    return [row, *(found for below in row.rows for found in rows(below))]


def named(found: Difference, level: str) -> dict[str | None, Row]:
    return {row.name: row for row in rows(found.step) if row.level == level}


def adds_up(found: Difference) -> bool:
    """Rows make up what they stand below: in change, and on each side."""
    return all(
        sum(below.change for below in row.rows) == row.change
        and all(
            sum(below.time for below in (getattr(below, side) for below in row.rows) if below) == whole.time
            for side in ("before", "after")
            if (whole := getattr(row, side)) is not None
        )
        for row in rows(found.step)
        if row.rows
    )


def times(row: Row) -> tuple:
    return tuple(side and side.time for side in (row.before, row.after))


def test_the_same_work_on_two_devices_aligns_by_class_operator_and_folded_name(tmp_path):
    before = profiled(tmp_path, device(GEMM["h100"], ADD.format("vectorized_")))
    after = profiled(tmp_path, device(GEMM["mi300"], ADD.format(""), slower=5))
    found = difference([before], [after])
    assert adds_up(found)
    assert found.steps == 1
    assert times(named(found, "class")["elementwise"]) == (10_000, 15_000)
    assert times(named(found, "operator")["aten::mm"]) == (20_000, 20_000)
    assert times(named(found, "kernel")["elementwise_kernel: CUDAFunctor_add"]) == (10_000, 15_000)
    assert times(named(found, "kernel")["sgemm_nn"]) == (20_000, None)
    assert found.aligned == {"class": 1.0, "operator": 1.0, "kernel": pytest.approx(25 / 65)}
    assert [path[-1].name for path in found.unmatched("kernel")] == ["Cijk_Alik_Bljk_S_B", "sgemm_nn"]
    assert found.unmatched("operator") == []


def test_what_a_side_does_not_have_is_absent_not_zero(tmp_path):
    before = profiled(tmp_path, device(GEMM["h100"], "softmax_warp_forward"))
    after = profiled(tmp_path, device(GEMM["h100"], "vectorized_layer_norm_kernel"))
    found = difference([before], [after])
    assert times(named(found, "class")["reduction"]) == (10_000, None)
    assert times(named(found, "class")["norm"]) == (None, 10_000)
    assert times(named(found, "part")["exposed_communication"]) == (None, None)
    assert times(named(found, "part")["input_wait"]) == (0, 0)
    assert "attention" not in named(found, "class")


def test_a_part_that_is_only_covered_is_zero_not_absent(tmp_path):
    events = [*device(GEMM["h100"], ADD), event("kernel", "ncclDevKernel_AllGather_RING_LL", 22, 5, 9, correlation=9)]
    found = difference([profiled(tmp_path, events)], [profiled(tmp_path, device(GEMM["h100"], ADD))])
    row = named(found, "part")["exposed_communication"]
    assert times(row) == (0, None)
    assert [(below.level, times(below)) for below in row.rows] == [
        ("operator", (5_000, None)),
        ("overlap", (-5_000, None)),
    ]
    assert adds_up(found)


def test_kernels_of_a_graph_go_with_the_operator_that_launches_them_elsewhere(tmp_path):
    eager = profiled(tmp_path, device(GEMM["h100"], ADD))
    graph = profiled(
        tmp_path,
        [
            annotation("ProfilerStep#1", 0, 200),
            event("cuda_runtime", "cudaGraphLaunch", 5, 2, MAIN, correlation=1),
            event("kernel", GEMM["h100"], 20, 18, 7, correlation=1),
            event("kernel", "triton_poi_fused_0", 50, 7, 7, correlation=1),
        ],
    )
    found = difference([eager], [graph])
    assert times(named(found, "operator")["aten::mm"]) == (20_000, 18_000)
    assert times(named(found, "operator")[None]) == (None, 7_000)
    assert adds_up(found)


def test_a_launch_call_finds_its_operator_where_ids_do_not(tmp_path):
    events = device(GEMM["h100"], ADD)
    events += [op("aten::linear", 4, 12), event("cpu_op", "aten::unrelated", 150, 5, **{"External id": 2})]
    for each in events:
        if each["cat"] == "kernel":
            each["args"]["External id"] = each["args"]["correlation"]  # what profilers of 2022 wrote
    found = named(difference([profiled(tmp_path, events)], [profiled(tmp_path, events)]), "operator")
    assert set(found) == {"aten::mm", "aten::add"}


def test_sides_of_several_traces_are_means_a_step(tmp_path):
    one = profiled(tmp_path, training(steps=2))
    three = profiled(tmp_path, training(steps=3))
    found = difference([one, three], [one])
    assert found.steps == 12
    assert found.step.change == 0
    assert all(row.change == 0 for row in rows(found.step))
    product = named(found, "operator")["aten::mm"]
    assert product.before is not None
    assert (product.before.calls, product.before.time) == (12, 12 * 20_000)
    assert product.rows == ()  # on a host the operator is all there is
    assert adds_up(found)


def test_sides_without_anything_to_compare_are_refused(tmp_path):
    whole = profiled(tmp_path, training())
    empty = profiled(tmp_path, [], "empty.json")
    with pytest.raises(InputError, match="has no timed event"):
        difference([whole], [empty])
    with pytest.raises(InputError, match="both sides"):
        difference([whole], [])


KERNELS = st.lists(
    st.tuples(
        st.sampled_from(
            [*GEMM.values(), ADD, "layer_norm", "ncclDevKernel_AllReduce", "triton_poi_fused_add_1", "mystery"]
        ),
        st.integers(0, 180),
        st.integers(1, 60),
        st.sampled_from([7, 9]),
        st.sampled_from([None, "aten::mm", "aten::add"]),
    ),
    min_size=1,
    max_size=8,
)


def drawn(kernels: list, steps: int) -> list:
    """Kernels that overlap as they like, launched by operators or by none."""
    events = [annotation(f"ProfilerStep#{number}", 200 * number, 200) for number in range(steps)]
    for number, (name, start, length, stream, operator) in enumerate(kernels):
        events.append(event("cuda_runtime", "cudaLaunchKernel", start, 0.5, 100 + number, correlation=number))
        events.append(event("kernel", name, start + 1, length, stream, correlation=number))
        events += [op(operator, start, 1, 100 + number)] if operator else []
    return events


@settings(deadline=None, max_examples=60)
@given(KERNELS, KERNELS, st.integers(1, 3), st.integers(1, 3))
def test_rows_add_up_and_swapping_the_sides_turns_every_sign(tmp_path_factory, one, other, first, second):
    folder = tmp_path_factory.mktemp("drawn")
    before, after = profiled(folder, drawn(one, first), "a.json"), profiled(folder, drawn(other, second), "b.json")
    there, back = difference([before], [after]), difference([after], [before])
    assert adds_up(there)
    assert there.step.before.time * first == before.breakdown.duration * there.steps
    assert [row.name for row in there.step.rows if row.level == "part"] != []
    assert {row.name for row in there.step.rows} == set(PARTS)
    turned = {(row.level, row.name, row.change) for row in rows(back.step)}
    assert {(row.level, row.name, -row.change) for row in rows(there.step)} == turned
    assert there.aligned == back.aligned


def test_the_order_is_the_largest_change_first(tmp_path):
    found = difference(
        [profiled(tmp_path, device(GEMM["h100"], ADD))], [profiled(tmp_path, device(GEMM["h100"], ADD, slower=50))]
    )
    changes = [abs(row.change) for row in found.step.rows]
    assert changes == sorted(changes, reverse=True)
    assert replace(found.step, rows=()).change == 0  # the kernel takes from the idle time


@needs_pairs
@pytest.mark.parametrize("model", ["bert-small", "qwen1.5-0.5b-chat"])
def test_on_real_traces_of_two_vendors_nearly_all_time_is_in_classes_and_operators_of_both(model):
    sides = [profile(traces.read(PAIRS / f"{device}-{model}.json.gz")) for device in ("h100", "mi300")]
    found = difference(sides[:1], sides[1:])
    assert adds_up(found)
    assert found.aligned["class"] > 0.99
    assert found.aligned["operator"] > 0.99
    assert {None} & {row.name for row in rows(found.step) if row.level == "operator"} == set()
