"""Nsight Systems' exports: exact parts of hand-made steps, every version's columns, and files that mean harm."""

import gzip
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from itertools import pairwise

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger import traces
from ledger.commands.trace import command
from ledger.errors import InputError
from ledger.traces import reading
from ledger.traces.breakdown import explain
from ledger.traces.cache import cached
from ledger.traces.classes import Role, table
from ledger.traces.interface import EVENTS, Facts, Kind, Part
from ledger.traces.nsight import UNNAMED, Nsight
from tests.ledger.traces.nsight_builder import DEVICE, PID, PINNED, SCHEMA, STREAM, TID, Export, global_id

GEMM, NORM = "ampere_sgemm_128x128_tn", "void rms_norm_kernel<float>(float*)"
NCCL = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevComm*)"


def parts(found, step=0):
    """Parts that are not zero, in nanoseconds."""
    return {name: time for name, time in found.steps[step].parts.items() if time}


def training():
    """Two steps of 100 us on one device; the second one's device work ends 5 us after it."""
    export = Export().gpu().nvtx("step 7", 0, 100_000).nvtx("step 8", 100_000, 200_000)
    export.kernel(GEMM, 10_000, 30_000, 1_000, gridX=264).memcpy(40_000, 60_000, 3_000).memset(65_000, 66_000, 5_000)
    export.call("cudaStreamSynchronize_v3020", 70_000, 90_000)
    export.kernel(NORM, 110_000, 150_000, 101_000).kernel(NCCL, 140_000, 170_000, 102_000)
    return export.kernel(GEMM, 190_000, 205_000, 103_000)


def test_each_part_of_a_step_is_exact(tmp_path):
    trace = traces.read(training().write(tmp_path / "t.sqlite"))
    found = explain(trace)
    assert found.warnings == ()
    assert [(step.window, step.launches) for step in found.steps] == [((0, 100_000), 3), ((100_000, 205_000), 3)]
    # The host calls for 500 ns each at 1, 3 and 5 us, and waits from 70 to 90 us.
    assert parts(found) == {"compute": 20_000, "exposed_copy": 21_000, "host_gap": 21_500, "idle": 37_500}
    assert parts(found, 1) == {
        "compute": 55_000, "exposed_communication": 20_000, "host_gap": 1_500, "idle": 28_500,
    }  # fmt: skip
    assert found.steps[1].communication == 30_000
    assert {name: time for name, time in found.steps[1].classes.items() if time} == {"gemm": 15_000, "norm": 40_000}


def test_names_amounts_and_places_read_like_the_pytorch_profilers(tmp_path):
    trace = traces.read(training().write(tmp_path / "t.sqlite"))
    assert {"cudaLaunchKernel", "cudaMemcpyAsync", "Memcpy HtoD (Pageable -> Device)", "Memset (Device)"} <= {
        *trace.names
    }
    kinds = [Kind(kind) for kind in trace.events.kind[trace.bytes.event].tolist()]
    assert dict(zip(kinds, trace.bytes.value.tolist(), strict=True)) == {Kind.MEMCPY: 4096, Kind.MEMSET: 1024}
    assert max(trace.blocks.value.tolist()) == 2.0  # 264 blocks on 132 multiprocessors
    assert {(track.process, track.thread) for track in trace.tracks} == {(str(PID), str(TID)), ("0", str(STREAM))}
    assert trace.calls.column("name").to_pylist() == [NCCL]
    assert trace.facts.devices[0]["name"] == "NVIDIA H200"
    assert (trace.facts.total, trace.facts.untimed) == (15, 0)


@pytest.mark.parametrize(
    ("kind", "origin", "target", "name"),
    [
        (1, PINNED, DEVICE, "Memcpy HtoD (Pinned -> Device)"),
        (2, DEVICE, PINNED, "Memcpy DtoH (Device -> Pinned)"),
        (8, DEVICE, DEVICE, "Memcpy DtoD (Device -> Device)"),
        (10, DEVICE, DEVICE, "Memcpy PtoP (Device -> Device)"),
        (11, 4, 4, "Memcpy Unified HtoD (Managed -> Managed)"),
        (1, None, None, "Memcpy HtoD"),
        (99, 99, 99, "Memcpy of an unknown direction"),
    ],
)
def test_copies_are_named_by_direction_and_memory(tmp_path, kind, origin, target, name):
    export = Export().memcpy(10, 20, copyKind=kind, srcKind=origin, dstKind=target)
    assert traces.read(export.write(tmp_path / "t.sqlite")).names == (name,)


