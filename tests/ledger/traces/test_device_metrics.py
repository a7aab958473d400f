"""How a device is used: launch gaps, covered multiprocessors, copies and memory, on traces with known answers."""

import gzip
import json
import os
from pathlib import Path

import pytest

from ledger import traces
from ledger.metrics.derive import derive
from ledger.traces.breakdown import explain
from ledger.traces.device_use import Copies, Memory, device_use
from ledger.traces.integrity import inspect
from tests.factory import make_run
from tests.ledger.traces.builder import annotation, event, launched, training, write

SHARED = Path(os.environ.get("STACKPROOF_SHARED", Path(__file__).parents[4] / "shared")) / "data"
A100 = SHARED / "traces/nvidia-a100-training/nccl_data.json.gz"
HTOD, DTOD = "Memcpy HtoD (Pageable -> Device)", "Memcpy DtoD (Device -> Device)"
MEMORY = ("traced_peak_memory.device", "traced_memory_growth.device", "traced_memory_growth.host")
NAMES = (
    "kernel_launch_gap",
    "sm_coverage",
    *MEMORY,
    *(f"memcpy_bandwidth.{way}" for way in ("htod", "dtoh", "dtod", "ptop")),
)


def used(tmp_path, events):
    trace = traces.read(write(tmp_path / "t.json", events))
    return device_use(trace, explain(trace))


def rows(tmp_path, events):
    packed = gzip.compress(json.dumps({"traceEvents": events}).encode(), mtime=0)
    return {row.metric: row for row in derive(make_run(tmp_path, role="profiled", trace=packed))}


