"""Where the time goes: parts that add up, by launch, on hand-made traces with known answers and on real ones."""

import os
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger import traces
from ledger.traces.breakdown import PARTS, Breakdown, explain
from ledger.traces.classes import CLASSES, table
from ledger.traces.launching import EARLIER, UNKNOWN, launches
from tests.ledger.traces.builder import STREAM, WORKER, annotation, event, launched, op, training, write

SHARED = Path(os.environ.get("STACKPROOF_SHARED", Path(__file__).parents[4] / "shared")) / "data"


def explained(tmp_path: Path, events: list) -> Breakdown:
    return explain(traces.read(write(tmp_path / "t.json", events)))


def parts(found: Breakdown, step: int = 0) -> dict[str, int]:
    """Parts that are not zero, in nanoseconds."""
    return {name: time for name, time in found.steps[step].parts.items() if time}


def classes(found: Breakdown, step: int = 0) -> dict[str, int]:
    return {name: time for name, time in found.steps[step].classes.items() if time}


def adds_up(found: Breakdown) -> bool:
    return all(
        sum(step.parts.values()) == step.duration
        and sum(step.classes.values()) == step.parts["compute"]
        and min(*step.parts.values(), *step.classes.values()) >= 0
        for step in found.steps
    )


def test_on_a_host_each_nanosecond_goes_to_the_innermost_operator(tmp_path):
    found = explained(tmp_path, training())
    assert [step.number for step in found.steps] == [0, 1]
    assert parts(found) == {"compute": 60_000, "input_wait": 5_000, "idle": 35_000}
    assert classes(found) == {"gemm": 30_000, "elementwise": 10_000, "optimizer": 20_000}
    assert found.steps[0].flops == 2 * 4 * 8 * 2
    assert {(spot.name, spot.calls, spot.time) for spot in found.hotspots if spot.kind == "gemm"} == {
        ("aten::linear", 2, 12_000),
        ("aten::mm", 2, 40_000),
        ("aten::t", 2, 8_000),
    }


def test_the_backward_thread_is_not_counted_twice(tmp_path):
    found = explained(
        tmp_path,
        [
            annotation("ProfilerStep#1", 0, 100),
            op("aten::mul", 10, 40),
            op("autograd::engine::evaluate_function: MmBackward0", 30, 40, WORKER),
            op("aten::mm", 35, 30, WORKER),
        ],
    )
    assert parts(found) == {"compute": 60_000, "idle": 40_000}
    assert classes(found) == {"gemm": 40_000, "elementwise": 20_000}


def test_gloo_is_communication_and_waiting_for_it_is_no_compute(tmp_path):
    found = explained(
        tmp_path,
        [
            annotation("ProfilerStep#1", 0, 100),
            op("aten::mm", 0, 40),
            op("_c10d_functional::wait_tensor", 50, 30),
            op("aten::view", 55, 5),
            annotation("gloo:all_reduce", 20, 50, WORKER),
            op("aten::copy_", 25, 10, WORKER),
        ],
    )
    assert parts(found) == {"compute": 40_000, "exposed_communication": 40_000, "idle": 20_000}
    assert found.steps[0].communication == 60_000


def test_loading_data_in_the_loop_is_input_wait_not_compute(tmp_path):
    found = explained(
        tmp_path,
        [
            annotation("ProfilerStep#1", 0, 100),
            op("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 0, 30),
            op("aten::stack", 5, 20),
            op("aten::mm", 40, 20),
        ],
    )
    assert parts(found) == {"compute": 20_000, "input_wait": 30_000, "idle": 50_000}


GEMM, NCCL = "ampere_sgemm_128x128_tn", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)"


def test_device_time_has_one_owner_by_precedence(tmp_path):
    found = explained(
        tmp_path,
        [
            annotation("ProfilerStep#1", 0, 100),
            op("enumerate(DataLoader)#next", 70, 10),
            op("aten::copy_", 80, 10),
            *launched("kernel", GEMM, 1, 10, 20, 1),
            *launched("kernel", NCCL, 2, 20, 30, 2),
            *launched("gpu_memcpy", "Memcpy HtoD", 3, 40, 20, 3),
        ],
    )
    assert parts(found) == {
        "compute": 20_000,
        "exposed_communication": 20_000,
        "exposed_copy": 10_000,
        "input_wait": 10_000,
        "host_gap": 11_500,
        "idle": 28_500,
    }
    assert found.steps[0].launches == 3


def test_device_work_belongs_to_the_step_that_launched_it(tmp_path):
    found = explained(
        tmp_path,
        [
            annotation("ProfilerStep#1", 0, 50),
            annotation("ProfilerStep#2", 50, 50),
            *launched("kernel", GEMM, 10, 20, 60, 1),
            *launched("kernel", "layer_norm_kernel", 60, 80, 40, 2),
        ],
    )
    first, second = found.steps
    assert (first.window, second.window) == ((0, 80_000), (80_000, 120_000))
    assert (first.annotated, second.annotated) == ((0, 50_000), (50_000, 100_000))
    assert classes(found, 0) == {"gemm": 60_000}
    assert classes(found, 1) == {"norm": 40_000}