def test_ranges_of_both_kinds_are_annotations_and_marks_have_no_duration(tmp_path):
    export = Export().nvtx("pushed", 10, 20).nvtx("started", 15, 40, 60).nvtx("a mark", 12, None, 34)
    export.nvtx(None, 30, 35, textId=export.string("ncclAllReduce")).nvtx("open", 36, None).nvtx(None, 41, 42)
    trace = traces.read(export.write(tmp_path / "t.sqlite"))
    assert {trace.names[name] for name in trace.events.name.tolist()} == {"pushed", "started", "ncclAllReduce", UNNAMED}
    assert set(trace.events.kind.tolist()) == {Kind.ANNOTATION}
    assert len(trace.calls) == 0
    assert (trace.facts.total, trace.facts.untimed, trace.facts.salvaged) == (6, 1, 0)
    assert trace.facts.lost == {"is an NVTX range that was still open when recording ended": 1}
    assert any("no work of a device" in note for note in trace.facts.notes)


@pytest.mark.parametrize("end", [0, -1])
def test_older_exports_write_a_number_where_a_range_has_no_end(tmp_path, end):
    trace = traces.read(Export().nvtx("open", 36, end).write(tmp_path / "t.sqlite"))
    assert trace.facts.lost == {"is an NVTX range that was still open when recording ended": 1}


@pytest.mark.parametrize("name", ["step 12", "step_12", "Step:12", "iteration 3", "iter=3", "train_step 4", "Iter #5"])
def test_ranges_that_count_a_loop_are_steps(tmp_path, name):
    export = Export().gpu().nvtx(name, 0, 100).kernel(GEMM, 10, 90, 1).nvtx(f"{name}1", 700, 900)
    found = explain(traces.read(export.write(tmp_path / "t.sqlite")))
    assert [step.annotated for step in found.steps] == [(0, 100), (700, 900)]


@pytest.mark.parametrize(
    "name", ["step", "train_step", "forward step 3 of 4", "steps 3", "stepwise 3", "Optimizer.step#3"]
)
def test_other_ranges_are_no_steps(name):
    assert table().role(name) is not Role.ITERATION


def test_whole_graphs_are_device_time(tmp_path):
    trace = traces.read(Export().gpu().nvtx("step 1", 0, 100).graph(20, 80, 1).write(tmp_path / "t.sqlite"))
    found = explain(trace)
    assert parts(found) == {"compute": 60, "host_gap": 39, "idle": 1}
    assert found.steps[0].classes["other"] == 60
    assert found.hotspots[0].name == "CUDA graph"
    assert any("CUDA graphs are recorded whole (1)" in note for note in trace.facts.notes)


def test_a_name_that_is_not_there_keeps_its_time(tmp_path):
    export = Export().gpu().kernel(GEMM, 10, 20, demangledName=999).kernel(GEMM, 30, 40, demangledName=999)
    trace = traces.read(export.write(tmp_path / "t.sqlite"))
    assert trace.names == (UNNAMED,)
    assert explain(trace).part("compute") == 20
    assert trace.facts.salvaged == 2


@pytest.mark.parametrize(
    "without",
    [
        ("greenContextId", "graphNodeId", "mangledName", "launchType"),
        ("demangledName", "globalPid"),
        ("textId", "domainId", "endGlobalTid", "srcKind", "dstKind", "memKind"),
        ("totalMemory", "cuDevice", "computeMajor", "computeMinor", "memoryBandwidth"),
    ],
)
def test_columns_come_and_go_with_versions(tmp_path, without):
    found = explain(traces.read(training().write(tmp_path / "t.sqlite", without)))
    assert found.warnings == ()
    assert parts(found) == {"compute": 20_000, "exposed_copy": 21_000, "host_gap": 21_500, "idle": 37_500}


@pytest.mark.parametrize("table", ["TARGET_INFO_GPU", "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_RUNTIME"])
def test_a_missing_table_is_none_of_its_events(tmp_path, table):
    export = training()
    expected = len(traces.read(export.write(tmp_path / "all.sqlite")).events)
    gone = len(export.rows.pop(table))
    found = traces.read(export.write(tmp_path / "some.sqlite"))
    assert len(found.events) == expected - (gone if table.startswith("CUPTI") else 0)
    assert len(found.blocks) == (0 if table.startswith("TARGET") else 4)


