"""Traces are tables too: read when a query names one, from a cache beside the workspace, and never a failed query."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ledger import catalog
from ledger.errors import InputError
from ledger.traces.interface import Kind
from tests.factory import make_run
from tests.ledger.catalog.conftest import Ask
from tests.ledger.traces.builder import annotation, event, launched, op, training, write

HOSTILE = "\x1b[31mmm\u202e'); DROP TABLE runs; --"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "mkdocs.yml").write_text("site_name: x\n")
    return tmp_path


def traced(workspace: Path, events: list, stack: str = "slow", repeat: int = 1) -> str:
    """A profiled run with this trace; returns its id."""
    file = write(workspace / "trace.json.gz", events, distributedInfo={"rank": 0, "world_size": 1})
    data = file.read_bytes()
    file.unlink()
    return make_run(workspace / "evidence", stack, role="profiled", repeat=repeat, trace=data).name[-16:]


def broken(workspace: Path, data: bytes, repeat: int = 2) -> str:
    return make_run(workspace / "evidence", "slow", role="profiled", repeat=repeat, trace=data).name[-16:]


def test_events_have_words_nanoseconds_and_their_run(workspace: Path) -> None:
    run_id = traced(workspace, [*launched("kernel", HOSTILE, 10, 12.5, 3.25, 41), op("aten::mm", 9, 4)])
    with catalog.open(workspace / "evidence") as opened:
        rows = opened.query(
            "SELECT run_id, rank, kind, name, thread, start_ns, duration_ns, correlation FROM events ORDER BY start_ns"
        ).rows
    assert rows == [
        (run_id, 0, "operator", "aten::mm", "1", 9_000, 4_000, None),
        (run_id, 0, "runtime", "cudaLaunchKernel", "1", 10_000, 500, 41),
        (run_id, 0, "kernel", HOSTILE, "7", 12_500, 3_250, 41),
    ]


def test_every_kind_has_its_word(workspace: Path) -> None:
    categories = {
        "cpu_op": "operator",
        "user_annotation": "annotation",
        "cuda_runtime": "runtime",
        "kernel": "kernel",
        "gpu_memcpy": "memcpy",
        "gpu_memset": "memset",
        "python_function": "python",
        "gpu_user_annotation": "device_range",
        "something new": "other",
    }
    assert len(categories) == len(Kind)
    traced(workspace, [event(category, "x", 10 * at, 5) for at, category in enumerate(categories)])
    with catalog.open(workspace / "evidence") as opened:
        assert dict(opened.query("SELECT category, kind FROM events").rows) == categories


@pytest.mark.parametrize(
    "sql",
    ["FROM Events", 'SELECT count(*) FROM "events"', "SUMMARIZE events", "FROM query_table('events')"],
)
def test_a_table_is_filled_however_it_is_named(workspace: Path, sql: str) -> None:
    traced(workspace, training())
    with catalog.open(workspace / "evidence") as opened:
        opened.query(sql)
        assert opened.query("SELECT count(*) FROM query_table('ev' || 'ents')").rows == [(len(training()),)]


def test_traces_are_read_only_when_asked_for_and_then_once(workspace: Path) -> None:
    traced(workspace, training())
    cache = workspace / ".stackproof/traces"
    with catalog.open(workspace / "evidence") as opened:
        opened.query("SELECT count(*) FROM runs")
        assert not cache.exists()
        opened.query("SELECT count(*) FROM events")
    before = {path: path.stat().st_mtime_ns for path in cache.rglob("*.parquet")}
    assert before
    with catalog.open(workspace / "evidence") as opened:
        opened.query("SELECT count(*) FROM events")
    assert {path: path.stat().st_mtime_ns for path in cache.rglob("*.parquet")} == before


def test_outside_of_a_workspace_nothing_is_left_behind(tmp_path: Path) -> None:
    traced(tmp_path, training())
    before = sorted(tmp_path.rglob("*"))
    with catalog.open(tmp_path / "evidence") as opened:
        assert opened.query("SELECT count(*) FROM events").rows == [(len(training()),)]
        temporary = Path(opened._traces.root)
        assert temporary.is_dir()
    assert not temporary.exists()
    assert sorted(tmp_path.rglob("*")) == before


def test_the_cache_is_no_way_to_files(workspace: Path) -> None:
    traced(workspace, training())
    with catalog.open(workspace / "evidence") as opened:
        opened.query("SELECT count(*) FROM events")
        with pytest.raises(InputError):
            opened.query(f"FROM read_parquet('{workspace}/.stackproof/traces/*/events-0.parquet')")


def test_a_trace_that_cannot_be_read_leaves_the_others(workspace: Path) -> None:
    good = traced(workspace, training())
    broken(workspace, b"no trace at all")
    changed = broken(workspace, (next((workspace / "evidence").rglob("rank-0.json.gz"))).read_bytes(), repeat=3)
    path = next((workspace / "evidence").rglob(f"*-{changed}/traces/rank-0.json.gz"))
    path.write_bytes(path.read_bytes() + b"\0")
    with catalog.open(workspace / "evidence") as opened:
        assert opened.query("SELECT DISTINCT run_id FROM events").rows == [(good,)]


def test_the_kernels_that_take_longest_come_first(workspace: Path, ask: Ask) -> None:
    events = [*launched("kernel", "long", 10, 12, 30, 1), *launched("kernel", "short", 50, 52, 1, 2)]
    run_id = traced(workspace, [annotation("ProfilerStep#1", 5, 100), *events, op("aten::mm", 5, 90)])
    answer = ask("query", "--saved", "top-kernels", "--evidence", str(workspace / "evidence"), "--format", "json")
    rows = json.loads(answer.stdout)
    assert [(row["run_id"], row["kind"], row["name"], row["calls"], row["seconds"]) for row in rows] == [
        (run_id, "kernel", "long", 1, pytest.approx(30e-6)),
        (run_id, "kernel", "short", 1, pytest.approx(1e-6)),
    ]