def test_work_from_before_the_first_step_delays_it(tmp_path):
    found = explained(
        tmp_path,
        [
            event("kernel", GEMM, 90, 30, 7, correlation=77),
            annotation("ProfilerStep#1", 100, 50),
            *launched("kernel", GEMM, 105, 120, 20, 1),
        ],
    )
    assert found.steps[0].window == (120_000, 150_000)
    assert parts(found) == {"compute": 20_000, "idle": 10_000}


def test_an_external_id_finds_the_launch_where_correlation_does_not(tmp_path):
    found = explained(
        tmp_path,
        [
            annotation("ProfilerStep#1", 0, 50),
            annotation("ProfilerStep#2", 50, 50),
            op("aten::mm", 10, 5, **{"External id": 4}),
            event("kernel", GEMM, 60, 10, 7, **{"External id": 4}),
        ],
    )
    assert [step.parts["compute"] for step in found.steps] == [10_000, 0]
    assert not found.warnings


def test_without_launches_steps_are_averaged_and_it_says_so(tmp_path):
    found = explained(
        tmp_path,
        [
            annotation("ProfilerStep#1", 0, 50),
            annotation("ProfilerStep#2", 50, 50),
            event("kernel", GEMM, 60, 10, 7),
        ],
    )
    assert (found.step_count, len(found.steps), found.duration) == (2, 1, 100_000)
    assert found.warnings == ("1 of 1 device events have no known launch: the steps are averaged, not told apart",)


def test_kernels_launched_by_the_optimizer_are_its_own(tmp_path):
    found = explained(
        tmp_path,
        [
            annotation("ProfilerStep#1", 0, 50),
            annotation("Optimizer.step#AdamW.step", 5, 10),
            *launched("kernel", "void at::native::vectorized_elementwise_kernel<4, Mul>", 6, 20, 10, 1),
            *launched("kernel", "void at::native::vectorized_elementwise_kernel<4, Mul>", 16, 30, 10, 2),
        ],
    )
    assert classes(found) == {"optimizer": 10_000, "elementwise": 10_000}


def test_without_a_step_the_whole_window_is_one(tmp_path):
    found = explained(tmp_path, [op("aten::mm", 10, 10), op("aten::mm", 40, 10)])
    assert [step.number for step in found.steps] == [None]
    assert parts(found) == {"compute": 20_000, "idle": 20_000}
    assert found.warnings == ("no step annotation: the whole trace is taken as one step",)


def test_engine_iterations_are_steps(tmp_path):
    names = ["execute_context_1(64)_generation_0(0)", "execute_32_context_0(sq0)_generation_32(sq32)"]
    events = [annotation(name, 100 * place, 50) for place, name in enumerate(names)]
    found = explained(tmp_path, [*events, op("aten::mm", 60, 10)])
    assert [step.duration for step in found.steps] == [50_000, 50_000]


@pytest.mark.parametrize("name", ["step[DECODE bs=32]", "step[EXTEND bs=1 toks=512]", "step[IDLE]"])
def test_iterations_of_sglang_are_steps_and_what_they_run_is_none(tmp_path, name):
    inner = "execute_32_context_0(sq0)_generation_32(sq32)"
    spans = [each for at in (0, 100) for each in (annotation(name, at, 50), annotation(inner, at + 10, 30))]
    found = explained(tmp_path, [*spans, op("aten::mm", 60, 10)])
    assert [(step.number, step.annotated) for step in found.steps] == [(0, (0, 50_000)), (1, (100_000, 150_000))]
    assert table().role("step[mine]") is None


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared traces are not here")
def test_every_real_trace_with_steps_has_them_found():
    for path in sorted([*SHARED.glob("traces/[!d]*/*.gz"), *SHARED.glob("cpu/traces/*.gz")]):
        assert all(step.number is not None for step in explain(traces.read(path)).steps), path.name


