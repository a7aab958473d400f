"""The page of one run: finished HTML, so that thousands of them cost the site builder nothing.

Failed runs get the same page as completed ones, with their reason on top.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from ledger import parquet
from ledger.errors import EvidenceError
from ledger.metrics import registry
from ledger.run_folder import RunFolder
from sitegen.charts import series
from sitegen.charts.chart import Chart
from sitegen.comparison.verdict import Verdict
from sitegen.format import count
from sitegen.pages import comparison, published
from sitegen.pages.snapshot import Row, Snapshot
from sitegen.pages.traces import traces_of
from sitegen.pages.tree import Tree
from sitegen.templates import render


@dataclass(frozen=True)
class Site:
    """What the pages of all runs share."""

    title: str
    facts: Snapshot
    verdicts: list[Verdict]
    traces: Path
    """Where the tables of traces are kept."""
    viewer: str | None
    """Address of the trace viewer that the workspace names."""


def write(tree: Tree, folder: RunFolder, site: Site) -> None:
    """Write the page of `folder` and copy its files beside it. Raises EvidenceError when run.json cannot be read."""
    base = f"runs/{folder.run_id}"
    files, problem = _files(folder)
    for file in files:
        if file.bytes is not None:
            tree.copy(f"{base}/{file.name}", file.source)
    tree.text(f"{base}/index.html", _page(folder, site, files, problem))


def _page(folder: RunFolder, site: Site, files: list[published.Published], problem: str | None) -> str:
    run_id, facts = folder.run_id, site.facts
    environment = facts.of("environments", run_id)
    cited = [(verdict, comparison.path(verdict, "html")) for verdict in site.verdicts if _cites(verdict, run_id)]
    return render(
        "pages/run.html.jinja",
        site=site.title,
        viewer=site.viewer,
        traces=traces_of(folder, files, facts, site.traces),
        root="../../",
        run=folder.run,
        folder=folder,
        metrics=_newest(facts.of("metrics", run_id)),
        units={each.definition_id: each for each in registry.all_metrics()},
        inputs=_inputs(folder),
        settings=facts.of("settings", run_id),
        card=facts.of("cards", run_id),
        card_text=published.whole(folder, "card.yaml"),
        environment=[row for row in environment if not row["field"].startswith("packages.")],
        packages=[row for row in environment if row["field"].startswith("packages.")],
        prices=facts.of("prices", run_id),
        records=facts.of("status", run_id),
        cited=cited,
        charts=_charts(folder),
        launch=published.whole(folder, "launch/run.sh"),
        logs=[(name, *published.tail(folder, f"logs/{name}.log")) for name in ("stdout", "stderr")],
        files=files,
        problem=problem,
        total=sum(file.bytes or 0 for file in files),
        count=count,
    )


def _files(folder: RunFolder) -> tuple[list[published.Published], str | None]:
    try:
        return published.files(folder), None
    except EvidenceError as error:
        return [], error.what


def _cites(verdict: Verdict, run_id: str) -> bool:
    return run_id in verdict.evidence or any(launch.run_id == run_id for launch in verdict.launches)


def _newest(rows: list[Row]) -> list[Row]:
    """Rows of the newest version of each metric first; older ones stay, marked as superseded."""
    newest: dict[str, int] = {}
    for row in rows:
        newest[row["metric"]] = max(row["version"], newest.get(row["metric"], 0))
    marked = [{**row, "superseded": row["version"] < newest[row["metric"]]} for row in rows]
    return sorted(marked, key=lambda row: (row["superseded"], row["value"] is None))


def _inputs(folder: RunFolder) -> list[tuple[str, str, list[str]]]:
    """(file, sha256, metrics computed from it) as metrics.json states them."""
    used: dict[tuple[str, str], list[str]] = {}
    try:
        for row in folder.json("metrics.json"):
            for name, digest in row["inputs"].items():
                used.setdefault((str(name), str(digest)), []).append(str(row["metric"]))
    except (EvidenceError, KeyError, TypeError, AttributeError):
        return []
    return [(name, digest, list(dict.fromkeys(metrics))) for (name, digest), metrics in sorted(used.items())]


def _charts(folder: RunFolder) -> list[Chart]:
    steps = _table(folder, "samples/steps.parquet")
    telemetry = _table(folder, "samples/telemetry.parquet", parquet.TELEMETRY)
    found = [*(_step_charts(steps) if steps else ()), *(_telemetry_charts(telemetry) if telemetry else ())]
    return [chart for chart in found if chart is not None]


def _table(folder: RunFolder, name: str, schema: pa.Schema | None = None) -> dict[str, list[Any]] | None:
    """A sample file as columns, those of `schema` where given; None when the run has none or it cannot be read."""
    path = published.inside(folder, name)
    if path is None:
        return None
    try:
        found = parquet.read(path)
        table: dict[str, list[Any]] = (found if schema is None else parquet.widened(found, schema)).to_pydict()
    except (EvidenceError, KeyError, pa.ArrowException):
        return None
    return table


def _step_charts(steps: dict[str, list[Any]]) -> list[Chart | None]:
    numbers = steps["step"]
    phases = [phase for phase in ("warmup", "measured", "profiled") if phase in steps["phase"]]
    by_phase = [
        series.Line(
            phase,
            numbers,
            [d / 1e9 if p == phase else None for d, p in zip(steps["duration_ns"], steps["phase"], strict=True)],
        )
        for phase in phases
    ]
    loss = [series.Line("loss", numbers, steps["loss"])]
    return [
        series.chart("loss", "Training loss", loss, x_title="Step", y_title="Loss", unit="nats"),
        series.chart(
            "steps", "Time of each step", by_phase, x_title="Step", y_title="Step time", unit="s", from_zero=True
        ),
    ]


def _telemetry_charts(telemetry: dict[str, list[Any]]) -> list[Chart | None]:
    wanted = (
        ("utilisation", "Utilisation", "share"),
        ("memory_bytes", "Memory", "B"),
        ("power_w", "Power", "W"),
        ("clock_hz", "Clock", "Hz"),
        ("temperature_c", "Temperature", "°C"),
    )
    charts = [
        series.chart(
            column.replace("_", "-"),
            title,
            _devices(telemetry, column),
            x_title="Seconds since the launch",
            y_title=title,
            unit=unit,
            from_zero=True,
        )
        for column, title, unit in wanted
    ]
    return [*charts, _stalls(telemetry)]


def _stalls(telemetry: dict[str, list[Any]]) -> Chart | None:
    """For how long tasks of the host waited for processors, memory and disks since the launch."""
    host = [index for index, device in enumerate(telemetry["device"]) if device == "host"]
    at = [telemetry["elapsed_ns"][index] / 1e9 for index in host]
    lines = [
        series.Line(name, at, [telemetry[f"{name}_stall_s"][index] for index in host])
        for name in ("cpu", "memory", "io")
    ]
    title = "Time that tasks of the host waited for cpu, memory and disk"
    return series.chart(
        "stalls", title, lines, x_title="Seconds since the launch", y_title="Waited", unit="s", from_zero=True
    )


def _devices(telemetry: dict[str, list[Any]], column: str) -> list[series.Line]:
    rows = list(zip(telemetry["device"], telemetry["elapsed_ns"], telemetry[column], strict=True))
    return [
        series.Line(device, [t / 1e9 for d, t, _ in rows if d == device], [v for d, _, v in rows if d == device])
        for device in sorted({row[0] for row in rows})
    ]
