"""CCL-Bench: workload cards, the rows of `benchmark_data.json`, and tuning histories.

Layout: https://github.com/cornell-sysphotonics/ccl-bench (`trace_collection/NAME/NAME.yaml`, `website/`, `agent/`).
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Any

from collector.importers import ccl_bench_cards as cards
from collector.importers import ccl_bench_launch, ccl_bench_rows, ccl_bench_tuning, dialect, draft
from collector.importers.ccl_bench_cards import Card
from collector.importers.ccl_bench_launch import Launch
from collector.importers.dialect import Dialect
from collector.importers.draft import Draft
from collector.importers.files import Files, first_lines, mapping
from collector.importers.interface import LIKELY, SURE, CollectionImporter, Facts, Match
from ledger.errors import InputError
from ledger.public import Collection, Problem
from ledger.yaml_file import parse_yaml

TABLE = "benchmark_data.json"
TRACES = (".json.gz", ".pt.trace.json", "_trace.json", ".sqlite", ".nsys-rep")
"""Raw traces, which may lie beside a card."""


class CclBench(CollectionImporter):
    """A checkout of CCL-Bench, or any of its data files."""

    name = "ccl-bench"
    title = "CCL-Bench: workload cards, benchmark_data.json, tuning histories"

    def detect(self, path: Path) -> Match | None:
        """By its folders, by the table's own keys, by a card's `Model-executor`, by a history's columns."""
        if path.is_dir():
            if (path / "trace_collection").is_dir() or (path / "website" / TABLE).is_file() or (path / TABLE).is_file():
                return Match(SURE, "a checkout of CCL-Bench: trace_collection/ or website/benchmark_data.json")
            return self._inside(path)
        start = first_lines(path)
        if path.suffix == ".json" and '"all_metrics"' in start and '"metric_info"' in start:
            return Match(SURE, "CCL-Bench's table: all_metrics, metric_info and rows")
        if (
            path.suffix in (".yaml", ".yml")
            and "workload:" in start
            and ("Model-executor:" in start or "\nruns:" in start)
        ):
            return Match(SURE, "a CCL-Bench card: workload and Model-executor")
        if path.suffix == ".csv" and ccl_bench_tuning.is_history(start.partition("\n")[0]):
            return Match(SURE, "a CCL-Bench tuning history: config, metrics, score and status")
        return None

    def _inside(self, folder: Path) -> Match | None:
        for path in sorted(folder.iterdir())[:50]:
            found = self.detect(path) if path.is_file() else None
            if found:
                return Match(LIKELY, f"{path.name} is {found.why}")
        return None

    def read(self, files: Files, facts: Facts) -> Collection:
        """Every row, card and trial below the path; rows and cards of one name are one row."""
        language = dialect.load("ccl_bench")
        problems: list[Problem] = []
        rows, language = _rows(files, language)
        found = _cards(files, problems)
        drafts = [*_drafts(files, rows, found, language), *_trials(files, found, language, problems)]
        problems += _overall(drafts)
        return draft.finish(self.name, self.title, drafts, language, files, facts, problems)


def _rows(files: Files, language: Dialect) -> tuple[list[dict[str, Any]], Dialect]:
    """The rows of each table, and the dialect with the definitions that the tables themselves publish."""
    rows: list[dict[str, Any]] = []
    for name in files.names(".json"):
        if files.path.is_dir() and PurePosixPath(name).name != TABLE:
            continue
        data = mapping(files.json(name))
        if not isinstance(data.get("rows"), list) or not isinstance(data.get("metric_info"), dict):
            todo = "name a checkout of CCL-Bench or one of its data files"
            raise InputError("is not CCL-Bench's table (rows and metric_info)", where=files.where(name), todo=todo)
        for number, row in enumerate(data["rows"], 1):
            if not isinstance(row, dict) or not isinstance(row.get("metrics"), dict):
                what = f"row {number} is not a row with metrics"
                raise InputError(what, where=files.where(name), todo="get the original file")
        rows += data["rows"]
        told = {key: str(mapping(info).get("description") or "") for key, info in data["metric_info"].items()}
        language = language.with_definitions(told)
    return rows, language