def eight_ranks():
    """Ranks 0 to 7 in one file: rank 5 works the longest, and correlation ids repeat."""
    whole = Export(PID, 0)
    for rank in range(8):
        each = Export(PID + rank, rank).nvtx("step 1", 0, 1000)
        each.kernel(GEMM, 100 + rank, 300 + rank + (400 if rank == 5 else 0), 10 + rank)
        whole.with_all(each.add("MPI_RANKS", globalTid=global_id(PID + rank, TID), rank=rank))
    return whole


def test_of_several_ranks_the_busiest_is_read_and_the_others_are_named(tmp_path):
    trace = traces.read(eight_ranks().write(tmp_path / "all.sqlite"))
    found = explain(trace)
    assert {track.process for track in trace.tracks} == {"5", str(PID + 5)}
    assert (trace.rank, len(trace.events), trace.facts.total, trace.facts.lost) == (5, 3, 3, {})
    assert parts(found) == {"compute": 600, "host_gap": 90, "idle": 310}
    (note,) = trace.facts.notes
    assert "8 ranks" in note
    assert f"device 5 of process {PID + 5}, the busiest" in note
    assert f"device 0 of process {PID} (1 of its events)" in note
    assert "and 3 more" in note


def test_one_process_on_two_devices_is_not_merged(tmp_path):
    export = training()
    export.device = 1
    export.kernel(GEMM, 5_000, 6_000, 4_000)
    trace = traces.read(export.write(tmp_path / "t.sqlite"))
    assert explain(trace).part("compute") == 75_000
    assert f"left out: device 1 of process {PID} (1 of its events)" in trace.facts.notes[0]


def test_host_processes_without_a_device_are_kept_and_their_ids_match_nothing(tmp_path):
    helper = Export(99).nvtx("loading", 0, 50).call("cuInit", 1, 2, correlation=1)
    trace = traces.read(training().with_all(helper).write(tmp_path / "t.sqlite"))
    mine = [index for index, track in enumerate(trace.tracks) if track.process == "99"]
    rows = [row for row, track in enumerate(trace.events.track.tolist()) if track in mine]
    assert [trace.names[trace.events.name[row]] for row in rows] == ["cuInit", "loading"]
    assert trace.events.correlation[rows].tolist() == [-1, -1]


def test_a_device_is_told_by_what_the_process_calls_it(tmp_path):
    export = Export(device=0).gpu(0, 100).gpu(3, 50).kernel(GEMM, 1, 2, gridX=200)
    export.add("TARGET_INFO_CUDA_DEVICE", gpuId=0, cudaId=0, pid=1)
    export.add("TARGET_INFO_CUDA_DEVICE", gpuId=3, cudaId=0, pid=PID)
    assert traces.read(export.write(tmp_path / "t.sqlite")).blocks.value.tolist() == [4.0]


HOSTILE = [None, "soon", b"\xff\xfe", 1.5, 2**63 - 1, -(2**63), "", "1e5"]


@pytest.mark.parametrize("value", HOSTILE)
@pytest.mark.parametrize("column", ["start", "end", "correlationId", "demangledName", "gridX", "streamId", "globalPid"])
def test_values_of_the_wrong_type_are_counted_and_never_crash(tmp_path, column, value):
    export = training().kernel("bad", 150, 160)
    export.rows["CUPTI_ACTIVITY_KIND_KERNEL"][-1][column] = value
    trace = traces.read(export.write(tmp_path / "t.sqlite", loose=True), tmp_path / "tables")
    explain(trace)
    facts = trace.facts
    lost = sum(facts.lost.values())
    assert len(trace.events) + facts.untimed + lost == facts.total == 16
    assert lost == (column in ("start", "end"))


@pytest.mark.parametrize("value", HOSTILE)
def test_work_that_names_no_device_is_counted(tmp_path, value):
    trace = traces.read(training().kernel("bad", 1, 2, deviceId=value).write(tmp_path / "t.sqlite", loose=True))
    assert trace.facts.lost == {"names no device that can be read": 1}
    assert trace.facts.total == 16


