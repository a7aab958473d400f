"""`stackproof trace`: what people and programs read of traces by themselves, of ranks together, of two sides."""

import json
import os
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from rich.cells import cell_len

from ledger.commands.trace import command
from ledger.commands.trace_json import KEYS
from ledger.errors import InputError
from ledger.traces import room
from ledger.traces.breakdown import PARTS
from ledger.traces.classes import CLASSES
from ledger.traces.device_use import DIRECTIONS
from tests.ledger.traces.builder import annotation, event, launched, op, training, write
from tests.ledger.traces.collective_builder import collective, told

SHARED = Path(os.environ.get("STACKPROOF_SHARED", Path(__file__).parents[4] / "shared")) / "data"
REAL = [path for path in sorted(SHARED.glob("traces/*/*.json.gz")) if path.stat().st_size < 2**22]
HOSTILE = "evil\x1b[31m\u202e<b>宽宽宽宽宽宽" + "x" * 200


def ran(*arguments: object) -> str:
    result = CliRunner().invoke(command, [str(each) for each in arguments])
    if result.exception:
        raise result.exception
    return result.stdout


def data(*arguments: object) -> dict:
    def refused(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(ran(*arguments, "--format", "json"), parse_constant=refused)


def device(slower: float = 0, kernel: str = "ampere_sgemm_128x64_nn") -> list:
    return [
        annotation("ProfilerStep#1", 0, 200),
        op("aten::mm", 5, 10),
        *launched("kernel", kernel, 6, 20, 20 + slower, 1),
        op(HOSTILE, 70, 10),
        *launched("kernel", HOSTILE, 71, 80, 10, 2),
        event("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 120, 2, 7, bytes=4000),
    ]


def all_reduce(at: float, dur: float) -> list:
    """4 MB among two ranks."""
    args = {"Collective name": "allreduce", "In msg nelems": 10**6, "Out msg nelems": 10**6, "dtype": "Float"}
    group = {"Group size": 2, "Process Group Name": "0", "Process Group Ranks": "[0, 1]", "Seq": 1}
    found = launched("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", at - 1, at, dur, 77)
    found[1]["args"] |= args | group
    return found


def rank(folder: Path, number: int, events: list, size: int = 2) -> Path:
    return write(folder / f"rank-{number}.json", events, distributedInfo={"rank": number, "world_size": size})


def test_a_host_trace_fits_80_columns_and_shows_the_parts(tmp_path):
    path = write(tmp_path / "t.json", [*training(), op(HOSTILE, 1050, 2)])
    text = ran(path)
    assert max(map(cell_len, text.replace(str(path), "").splitlines())) <= 80
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "    gemm                             0.030    30.0%" in text
    assert "operator that launched it" not in text  # on a host the operators are the work


def test_a_device_trace_shows_kernels_operators_copies_and_gaps(tmp_path):
    text = ran(write(tmp_path / "t.json", device()))
    assert "0.020  62.5%      1  gemm          sgemm_nn" in text
    assert "gemm          aten::mm" in text
    assert "copies htod: 1, 4 kB, 2.00 GB/s while they ran" in text
    assert max(cell_len(line) for line in text.splitlines()[1:]) <= 80


def test_sides_are_compared_whatever_their_names_hold(tmp_path):
    before, after = write(tmp_path / "a.json", device()), write(tmp_path / "b.json", device(30, "Cijk_A_MT16"))
    text = ran(after, "--against", before)
    assert f"{'aten::mm':<46}1→1     0.020     0.050     +0.030" in text
    assert f"{'sgemm_nn':<46}1→–     0.020         –     -0.020" in text
    assert "\x1b" not in text
    lines = [line for line in text.splitlines() if "json" not in line]
    assert max(map(cell_len, lines)) <= 80
    assert "share of time in rows that both sides have: class 100.0%, operator 100.0%" in text


def test_what_has_no_room_in_the_table_is_added_up_below_it(tmp_path):
    before, after = write(tmp_path / "a.json", device()), write(tmp_path / "b.json", device(30, "Cijk_A_MT16"))
    text = ran(after, "--against", before, "--top", 1)
    assert "2 further operators that both sides have" in text
    assert "1 further kernel of before alone" in text


def test_json_of_a_trace_is_exact(tmp_path):
    found = data(write(tmp_path / "rank-0.json", training()))
    (trace,) = found["traces"]
    assert sum(trace["parts_ns"].values()) == trace["duration_ns"] == 200_000
    assert sum(trace["classes_ns"].values()) == trace["parts_ns"]["compute"]
    assert trace["top"][0]["name"] in {"aten::mm", "aten::mul_"}
    assert (found["ranks"], found["difference"], found["against"], found["tables"]) == (None, None, [], {})


def test_json_of_a_difference_adds_up(tmp_path):
    before, after = write(tmp_path / "a.json", device()), write(tmp_path / "b.json", device(30))
    step = data(after, "--against", before)["difference"]["step"]
    assert step["change_ns"] == sum(row["change_ns"] for row in step["rows"])
    compute = next(row for row in step["rows"] if row["name"] == "compute")
    assert compute["change_ns"] == 30_000
    assert compute["before"] == {"calls": None, "time_ns": 30_000}


def keys(value: object) -> set[str]:
    if isinstance(value, list):
        return set().union(*map(keys, value)) if value else set()
    return set(value) | set().union(*map(keys, value.values())) if isinstance(value, dict) and value else set()


def test_every_key_of_the_json_is_explained_and_no_other(tmp_path):
    sides = [
        rank(tmp_path, 0, device() + all_reduce(140, 20)),
        rank(tmp_path, 1, device(5)),
        "--against",
        write(tmp_path / "b.json", device()),
    ]
    memory = {"ph": "i", "name": "[memory]", "ts": 5, "args": {"Device Type": 1, "Device Id": 0, "Bytes": 5}}
    write(tmp_path / "b.json", [*device(), memory])
    found = data(*sides, "--tables", tmp_path / "tables")
    files = {str(each) for each in sides}
    used = keys(found) - {*PARTS, *CLASSES, *DIRECTIONS, *files, "operator", "kernel"}
    assert used - set(KEYS) == set()
    assert set(KEYS) - used == set()


def test_ranks_of_one_run_are_compared_with_each_other(tmp_path):
    files = [rank(tmp_path, 1, device(slower=12)), rank(tmp_path, 0, device())]
    text = ran(*files)
    assert "rank 1 computes longest, 1.167 times the mean: the others wait for it" in text
    assert data(*files)["ranks"]["straggler_rank"] == 1
    assert data(*files)["ranks"]["imbalance"] == pytest.approx(42 / 36)


def test_collectives_of_all_ranks_tell_waiting_from_transfer(tmp_path):
    files = [rank(tmp_path, number, device() + all_reduce(140 + 30 * number, 50 - 30 * number)) for number in (0, 1)]
    text = ran(*files)
    # 35 us a rank, of which rank 0 waits 30; 4 MB in 20 us on either rank, of which a bus carries 2 (n - 1) / n
    assert f"{'all_reduce':<20}{2:>6}{1:>8}{'4 MB':>11}{'0.035':>11}{'0.015':>12}{'200.00':>12}" in text
    (group,) = data(*files)["ranks"]["collectives"]["groups"]
    assert (group["calls"], group["time_ns"], group["peer_wait_ns"]) == (2, 70_000, 30_000)
    alone = ran(files[0])
    assert f"{'all_reduce':<20}{2:>6}{1:>8}{'4 MB':>11}{'0.050':>11}{'–':>12}{'–':>12}" in alone
    assert "waiting for other ranks is not told from transfer" in alone


def test_clocks_that_were_aligned_are_said(tmp_path):
    files = []
    for number, ahead in enumerate((0, 500)):
        info = {"rank": number, "world_size": 2}
        calls = [
            each
            for at in (150, 250, 350, 450)
            for each in collective(at + ahead - 20, at + ahead, at, **told("allreduce", 10, 10))
        ]
        path = tmp_path / f"rank-{number}.json"
        files.append(write(path, [annotation("ProfilerStep#1", 0, 1000), *calls], distributedInfo=info))
    (note,) = data(*files)["ranks"]["collectives"]["notes"]
    assert note.startswith("the clock of rank 1 is 0.500 ms ahead of rank 0's")
    assert f"note: {note}"[:60] in ran(*files)


def test_a_file_that_breaks_off_is_explained_with_a_warning_on_top_of_it(tmp_path):
    path = write(tmp_path / "t.json", training())
    path.write_bytes(path.read_bytes()[:-60])
    assert "not to be relied on: " in ran(path)
    (trace,) = data(path)["traces"]
    assert trace["usable"] is False
    assert "cut" in {finding["code"] for finding in trace["findings"] if finding["gates"]}


def test_files_that_do_not_say_their_rank_are_asked_for_it(tmp_path):
    files = [write(tmp_path / f"{name}.json", device(slower)) for name, slower in (("a", 0), ("b", 12))]
    told = "a.json does not say its rank: if these are ranks of one run, add --rank FILE=N"
    assert told in " ".join(ran(*files).split())
    assert data(*files)["not_ranks"] == told
    ranks = [word for number, path in enumerate(files) for word in ("--rank", f"{path}={number}")]
    assert data(*files, *ranks)["ranks"]["straggler_rank"] == 1


def test_one_file_twice_is_not_two_ranks(tmp_path):
    path = rank(tmp_path, 0, training())
    text = ran(path, path)
    assert text.count("rank 0 of 2, host only, steps: 2 (0 to 1)") == 2
    assert "both say rank 0" in text


@pytest.mark.parametrize("rank", ["3", "other.json=1", "t.json=one", "t.json=-1"])
def test_a_rank_that_cannot_be_meant_is_refused(tmp_path, monkeypatch, rank):
    monkeypatch.chdir(tmp_path)
    write(Path("t.json"), training())
    with pytest.raises(InputError, match="--rank FILE=0"):
        ran("t.json", "--rank", rank)


def test_tables_hold_every_event_and_are_not_overwritten(tmp_path):
    files = [write(tmp_path / name, device()) for name in ("a.json", "a.json.gz")]
    tables = tmp_path / "tables"
    text = ran(*files, "--tables", tables)
    folders = [Path(line.removeprefix("tables: ")) for line in text.splitlines() if line.startswith("tables: ")]
    assert len(set(folders)) == 2
    for folder in folders:
        assert pq.read_table(folder / "events-0.parquet").num_rows == len(device())
    with pytest.raises(InputError, match="already holds tables"):
        ran(*files, "--tables", tables)


def test_columns_on_disk_are_said_on_stderr_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(room, "_SMALL", 0)
    monkeypatch.setattr(room.Room.__init__, "__defaults__", (0,))
    path = write(tmp_path / "t.json", training())
    result = CliRunner().invoke(command, [str(path)])
    assert "GB of columns are kept in" in result.stderr
    assert "columns are kept" not in result.stdout


def test_what_is_no_trace_is_refused(tmp_path):
    (tmp_path / "package.json").write_text('{"name": "x"}')
    for arguments in ([tmp_path / "package.json"], [tmp_path / "none.json"], [tmp_path]):
        with pytest.raises(InputError):
            ran(*arguments)


@pytest.mark.skipif(not REAL, reason="the public traces are not here")
@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name.split(".json")[0][:30])
def test_real_traces_are_printed_without_a_ragged_line(path):
    text = ran(path, "--top", 50)
    lines = text.replace(str(path), "").splitlines()
    assert max(map(cell_len, lines)) <= 80
    assert all(line == line.rstrip() for line in lines)
    assert data(path)["traces"][0]["duration_ns"] > 0


def test_of_a_file_that_holds_several_ranks_each_is_printed_and_has_its_tables(tmp_path):
    def on(process: int, rank: int) -> list:
        events = [*device(slower=10 * rank), *all_reduce(150 + rank, 20 - rank)]
        host = ("cuda_runtime", "cpu_op", "user_annotation")
        return [{**each, "pid": f"rank {rank}" if each["cat"] in host else process} for each in events]

    path = write(tmp_path / "all.json", [*on(0, 0), *on(1, 1)])
    found = data(path, "--tables", tmp_path / "tables")
    assert [(each["share"], each["rank"]) for each in found["traces"]] == [
        ("process rank 0", 0),
        ("process rank 1", 1),
    ]
    assert found["ranks"]["straggler_rank"] == 1
    assert found["ranks"]["collectives"]["groups"][0]["peer_wait_ns"] == 1000
    for rank in (0, 1):
        kernels = pq.read_table(tmp_path / f"tables/all/process-rank-{rank}/kernels.parquet")
        assert len(kernels) == 4
    text = ran(path)
    assert "process rank 0" in text
    assert "process rank 1" in text
    with pytest.raises(InputError, match="holds several ranks"):
        ran(path, "--rank", f"{path}=3")