def test_what_was_launched_before_the_profiler_looked_is_known_by_its_stream(tmp_path):
    """A stream works in the order of its launches: one early copy tells nothing of another stream."""
    copy = launched("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 11, 12, 3, 1)
    copy[1]["tid"] = 9
    backlog = [event("kernel", "sgemm", 20 + 10 * place, 8, STREAM, correlation=100 + place) for place in range(5)]
    other = event("kernel", "sgemm", 5, 4, 11, correlation=200)  # of a stream that nothing is known of
    late = event("kernel", "sgemm", 90, 8, STREAM, correlation=201)
    steps = [annotation("ProfilerStep#1", 10, 90), annotation("ProfilerStep#2", 100, 100)]
    known = launched("kernel", "sgemm", 30, 75, 10, 2)
    events = [*steps, *copy, *backlog, other, *known]
    trace = traces.read(write(tmp_path / "rank-0.json", [*events, late]))
    assert launches(trace).tolist() == [11_000, *[EARLIER] * 6, 30_000, UNKNOWN]
    found = explained(tmp_path, events)
    assert found.steps[0].window == (68_000, 100_000)  # from when the device is done with the backlog
    assert (found.steps[0].launches, found.warnings) == (2, ())


def test_nothing_timed_has_no_steps(tmp_path):
    found = explained(tmp_path, [])
    assert (found.steps, found.hotspots) == ((), ())


def test_convolutions_leave_no_half_count_of_operations(tmp_path):
    found = explained(tmp_path, [*training(1), op("aten::convolution", 1091, 5)])
    assert found.steps[0].flops is None


names = st.sampled_from(
    ["aten::mm", "aten::t", "aten::foo", "c10d::allreduce_", "gloo:all_reduce", "enumerate(DataLoader)#n"]
)
times = st.tuples(st.integers(0, 300), st.integers(0, 120))
host_events = st.lists(st.tuples(names, times, st.integers(1, 3)), max_size=25)
device_events = st.lists(
    st.tuples(st.sampled_from([GEMM, NCCL, "odd_kernel"]), times, st.integers(0, 300)), max_size=12
)


@settings(max_examples=60, deadline=None)
@given(host_events, device_events, st.lists(times, max_size=4))
def test_parts_and_classes_add_up_whatever_the_trace(tmp_path_factory, host, device, steps):
    events = [annotation(f"ProfilerStep#{place}", *when) for place, when in enumerate(steps)]
    events += [
        (annotation if name.startswith("gloo") else op)(name, start, length, tid) for name, (start, length), tid in host
    ]
    for place, (name, (start, length), at) in enumerate(device, 1):
        events += launched("kernel", name, at, start, length, place)
    found = explained(tmp_path_factory.mktemp("any"), events)
    assert adds_up(found)
    windows = [step.window for step in found.steps]
    assert all(before[1] <= after[0] for before, after in pairwise(windows))


REAL = sorted([*SHARED.glob("traces/[!d]*/*.gz"), *SHARED.glob("cpu/traces/*.gz")])


@pytest.mark.skipif(not REAL, reason="needs the shared traces")
@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name[:40])
def test_real_traces_add_up_and_leave_little_unclassified(path):
    found = explain(traces.read(path))
    assert found.steps
    assert adds_up(found)
    assert found.kind("other") < 0.05 * found.part("compute")


@pytest.mark.skipif(not REAL, reason="needs the shared traces")
def test_known_right_answers():
    found = explain(traces.read(SHARED / "traces/nvidia-a100-training/nccl_data.json.gz"))
    assert [step.number for step in found.steps] == [4, 5, 6]
    assert found.steps[1].annotated[1] - found.steps[1].annotated[0] == 219_726_905
    for workers, total, waiting in ((0, 1.049, 0.416), (4, 0.838, 0.009)):
        path = next((SHARED / "traces/resnet50-dataloader").glob(f"*workers_{workers}_*"))
        found = explain(traces.read(path))
        annotated = sum(step.annotated[1] - step.annotated[0] for step in found.steps)
        assert annotated / 1e9 == pytest.approx(total, abs=5e-4)
        assert 0 < found.part("input_wait") / 1e9 <= waiting


def test_every_part_and_class_has_a_metric():
    from ledger.metrics.registry import get

    missing = [name for name in (*PARTS, *(f"compute.{kind}" for kind in CLASSES)) if get(name) is None]
    assert not missing


def test_iterations_are_told_by_their_own_numbers_and_only_the_outermost_count(tmp_path):
    found = explained(
        tmp_path,
        [
            annotation("step 7", 0, 50),
            annotation("iter 3", 10, 20),
            annotation("step 8", 50, 50),
            op("aten::mm", 0, 40),
            op("aten::mm", 60, 10),
        ],
    )
    assert [(step.number, step.parts["compute"]) for step in found.steps] == [(7, 40_000), (8, 10_000)]
    assert not [line for line in found.warnings if "overlap" in line]


def test_ids_may_be_far_apart(tmp_path):
    steps = [annotation("ProfilerStep#1", 0, 100), annotation("ProfilerStep#2", 100, 100)]
    work = [*launched("kernel", "sgemm", 90, 110, 40, 7), *launched("kernel", "sgemm", 160, 165, 10, 10**15)]
    found = explained(tmp_path, [*steps, *work])
    assert [step.launches for step in found.steps] == [1, 1]
    assert [step.parts["compute"] for step in found.steps] == [40_000, 10_000]