cells = st.one_of(
    st.none(), st.integers(-(2**63), 2**63 - 1), st.integers(0, 10), st.text(max_size=9), st.binary(max_size=9),
    st.floats(allow_nan=False),
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_rows_are_read_or_counted(tmp_path_factory, data):
    export = Export()
    for name, columns in SCHEMA.items():
        for _ in range(data.draw(st.integers(0, 2))):
            export.rows.setdefault(name, []).append({each.split()[0]: data.draw(cells) for each in columns.split(", ")})
    path = export.write(tmp_path_factory.mktemp("any") / "t.sqlite", loose=True)
    facts, kept = Facts(), 0
    for batch in Nsight().read(path, facts, Part()):
        batch.events.validate(full=True)
        assert batch.events.schema == EVENTS
        kept += len(batch.events)
    assert kept + facts.untimed + sum(facts.lost.values()) == facts.total
    explain(traces.read(path))


def test_text_that_is_not_unicode_is_read_as_well_as_it_can_be(tmp_path):
    path = training().write(tmp_path / "t.sqlite")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE StringIds SET value = CAST(x'6765ff6d6d' AS TEXT) WHERE value = ?", (GEMM,))
    assert "ge�mm" in traces.read(path).names


def test_nothing_of_the_files_own_is_run(tmp_path):
    path = training().write(tmp_path / "t.sqlite")
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS start, i AS end FROM n"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DROP TABLE CUPTI_ACTIVITY_KIND_MEMSET")
        connection.execute(f"CREATE VIEW CUPTI_ACTIVITY_KIND_MEMSET AS {endless}")
        connection.execute("ALTER TABLE NVTX_EVENTS ADD COLUMN uint64Value AS (hex(zeroblob(400000000)))")
        connection.execute(
            "CREATE TRIGGER harm AFTER INSERT ON NVTX_EVENTS BEGIN DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL; END"
        )
    before = path.read_bytes()
    assert parts(explain(traces.read(path)))["exposed_copy"] == 20_000
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["t.sqlite"]


@pytest.mark.parametrize(
    ("tables", "found"),
    [
        (
            ("places",),
            r"is an SQLite file with tables 'places', but no export of Nsight Systems; make one: nsys export",
        ),
        (("b", "a", "d", "c"), "with tables 'a', 'b', 'c', …, but no export"),
        ((), "is an SQLite file with no table, but no export"),
        (("rocpd_string", "rocpd_op"), "is a rocpd database of ROCm's profiler, which is not read"),
        (("rocpd_kernel_dispatch_00004b0f", "rocpd_info_agent_00004b0f"), "is a rocpd database of ROCm's profiler"),
    ],
)
def test_another_sqlite_file_is_told_apart(tmp_path, tables, found):
    path = tmp_path / "places.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA user_version = 1")
        for table in tables:
            connection.execute(f"CREATE TABLE {table} (start INTEGER, end INTEGER)")
    assert not Nsight().recognises(path, path.read_bytes()[:4096])
    with pytest.raises(InputError, match=found) as error:
        traces.read(path)
    assert "\n" not in str(error.value)


def test_each_rank_of_a_file_is_read_apart(tmp_path):
    path = eight_ranks().write(tmp_path / "all.sqlite")
    found = list(reading.read_each(path, tmp_path / "tables"))
    assert [trace.rank for trace in found] == list(range(8))
    assert [trace.facts.share for trace in found] == [f"device {rank} of process {PID + rank}" for rank in range(8)]
    assert [parts(explain(trace))["compute"] for trace in found] == [600 if rank == 5 else 200 for rank in range(8)]
    assert not any(trace.facts.notes or len(trace.events) != 3 for trace in found)
    assert len(list((tmp_path / "tables").glob("device-*-of-process-*/events-0.parquet"))) == 8


def test_work_of_older_versions_without_a_process_is_no_rank_of_its_own(tmp_path):
    export = training()
    export.kernel(GEMM, 5_000, 6_000, 4_000, globalPid=None)
    path = export.write(tmp_path / "t.sqlite", loose=True)
    assert Nsight().ranks(path) == (f"device 0 of process {PID}",)


@pytest.mark.parametrize("suffix", [".nsys-rep", ".qdrep"])
def test_a_report_says_what_to_run(tmp_path, suffix):
    (tmp_path / f"r{suffix}").write_bytes(b"\x00\x01\x02 whatever nsys writes")
    with pytest.raises(InputError, match="run nsys export --type sqlite"):
        traces.read(tmp_path / f"r{suffix}")


def test_a_packed_export_says_what_to_do(tmp_path):
    path = training().write(tmp_path / "t.sqlite")
    (tmp_path / "t.sqlite.gz").write_bytes(gzip.compress(path.read_bytes()))
    with pytest.raises(InputError, match="unpack it first"):
        traces.read(tmp_path / "t.sqlite.gz")


