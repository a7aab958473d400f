"""What a server counted over a launch, and the queue time that it tells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ledger import parquet
from ledger.metrics import registry, server_counters
from ledger.metrics.registry import Missing
from ledger.metrics.tables import Tables
from tests.serving import request

SUM, COUNT = "vllm:request_queue_time_seconds_sum", "vllm:request_queue_time_seconds_count"


def counted(before: str, after: str) -> dict[str, str]:
    return {server_counters.BEFORE: before, server_counters.AFTER: after}


def text(waited: float | str, requests: float | str) -> str:
    """Two engines, each with half of it, among other series."""
    half = waited / 2 if isinstance(waited, float) else waited
    return (
        "# HELP vllm:request_queue_time_seconds Histogram of time spent in WAITING phase for request.\n"
        f'{SUM}{{engine="0",model_name="a }} b"}} {half}\n{SUM}{{engine="1",model_name="x"}} {half}\n'
        f"{COUNT} {requests}\n{SUM}_created 1.79e+09\nnot a series\n"
    )


def tables(folder: Path, files: dict[str, str], *rows: dict[str, Any]) -> Tables:
    parquet.write(folder / "samples/requests.parquet", list(rows) or [request(0)], parquet.REQUESTS)
    for name, content in files.items():
        (folder / name).write_text(content)
    return Tables(folder)


def queue_time(found: Tables) -> Any:
    metric = registry.get("queue_time")
    assert metric is not None
    assert metric.version == 2
    return metric.compute(found)


def test_counters_of_all_engines_over_the_launch(tmp_path: Path) -> None:
    """6 s of waiting before, 30 after, over 4 and then 16 requests: 2 s each."""
    assert queue_time(tables(tmp_path, counted(text(6.0, 4.0), text(30.0, 16.0)))) == pytest.approx(2)


def test_what_each_request_tells_goes_first(tmp_path: Path) -> None:
    rows = [request(0, queue_ns=100_000_000), request(1, queue_ns=300_000_000)]
    assert queue_time(tables(tmp_path, counted(text(0.0, 0.0), text(30.0, 16.0)), *rows)) == pytest.approx(0.2)


@pytest.mark.parametrize(
    "files",
    [
        {},
        counted("", ""),
        counted(text(6.0, 4.0), text(6.0, 4.0)),
        counted(text(30.0, 16.0), text(6.0, 4.0)),
        counted(text(0.0, 0.0), text("many", 16.0)),
        counted(text(0.0, 0.0), text("NaN", 16.0)),
        {server_counters.AFTER: text(30.0, 16.0)},
    ],
    ids=["none", "empty", "nothing-counted", "began-anew", "no-number", "nan", "no-before"],
)
def test_a_server_that_does_not_tell(tmp_path: Path, files: dict[str, str]) -> None:
    found = queue_time(tables(tmp_path, files))
    assert found == Missing("the server does not tell how long requests wait")


def test_counters_of_a_sweep_are_of_no_one_level(tmp_path: Path) -> None:
    rows = [request(0), request(1, phase="sweep", level=20.0)]
    found = queue_time(tables(tmp_path, counted(text(0.0, 0.0), text(30.0, 16.0)), *rows))
    assert isinstance(found, Missing)
    assert "all driven levels" in found.reason