def _cards(files: Files, problems: list[Problem]) -> dict[str, Card]:
    """{workload's name: card}; what is no card, cannot be read or is of another version is told, not taken."""
    found: dict[str, Card] = {}
    definitions = 0
    for name in files.names(".yaml", ".yml"):
        if "template" in PurePosixPath(name).name:
            continue
        text = files.text(name)
        try:
            data = parse_yaml(text, Path(name)).data
        except InputError as error:
            if not files.path.is_dir():
                raise
            problems.append(Problem("broken_card", f"{error.where} {error.what}: is left out"))
            continue
        if not cards.is_card(data):
            definitions += 1
            continue
        card = cards.read(name, data)
        if isinstance(card, Problem):
            problems.append(card)
        elif card.name in found:
            problems.append(Problem("two_cards", f"{name}: is left out, {found[card.name].file} has its name"))
        else:
            found[card.name] = card
    if definitions:
        problems.append(Problem("no_result", f"{definitions} YAML files are no cards with a result: not taken"))
    return found


def _drafts(files: Files, rows: list[dict[str, Any]], found: dict[str, Card], language: Dialect) -> list[Draft]:
    beside = _beside(files)
    taken: set[str] = set()
    drafts = []
    for row in rows:
        name = _row_name(row)
        taken.add(name)
        drafts.append(_one(files, name, row, found.get(name), beside, language))
    for name, card in found.items():
        if name not in taken and not card.runs:
            drafts.append(_one(files, name, None, card, beside, language))
    return drafts


def _row_name(row: dict[str, Any]) -> str:
    place = str(row.get("trace") or "").rstrip("/")
    return PurePosixPath(place).name or str(mapping(row.get("metadata")).get("workload_name") or "unnamed")


def _beside(files: Files) -> dict[str, list[str]]:
    """{folder: the launch files and traces in it}."""
    found: dict[str, list[str]] = {}
    if files.path.is_dir():
        for name in files.names(*ccl_bench_launch.ENDINGS, *TRACES):
            found.setdefault(str(PurePosixPath(name).parent), []).append(name)
    return found


def _one(
    files: Files,
    name: str,
    row: dict[str, Any] | None,
    card: Card | None,
    beside: dict[str, list[str]],
    language: Dialect,
) -> Draft:
    near = beside.get(str(PurePosixPath(card.file).parent), []) if card is not None else []
    scripts = [each for each in near if each.endswith(ccl_bench_launch.ENDINGS)]
    devices = cards.hardware(card.facts).get("count") if card is not None else None
    launch = ccl_bench_launch.read(files, scripts, devices) if scripts else Launch(())
    made = ccl_bench_rows.draft(name, row, card, launch, language)
    traces = [each for each in near if each.endswith(TRACES)]
    if traces:
        made.cannot_show.pop("trace", None)
        made.shows["trace"] = f"beside the card: {', '.join(PurePosixPath(each).name for each in traces[:3])}"
    return made


def _trials(files: Files, found: dict[str, Card], language: Dialect, problems: list[Problem]) -> list[Draft]:
    drafts: list[Draft] = []
    for name in files.names(".csv"):
        if ccl_bench_tuning.is_history(first_lines(files.root / name).partition("\n")[0]):
            trials = ccl_bench_tuning.drafts(files, name, language)
            drafts += trials
            if trials and trials[0].framework:
                what = f"{name}: that it is {trials[0].framework} is told by the file's name alone"
                problems.append(Problem("by_file_name", what))
        elif not files.path.is_dir():
            raise InputError("is no tuning history", where=files.where(name), todo="name one, or a checkout")
    for card in found.values():
        drafts += ccl_bench_tuning.card_runs(card, language)
    return drafts


def _overall(drafts: Iterable[Draft]) -> list[Problem]:
    """What shows only over all rows."""
    both = [
        (each.values["tpot@ccl-bench"], each.values["step_time@ccl-bench"])
        for each in drafts
        if {"tpot@ccl-bench", "step_time@ccl-bench"} <= each.values.keys()
    ]
    same = sum(tpot == step for tpot, step in both)
    if not same:
        return []
    return [Problem("one_number_twice", f"tpot equals avg_step_time in {same} of {len(both)} rows: it is no TPOT")]