def large(path, count):
    """Many kernels, in one go."""
    export = Export().gpu()
    name = export.string(GEMM)
    export.kernel(GEMM, 0, 1, 0).nvtx("step 1", 0, 10 * count).write(path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < ?) "
            "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, correlationId, "
            "globalPid, demangledName, shortName, registersPerThread, gridX, gridY, gridZ, blockX, blockY, blockZ) "
            "SELECT i * 10, i * 10 + 5, 0, 1, 7, 1, ?, ?, ?, 32, 132, 1, 1, 128, 1, 1 FROM n",
            (count, global_id(PID), name, name),
        )
    return path


@pytest.mark.parametrize("share", [0.3, 0.6, 0.95])
def test_a_file_that_is_cut_off_is_read_up_to_there_and_says_so(tmp_path, share):
    whole = large(tmp_path / "t.sqlite", 20_000).read_bytes()
    path = tmp_path / "cut.sqlite"
    path.write_bytes(whole[: int(len(whole) * share)])
    trace = traces.read(path)
    assert "the database is damaged" in trace.facts.cut
    assert 0 < len(trace.events) < 20_000


@pytest.mark.parametrize("keep", [16, 100, 512, 4096])
def test_a_file_that_ends_at_its_start_is_an_error_of_one_line(tmp_path, keep):
    path = tmp_path / "t.sqlite"
    path.write_bytes(training().write(tmp_path / "whole.sqlite").read_bytes()[:keep])
    with pytest.raises(InputError) as caught:
        traces.read(path)
    assert "\n" not in str(caught.value)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(16, 60_000), st.integers(0, 255)), min_size=1, max_size=40))
def test_damage_anywhere_never_crashes(tmp_path_factory, changes):
    folder = tmp_path_factory.mktemp("damage")
    data = bytearray(training().write(folder / "t.sqlite").read_bytes())
    for place, value in changes:
        data[place % len(data)] = value
    (folder / "bad.sqlite").write_bytes(data)
    with suppress(InputError):
        explain(traces.read(folder / "bad.sqlite"))


def test_pages_that_ask_for_endless_reading_are_given_up_on(tmp_path):
    path = large(tmp_path / "t.sqlite", 1_000)
    with closing(sqlite3.connect(path)) as connection:
        query = "SELECT rootpage FROM sqlite_master WHERE name = 'CUPTI_ACTIVITY_KIND_KERNEL'"
        root = connection.execute(query).fetchone()[0] - 1
    data = bytearray(path.read_bytes())
    page = bytes(data[root * 4096 : root * 4096 + 4096])
    cells = [int.from_bytes(page[at : at + 2], "big") for at in range(12, 12 + 2 * int.from_bytes(page[3:5], "big"), 2)]
    children = [int.from_bytes(page[at : at + 4], "big") for at in cells]
    levels = [root + 1, *children[:6], children[7]]
    for level, below in pairwise(levels):  # each page's children all become the one page below it
        changed = bytearray(page)
        for at in (8, *cells):
            changed[at : at + 4] = below.to_bytes(4, "big")
        data[(level - 1) * 4096 : level * 4096] = changed
    path.write_bytes(data)
    assert "interrupted" in traces.read(path).facts.cut


def test_what_is_cached_is_what_was_read(tmp_path):
    path = eight_ranks().write(tmp_path / "t.sqlite")
    read, again = traces.read(path), cached(path, tmp_path / "kept").trace()
    assert again.facts.notes == read.facts.notes != []
    assert explain(again) == explain(read)


MEMORY = """
import resource, sys
from pathlib import Path
from ledger import traces
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
found = traces.read(Path(sys.argv[1]))
print(len(found.events), (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def test_memory_does_not_grow_as_rows_do(tmp_path):
    path = large(tmp_path / "t.sqlite", 200_000)
    out = subprocess.run([sys.executable, "-c", MEMORY, str(path)], capture_output=True, text=True, check=True).stdout
    events, grown = map(int, out.split())
    assert events == 200_003
    assert grown < 150  # MiB; the rows as Python objects take more


def test_the_command_prints_it(tmp_path):
    path = training().write(tmp_path / "report_rank3.sqlite")
    result = CliRunner().invoke(command, [str(path)])
    assert result.exit_code == 0
    assert "rank 3, device" in result.output
    assert "sgemm_tn" in result.output
    assert "rms_norm_kernel" in result.output