def memory(ts, change, device=1, index=0, **total):
    args = {"Device Type": device, "Device Id": index, "Bytes": change, **total}
    return {"ph": "i", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": ts, "args": args}


STEP = annotation("ProfilerStep#1", 0, 200)


def test_the_gap_is_from_the_launch_call_to_the_kernel_where_the_device_had_nothing_to_do(tmp_path):
    found = used(
        tmp_path,
        [
            STEP,
            *launched("kernel", "first", 1, 20, 5, 1),  # what the device did before is not known
            *launched("kernel", "idle", 30, 33.5, 10, 2),  # 3 us
            *launched("kernel", "queued", 35, 43.5, 10, 3),  # the device was busy
            *launched("kernel", "idle", 60, 61.5, 10, 4),  # 1 us
            *launched("kernel", "idle", 80, 80.25, 10, 5),  # began before its call ended
            event("kernel", "unlaunched", 120, 5, 7, correlation=99),
        ],
    )
    assert (found.gaps, found.gap) == (3, 1_000)


def test_another_stream_makes_the_device_busy_too(tmp_path):
    found = used(
        tmp_path,
        [
            STEP,
            *launched("kernel", "first", 1, 10, 5, 1),
            event("kernel", "elsewhere", 20, 30, 9, correlation=50),
            *launched("kernel", "waits", 30, 50, 10, 2),
            *launched("kernel", "idle", 90, 92.5, 10, 3),
        ],
    )
    assert (found.gaps, found.gap) == (1, 2_000)


def test_of_a_graph_the_first_kernel_alone_was_launched(tmp_path):
    graph = event("cuda_runtime", "cudaGraphLaunch", 30, 20, correlation=2)
    kernels = [event("kernel", "k", ts, 2, 7, correlation=2) for ts in (51, 54, 57)]
    found = used(tmp_path, [STEP, *launched("kernel", "first", 1, 10, 5, 1), graph, *kernels])
    assert (found.gaps, found.gap) == (1, 1_000)


def test_multiprocessors_are_weighed_by_time_and_covered_once_at_most(tmp_path):
    def kernel(ts, dur, blocks):
        return event("kernel", "k", ts, dur, 7, correlation=int(ts), **({"blocks per SM": blocks} if blocks else {}))

    found = used(tmp_path, [STEP, kernel(10, 30, 0.5), kernel(50, 10, 4.0), kernel(70, 100, None)])
    assert found.covered == pytest.approx((30 * 0.5 + 10 * 1) / 40)


def test_copies_are_counted_by_direction_and_only_where_their_bytes_are_known(tmp_path):
    found = used(
        tmp_path,
        [
            STEP,
            event("gpu_memcpy", HTOD, 10, 2, 7, bytes=4000),
            event("gpu_memcpy", HTOD, 20, 6, 7, bytes=4000),
            event("gpu_memcpy", HTOD, 30, 50, 7),
            event("gpu_memcpy", DTOD, 90, 5, 7, bytes=0),
            event("gpu_memset", "Memset (Device)", 100, 5, 7, bytes=100),
            event("gpu_memcpy", HTOD, 500, 5, 7, bytes=9000, correlation=1),  # outside the step
        ],
    )
    assert found.copies == {"htod": Copies(2, 8000, 8_000)}


def test_copies_recorded_as_of_one_byte_have_no_size_where_they_take_most_of_the_time(tmp_path):
    placeholders = [event("gpu_memcpy", HTOD, 10 + 20 * place, 10, 7, bytes=1) for place in range(5)]
    sized = [event("gpu_memcpy", HTOD, 120, 10, 7, bytes=4000), event("gpu_memcpy", DTOD, 140, 5, 7, bytes=500)]
    flag = event("gpu_memcpy", DTOD, 150, 1, 7, bytes=1)
    found = used(tmp_path, [STEP, *placeholders, *sized, flag])
    assert found.copies == {"dtod": Copies(2, 501, 6_000)}
    assert found.unsized == {"htod": 5}
    record = inspect(traces.read(write(tmp_path / "rank-0.json", [STEP, *placeholders, *sized, flag])))
    (finding,) = [each for each in record.findings if each.code == "one_byte_copies"]
    assert (finding.count, finding.gates) == (5, False)
    values = rows(tmp_path, [STEP, *launched("kernel", "k", 1, 2, 5, 1), *placeholders, *sized])
    assert (values["memcpy_bandwidth.htod"].value, values["memcpy_bandwidth.htod"].missing_reason) == (
        None,
        "5 copies from the host to the device, most by time, are recorded as of one byte",
    )
    assert values["memcpy_bandwidth.dtod"].value == pytest.approx(500 / 5e-6)


def test_memory_is_what_the_allocator_says_and_what_grew_since(tmp_path):
    found = used(
        tmp_path,
        [
            STEP,
            memory(30, -700, **{"Total Allocated": 1000, "Total Reserved": 4096}),
            memory(10, 300, **{"Total Allocated": 1300, "Total Reserved": 4096}),
            memory(20, 400, **{"Total Allocated": 1700, "Total Reserved": 4096}),
            memory(15, 50, index=1, **{"Total Allocated": 900, "Total Reserved": 4096}),
            memory(12, 64, device=0, index=-1),
            memory(14, -32, device=0, index=-1),
        ],
    )
    assert found.device_memory == Memory(1700, 700)
    assert found.host_memory == Memory(None, 64)


def test_metrics_have_base_units_and_one_value_a_rank(tmp_path):
    found = rows(
        tmp_path,
        [
            STEP,
            *launched("kernel", "first", 1, 20, 5, 1),
            *launched("kernel", "idle", 30, 33.5, 10, 2),
            event("gpu_memcpy", HTOD, 60, 2, 7, bytes=4000),
            memory(10, 300, **{"Total Allocated": 1300}),
        ],
    )
    assert found["kernel_launch_gap"].value == pytest.approx(3e-6)
    assert found["memcpy_bandwidth.htod"].value == pytest.approx(4000 / 2e-6)
    assert found["traced_peak_memory.device"].value == 1300
    assert found["traced_memory_growth.device"].value == 300
    assert {found[name].rank for name in NAMES if found[name].value is not None} == {0}
    for name in ("sm_coverage", "memcpy_bandwidth.dtod", "traced_memory_growth.host"):
        assert found[name].value is None
        assert found[name].missing_reason


def test_a_host_alone_has_no_device_metrics_and_says_so(tmp_path):
    found = rows(tmp_path, training())
    for name in NAMES:
        assert found[name].value is None, name
        assert found[name].missing_reason, name


def test_without_a_trace_the_reason_is_that(tmp_path):
    found = {row.metric: row for row in derive(make_run(tmp_path))}
    assert {found[name].missing_reason for name in NAMES} == {found["compute"].missing_reason}


@pytest.mark.skipif(not A100.is_file(), reason="the public traces are not here")
def test_a_real_trace_has_all_its_copies_and_a_gap_of_microseconds():
    trace = traces.read(A100)
    found = device_use(trace, explain(trace))
    assert found.copies["dtod"].count == 960
    assert 1_000 < found.gap < 10_000
    assert 0.5 < found.covered < 1
    assert 10e9 < found.copies["dtod"].bytes * 1e9 / found.copies["dtod"].time < 1555e9  # below the device's peak
