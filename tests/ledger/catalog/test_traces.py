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

FILE = "traces/rank-0.json.gz"
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


def integrity(workspace: Path) -> dict[str, list[tuple]]:
    """{run: (file, events, usable, code, finding, gates) of each of its rows}."""
    found: dict[str, list[tuple]] = {}
    with catalog.open(workspace / "evidence") as opened:
        for run_id, *row in opened.query(
            "SELECT run_id, file, events, usable, code, finding, gates FROM trace_integrity ORDER BY ALL"
        ).rows:
            found.setdefault(run_id, []).append(tuple(row))
    return found


def test_a_whole_trace_is_one_row_without_a_finding_that_gates(workspace: Path) -> None:
    run_id = traced(workspace, training())
    found = integrity(workspace)
    assert found.keys() == {run_id}
    assert {row[:3] for row in found[run_id]} == {(FILE, len(training()), True)}
    assert not any(row[5] for row in found[run_id])


def test_a_trace_that_cannot_be_read_is_one_row_with_the_reason(workspace: Path) -> None:
    run_id = broken(workspace, b"no trace at all")
    ((file, events, usable, code, finding, gates),) = integrity(workspace)[run_id]
    assert (file, events, usable, code, gates) == (FILE, None, False, "unreadable", True)
    assert finding.startswith("the trace cannot be read: ")


def test_a_trace_that_differs_from_its_seal_or_is_gone_is_not_read(workspace: Path) -> None:
    changed, gone, linked = (traced(workspace, training(), repeat=repeat) for repeat in (1, 2, 3))
    integrity(workspace)  # what was read before is not taken for what is there now
    path = {run: next((workspace / "evidence").rglob(f"*-{run}/{FILE}")) for run in (changed, gone, linked)}
    write(path[changed], training(3))
    elsewhere = workspace / "elsewhere.json.gz"
    path[linked].rename(elsewhere)
    path[linked].symlink_to(elsewhere)
    path[gone].unlink()
    found = integrity(workspace)
    assert [row[3:5] for row in found[changed]] == [("unreadable", "the trace cannot be read: is not what was sealed")]
    for run in (gone, linked):
        assert [row[3:5] for row in found[run]] == [
            ("unreadable", "the trace cannot be read: is not in the run folder")
        ]


def test_what_the_reader_lost_is_found_and_nothing_at_all_gates(workspace: Path) -> None:
    lossy = traced(workspace, [*training(40), {"ph": "X", "cat": "cpu_op", "name": "x", "ts": "soon", "dur": 1}])
    empty = traced(workspace, [{"ph": "M", "name": "process_name", "pid": 1}], repeat=2)
    found = integrity(workspace)
    ((*_, usable, code, finding, gates),) = found[lossy]
    assert (usable, code, gates) == (True, "events_lost", False)
    assert finding.startswith("1 event was left out: each ")
    ((*_, usable, code, finding, gates),) = found[empty]
    assert (usable, code, gates) == (False, "no_events", True)


def test_findings_are_kept_for_as_long_as_trace_and_code_are_the_same(workspace: Path) -> None:
    run_id = traced(workspace, training())
    before = integrity(workspace)
    (kept,) = (workspace / ".stackproof/traces/integrity").iterdir()
    rows = json.loads(kept.read_text())
    kept.write_text(json.dumps([{**rows[0], "events": 7}]))
    assert integrity(workspace)[run_id][0][1] == 7
    kept.write_text("[{")
    assert integrity(workspace) == before


def test_the_kernels_that_take_longest_come_first(workspace: Path, ask: Ask) -> None:
    events = [*launched("kernel", "long", 10, 12, 30, 1), *launched("kernel", "short", 50, 52, 1, 2)]
    run_id = traced(workspace, [annotation("ProfilerStep#1", 5, 100), *events, op("aten::mm", 5, 90)])
    answer = ask("query", "--saved", "top-kernels", "--evidence", str(workspace / "evidence"), "--format", "json")
    rows = json.loads(answer.stdout)
    assert [(row["run_id"], row["kind"], row["name"], row["calls"], row["seconds"]) for row in rows] == [
        (run_id, "kernel", "long", 1, pytest.approx(30e-6)),
        (run_id, "kernel", "short", 1, pytest.approx(1e-6)),
    ]


def test_collectives_are_those_of_all_ranks(workspace: Path, ask: Ask) -> None:
    args = {"Collective name": "allreduce", "In msg nelems": 1000, "dtype": "Float", "Group size": 2}
    comms = event("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 40, 20, 7, correlation=1, **args)
    call = event("cuda_runtime", "cudaLaunchKernel", 30, 1, correlation=1)
    run_id = traced(workspace, [annotation("ProfilerStep#1", 5, 100), call, comms])
    answer = ask("query", "--saved", "collectives", "--evidence", str(workspace / "evidence"), "--format", "json")
    (row,) = json.loads(answer.stdout)
    assert (row["run_id"], row["operation"], row["calls"], row["bytes"], row["peer_wait_s"]) == (
        run_id, "all_reduce", 1, 4000, None,
    )  # fmt: skip


def test_collectives_name_the_rank_that_arrived_last(workspace: Path, ask: Ask) -> None:
    args = {"Collective name": "allreduce", "In msg nelems": 1000, "dtype": "Float", "Group size": 1}
    comms = event("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 40, 20, 7, correlation=1, **args)
    call = event("cuda_runtime", "cudaLaunchKernel", 30, 1, correlation=1)
    traced(workspace, [annotation("ProfilerStep#1", 5, 100), call, comms, {**comms, "ts": 70, "args": {}}])
    sql = "SELECT rank, peer_wait_ns, last_rank FROM collectives ORDER BY start_ns"
    answer = ask("query", sql, "--evidence", str(workspace / "evidence"), "--format", "json")
    assert [tuple(row.values()) for row in json.loads(answer.stdout)] == [(0, 0, 0), (0, None, None)]
