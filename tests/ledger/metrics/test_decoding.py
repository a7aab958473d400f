"""What bounds decoding, with right answers worked out by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger import parquet
from ledger.metrics import peaks
from ledger.metrics.definitions import decoding
from ledger.metrics.registry import Missing
from ledger.metrics.requests import _at_once
from ledger.metrics.tables import Tables
from tests.serving import failed, request

MS = 1_000_000
H200 = "NVIDIA H200"


def at(number: int, sent: int, first: int, ended: int, tokens: int = 5, **more: Any) -> dict[str, Any]:
    """A request with its moments in milliseconds."""
    moments = {"sent_ns": sent * MS, "first_token_ns": first * MS, "ended_ns": ended * MS, "scheduled_ns": None}
    return request(number, **{**moments, "output_tokens": tokens, **more})


def tables(folder: Path, rows: list[dict[str, Any]], weights: Any = None, devices: tuple[str, ...] = (H200,)) -> Tables:
    """A run folder with these requests, weights and devices."""
    parquet.write(folder / "samples/requests.parquet", rows, parquet.REQUESTS)
    (folder / "launch").mkdir(exist_ok=True)
    (folder / "launch/trial.json").write_text(json.dumps({"weights": weights}))
    hardware = {"hardware": {"devices": [{"name": name} for name in devices]}}
    (folder / "environment.json").write_text(json.dumps(hardware))
    return Tables(folder)


def reason(found: Any) -> str:
    assert isinstance(found, Missing)
    return found.reason


def test_requests_in_flight_and_decoded_at_once(tmp_path: Path) -> None:
    """In flight 0 to 100 and 50 to 150 ms, then after a pause 200 to 300: 300 ms in 250. Decoded 20 to 100, 90 to 150
    and 210 to 300: 230 ms in 220."""
    rows = [at(0, 0, 20, 100), at(1, 50, 90, 150), at(2, 200, 210, 300)]
    found = tables(tmp_path, rows)
    assert decoding.requests_in_flight(found) == pytest.approx(300 / 250)
    assert decoding.decoding_at_once(found) == pytest.approx(230 / 220)


def test_a_request_inside_another_adds_no_time(tmp_path: Path) -> None:
    found = tables(tmp_path, [at(0, 0, 0, 100), at(1, 20, 20, 30), at(2, 40, 40, 60)])
    assert decoding.requests_in_flight(found) == pytest.approx(1.3)


def test_a_failed_request_is_in_flight_and_decodes_nothing(tmp_path: Path) -> None:
    rows = [at(0, 0, 20, 100), failed(1) | {"sent_ns": 0, "ended_ns": 100 * MS, "scheduled_ns": None}]
    found = tables(tmp_path, rows)
    assert decoding.requests_in_flight(found) == pytest.approx(2)
    assert decoding.decoding_at_once(found) == pytest.approx(1)


def test_warm_up_and_sweep_are_no_part_of_the_batch(tmp_path: Path) -> None:
    others = [at(n, 0, 1, 100, phase=phase) for n, phase in enumerate(("warmup", "sweep", "sweep"))]
    assert decoding.decoding_at_once(tables(tmp_path, [at(0, 0, 20, 100), *others])) == pytest.approx(1)


def test_without_a_first_token_no_batch_is_known(tmp_path: Path) -> None:
    assert "no answered request" in reason(decoding.decoding_at_once(tables(tmp_path, [failed(0)])))


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 20)), min_size=1, max_size=12))
def test_what_is_open_at_once_agrees_with_counting_each_moment(spans: list[tuple[int, int]]) -> None:
    start = np.array([first for first, _ in spans], dtype=np.float64)
    end = np.array([first + length for first, length in spans], dtype=np.float64)
    counts = [sum(first <= moment < first + length for first, length in spans) for moment in range(80)]
    busy = [each for each in counts if each]
    found = _at_once(start, end)
    assert found == (pytest.approx(sum(busy) / len(busy)) if busy else None)


def level(phase: str, level: float, together: int, token_ms: float) -> list[dict[str, Any]]:
    """`together` requests decoded beside each other, each token after `token_ms`."""
    ended = 10 + round(4 * token_ms)
    return [at(n, 0, 10, ended, phase=phase, level=level) for n in range(together)]


@pytest.mark.parametrize(("busy_ms", "growth"), [(10, 0), (40, 1), (20, 0.5)])
def test_growth_is_the_slope_over_the_batch(tmp_path: Path, busy_ms: float, growth: float) -> None:
    """Four times the batch: the same time, four times the time, twice the time."""
    rows = level("measured", 1.0, 1, 10) + level("sweep", 4.0, 4, busy_ms)
    assert decoding.decode_growth(tables(tmp_path, rows)) == pytest.approx(growth, abs=1e-12)


def test_growth_over_several_levels_is_by_least_squares(tmp_path: Path) -> None:
    """ln batch 0, 1, 2 (in ln 2); ln time 0, 1, 1: slope 0.5."""
    rows = level("measured", 1.0, 1, 10) + level("sweep", 2.0, 2, 20) + level("sweep", 4.0, 4, 20)
    assert decoding.decode_growth(tables(tmp_path, rows)) == pytest.approx(0.5)


@pytest.mark.parametrize(
    "rows", [level("measured", 2.0, 2, 10), level("measured", 2.0, 2, 10) + level("sweep", 3.0, 3, 10)]
)
def test_growth_needs_batches_that_are_apart(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    assert "2 times apart" in reason(decoding.decode_growth(tables(tmp_path, rows)))


def test_weights_are_read_once_a_token(tmp_path: Path) -> None:
    """24 GB on two devices in 10 ms a token: 1.2 TB/s each, a quarter of an H200's 4.8."""
    found = tables(tmp_path, [at(0, 0, 20, 60)], {"bytes": 24_000_000_000, "devices": 2}, (H200, H200))
    assert decoding.weight_bytes(found) == 24e9
    assert decoding.weight_read_rate(found) == pytest.approx(1.2e12)
    assert decoding.mbu(found) == pytest.approx(0.25)


