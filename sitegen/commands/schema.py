"""`stackproof schema`: JSON Schema of the files, and of what `compare` writes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ledger.commands.output import check_output
from ledger.durable import storage_errors

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def _benchmark() -> dict[str, Any]:
    from ledger import benchmark  # noqa: PLC0415 (pydantic is slow to import)

    return {"title": "stackproof benchmark file", **_without_title(benchmark.json_schema())}


def _run() -> dict[str, Any]:
    from pydantic import TypeAdapter  # noqa: PLC0415 (slow to import)

    from ledger.run import Run  # noqa: PLC0415 (as above)

    schema = TypeAdapter(Run).json_schema()
    return {"title": "stackproof run.json", "$schema": DIALECT, **_without_title(schema)}


def _without_title(schema: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in schema.items() if key != "title"}


def _verdict() -> dict[str, Any]:
    from sitegen.comparison.report import json_schema  # noqa: PLC0415 (as above)

    return {"title": "stackproof verdicts", "$schema": DIALECT, **json_schema()}


SCHEMAS: dict[str, Callable[[], dict[str, Any]]] = {"benchmark": _benchmark, "run": _run, "verdict": _verdict}
"""{name: the schema}."""


@click.command(name="schema")
@click.argument("file", type=click.Choice(list(SCHEMAS)), default="benchmark")
@click.option("--output", type=click.Path(path_type=Path), metavar="PATH", help="Write to PATH instead of printing.")
def command(file: str, output: Path | None) -> None:
    """Print the JSON Schema of a benchmark file, a run folder's run.json, or verdicts.

    Verdicts are what `stackproof compare --format json` prints.

    An editor that knows it completes keys and marks mistakes; with the YAML language server, put this on the file's
    first line: `# yaml-language-server: $schema=benchmark.schema.json`

    \b
    Example:
      stackproof schema --output benchmarks/benchmark.schema.json
    """
    if output is not None:
        check_output(output)
    text = json.dumps(SCHEMAS[file](), indent=2, ensure_ascii=False) + "\n"
    if output is None:
        click.echo(text, nl=False)
        return
    with storage_errors(output):
        output.write_text(text, encoding="utf-8")
