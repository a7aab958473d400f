"""Traces of which Holistic Trace Analysis 0.5.0 says what is computed here by hand, without rounding and with the last
step; `tests/performance/trace_agreement.py` compares the two on any trace."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.ledger.traces.builder import annotation, event, write
from tests.performance.agreeing_peers import ours
from tests.performance.trace_agreement import Row

GEMM, ADD = "ampere_sgemm_128x64_nn", "vectorized_elementwise_kernel"
NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def work(cat: str, name: str, start: float, dur: float, stream: int, number: int, launch: float | None) -> list[Any]:
    """A piece of device work, and the call that launched it at `launch`, where that is recorded."""
    call = event("cuda_runtime", "cudaLaunchKernel", launch, 0.5, correlation=number)
    piece = event(cat, name, start, dur, stream, correlation=number, stream=stream, device=0)
    return [call, piece] if launch is not None else [piece]


# microseconds:            10        25   30.5   40.25   45 46   50.25        60   62.125
# stream 7, compute        [gemm          )       [add            )
# stream 20, communication            [nccl             )
# stream 8, copies                                       [ )set               [copy  )
PIECES = [
    *work("kernel", GEMM, 10, 20.5, 7, 1, 1),
    *work("kernel", NCCL, 25, 20, 20, 2, 3),
    *work("kernel", ADD, 40.25, 10, 7, 3, 5),
    *work("gpu_memset", "Memset (Device)", 45, 1, 8, 4, 7),
    *work("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 60, 2.125, 8, 5, 9),
]
SAID = {
    "pieces": 5, "kernels": 3, "copies": 1, "fills": 1,
    "span": 52_125,  # 62.125 - 10
    "compute": 30_500,  # 20.5 + 10
    "communication": 20_000,
    "copy": 3_125,  # 1 + 2.125
    "busy": 42_375,  # 10 to 50.25 without a gap, and 2.125
    "not_compute": 11_875,  # 42.375 - 30.5: the set is covered by the add
    "idle": 9_750,  # 50.25 to 60
    "overlap": 0.5125,  # 25 to 30.5 and 40.25 to 45 of 20
}  # fmt: skip


def said(path: Path) -> dict[str, Any]:
    found = ours(path)
    assert found.pop("named") == {}
    return found


def test_parts_covered_communication_and_gaps_are_what_hta_says(tmp_path: Path) -> None:
    assert said(write(tmp_path / "t.json", PIECES)) == pytest.approx(SAID, abs=1e-12)


def test_times_since_1970_lose_nothing(tmp_path: Path) -> None:
    """HTA counts such times in floating point, and is off by up to a quarter of a microsecond an edge."""
    path = write(tmp_path / "t.json", [{**each, "ts": f"@{each['ts']}@"} for each in PIECES])
    text = path.read_text()
    for each in PIECES:
        text = text.replace(f'"@{each["ts"]}@"', str(Decimal("1780000000000000.001") + Decimal(str(each["ts"]))))
    path.write_text(text)
    assert "1780000000000062" not in text
    assert "1780000000000060.001" in text
    assert json.loads(text)
    assert said(path) == pytest.approx(SAID, abs=1e-12)


def test_of_profiled_steps_only_what_they_launched_counts(tmp_path: Path) -> None:
    steps = [annotation("ProfilerStep#1", 0, 4), annotation("ProfilerStep#2", 4, 6)]
    more = [
        *work("kernel", GEMM, 2, 3, 7, 11, None),  # launched by nothing that is recorded
        *work("kernel", GEMM, 70, 5, 7, 12, 10.5),  # after the last step
    ]
    assert said(write(tmp_path / "t.json", [*steps, *PIECES, *more])) == pytest.approx(SAID, abs=1e-12)
    one = said(write(tmp_path / "t.json", [steps[0], *PIECES, *more]))  # of a single step all work counts
    assert (one["pieces"], one["span"], one["compute"]) == (7, 73_000, 38_500)


def test_work_that_overlaps_on_a_stream_counts_once(tmp_path: Path) -> None:
    pieces = [*work("kernel", GEMM, 10, 10, 7, 1, 1), *work("kernel", ADD, 15.5, 2, 7, 2, 3)]
    pieces += work("kernel", ADD, 18, 4.5, 9, 3, 5)
    found = said(write(tmp_path / "t.json", pieces))
    assert (found["busy"], found["compute"], found["idle"], found["span"]) == (12_500, 12_500, 0, 12_500)


def test_what_goes_by_another_name_in_hta_is_said(tmp_path: Path) -> None:
    reduce = "void cross_device_reduce_1stage<half, 2>(RankData*)"
    found = ours(write(tmp_path / "t.json", work("kernel", reduce, 10, 10, 7, 1, 1)))
    assert (found["communication"], found["compute"]) == (10_000, 0)
    assert set(found["named"]) == {"communication", "compute", "not_compute", "overlap"}
    assert f"{reduce[:40]} is compute, not communication" in found["named"]["compute"]


def test_a_difference_beyond_floating_point_disagrees_unless_it_is_one_of_definition() -> None:
    assert Row("compute", 1000, 1000.4, 900, 0.5, 200, "", "").agrees
    assert not Row("compute", 1000, 1001, 900, 0.5, 200, "", "").agrees
    assert not Row("compute", 1000, 1000, 700, 0.5, 200, "", "").agrees
    assert Row("compute", 1000, 2000, 1000, 0.5, 200, "HTA goes by names", "").agrees
    assert Row("compute", 1000, None, None, 0, 0, "HTA fails", "").agrees