def test_more_than_the_peak_is_an_error_in_the_inputs(tmp_path: Path) -> None:
    found = tables(tmp_path, [at(0, 0, 20, 60)], {"bytes": 96_000_000_000, "devices": 1})
    assert "its inputs cannot be true" in reason(decoding.mbu(found))


@pytest.mark.parametrize(
    ("weights", "devices", "why"),
    [
        (None, (H200,), "did not record"),
        ({"bytes": 10**9}, (), "not one kind of device"),
        ({"bytes": 10**9}, (H200, "NVIDIA L4"), "not one kind of device"),
        ({"bytes": 10**9}, ("Somebody's accelerator",), "no peak bandwidth is known"),
    ],
)
def test_why_no_share_of_the_peak_is_known(tmp_path: Path, weights: Any, devices: tuple[str, ...], why: str) -> None:
    assert why in reason(decoding.mbu(tables(tmp_path, [at(0, 0, 20, 60)], weights, devices)))


def test_one_token_answers_have_no_rate(tmp_path: Path) -> None:
    found = tables(tmp_path, [at(0, 0, 20, 20, tokens=1)], {"bytes": 10**9, "devices": 1})
    assert isinstance(decoding.weight_read_rate(found), Missing)


@pytest.mark.parametrize(
    ("device", "peak"),
    [
        ("NVIDIA A100-SXM4-80GB", 2039e9),
        ("NVIDIA A100-SXM4-40GB", 1555e9),
        ("NVIDIA A100 80GB PCIe", 1935e9),
        ("NVIDIA H100 80GB HBM3", 3350e9),
        ("NVIDIA H200", 4800e9),
        ("NVIDIA L40S", 864e9),
        ("NVIDIA L4", 300e9),
        ("NVIDIA A10G", 600e9),
        ("Tesla V100-SXM2-16GB", 900e9),
        ("NVIDIA H100X", None),
        ("NVIDIA A100", None),
    ],
)
def test_peaks_by_the_name_that_the_driver_gives(device: str, peak: float | None) -> None:
    assert peaks.memory_bandwidth(device) == peak
