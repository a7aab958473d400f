"""What a format may be: several files as one trace, several ranks, steps and a clock of its own."""

import csv
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pytest

from ledger import traces
from ledger.errors import InputError
from ledger.traces import reading
from ledger.traces.breakdown import explain
from ledger.traces.cache import cached
from ledger.traces.integrity import inspect, inspect_ranks, rank_record
from ledger.traces.interface import EVENTS, Batch, Facts, Format, Kind, Part
from ledger.traces.kineto import Kineto
from tests.ledger.traces.builder import training, write

RATE = 1000
"""Nanoseconds of one tick of the format's clock."""


class Tables(Format):
    """A folder of CSV files, as ROCm's profilers write them: calls.csv, kernels.csv and steps.csv."""

    name: ClassVar[str] = "folder of CSV files"

    def recognises(self, path: Path, head: bytes) -> bool:
        return not head and (path / "kernels.csv").is_file()

    def files(self, path: Path) -> tuple[Path, ...]:
        return tuple(sorted(path.glob("*.csv")))

    def ranks(self, path: Path) -> tuple[str, ...]:
        return tuple(sorted({row["agent"] for row in rows(path / "kernels.csv")}))

    def read(self, path: Path, facts: Facts, part: Part, rank: str | None = None) -> Iterator[Batch]:
        rank = rank or self.ranks(path)[0]
        facts.rank, facts.world_size = int(rank), len(self.ranks(path))
        for step in rows(path / "steps.csv"):
            if step["agent"] == rank:
                facts.base_ns = int(step["epoch"])
                facts.steps.append((int(step["number"]), int(step["begin"]) * RATE, int(step["end"]) * RATE))
        for place, (name, kind) in enumerate((("calls", Kind.RUNTIME), ("kernels", Kind.KERNEL))):
            mine = [row for row in rows(path / f"{name}.csv") if row["agent"] == rank]
            facts.total += len(mine)
            yield Batch(batch(mine, kind), place=place)


def _together(traces):
    return inspect_ranks([rank_record(each) for each in traces])


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def batch(mine: list[dict[str, str]], kind: Kind) -> pa.RecordBatch:
    values: dict[str, Any] = {
        "kind": [kind] * len(mine),
        "category": ["csv"] * len(mine),
        "name": [row["name"] for row in mine],
        "process": [row["agent"] for row in mine],
        "thread": ["0"] * len(mine),
        "start_ns": [int(row["begin"]) * RATE for row in mine],
        "duration_ns": [(int(row["end"]) - int(row["begin"])) * RATE for row in mine],
        "correlation": [int(row["id"]) for row in mine],
    }
    columns = [
        pa.array(values.get(field.name, [None] * len(mine)), pa.string()).dictionary_encode()
        if pa.types.is_dictionary(field.type)
        else pa.array(values.get(field.name, [None] * len(mine)), field.type)
        for field in EVENTS
    ]
    return pa.RecordBatch.from_arrays(columns, schema=EVENTS)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Two ranks whose clocks begin a second apart: rank 1 works twice as long; in each of two steps one kernel."""
    monkeypatch.setattr(reading, "FORMATS", (Tables(), *reading.FORMATS))
    made = tmp_path / "profile"
    made.mkdir()
    files = {
        "calls": ["agent,name,begin,end,id"],
        "kernels": ["agent,name,begin,end,id"],
        "steps": ["agent,number,begin,end,epoch"],
    }
    for agent, start in ((0, 0), (1, 1_000_000)):
        for number in (7, 8):
            at = start + 100 * (number - 7)
            files["steps"].append(f"{agent},{number},{at},{at + 100},{5 * 10**18 - start * RATE}")
            files["calls"].append(f"{agent},hipLaunchKernel,{at + 5},{at + 6},{number}")
            files["kernels"].append(f"{agent},Cijk_gemm,{at + 10},{at + 30 + 20 * agent},{number}")
    for name, lines in files.items():
        (made / f"{name}.csv").write_text("\n".join(lines))
    return made


def test_several_files_are_one_trace_with_steps_of_its_own_numbers(folder):
    found = traces.read(folder)
    explained = explain(found)
    assert [(step.number, step.parts["compute"], step.launches) for step in explained.steps] == [
        (7, 20_000, 1),
        (8, 20_000, 1),
    ]
    assert explained.warnings == ()
    assert [each.code for each in inspect(found).findings] == []


def test_each_rank_is_read_apart_and_compared_by_the_wall_clock(folder):
    found = list(reading.read_each(folder))
    assert [(trace.rank, trace.facts.share) for trace in found] == [(0, "0"), (1, "1")]
    assert [explain(trace).part("compute") for trace in found] == [40_000, 80_000]
    assert _together(found) == ()
    unbased = [replace(trace, facts=replace(trace.facts, base_ns=None)) for trace in found]
    assert [each.code for each in _together(unbased)] == ["clocks_shifted"]


def test_the_cache_knows_all_files_of_a_trace(folder, tmp_path):
    first = cached(folder, tmp_path / "cache")
    assert explain(first.trace()) == explain(traces.read(folder))
    assert cached(folder, tmp_path / "cache").folder == first.folder
    kernels = folder / "kernels.csv"
    kernels.write_text(kernels.read_text().replace("Cijk_gemm", "softmax", 1))
    second = cached(folder, tmp_path / "cache")
    assert second.digest != first.digest
    assert explain(second.trace()).kind("reduction") or explain(second.trace()).kind("gemm") == 20_000


def test_a_folder_that_no_format_knows_is_a_folder(tmp_path):
    with pytest.raises(InputError, match="is a folder, not a trace"):
        traces.read(tmp_path)


def test_a_file_of_one_rank_lists_none(tmp_path):
    path = write(tmp_path / "rank-3.json", training())
    assert Kineto().ranks(path) == ()
    assert Kineto().files(path) == (path,)
    (found,) = reading.read_each(path)
    assert (found.rank, found.facts.share) == (3, None)
