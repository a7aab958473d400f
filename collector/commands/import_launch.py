"""`stackproof import` of what becomes a run folder: traces of one launch, sealed as evidence of an imported stack."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from collector.importers import traces
from collector.importers.traces import Told
from ledger import benchmark as benchmark_file
from ledger import imported, workspace
from ledger.errors import InputError
from ledger.run_folder import RunFolder
from ledger.yaml_file import read_yaml


@dataclass(frozen=True)
class Options:
    """What the command line says of a launch."""

    benchmark: str | None
    stack: str | None
    source: str | None
    card: Path | None
    host: str | None
    version: str | None
    commit: str | None
    licence: str | None

    def told(self) -> Told:
        """The same for the importer. Raises InputError."""
        card = read_yaml(self.card).data if self.card else {}
        more = (("version", self.version), ("commit", self.commit), ("licence", self.licence))
        source = ", ".join([self._given("source"), *(f"{name} {value}" for name, value in more if value)])
        return Told(source=source, card=card, host=self.host or imported.HOST)

    def place(self) -> tuple[str, str]:
        """Benchmark and stack. Raises InputError where one is not said."""
        return self._given("benchmark"), self._given("stack")

    def _given(self, name: str) -> str:
        value = getattr(self, name)
        if not value:
            raise InputError(f"--{name} is missing: traces become evidence of one stack", todo=f"add --{name}")
        return str(value)


def run(paths: Sequence[Path], options: Options, *, dry_run: bool, as_json: bool) -> list[str]:
    """Import one launch; returns the lines to print. Raises InputError, StorageError."""
    (benchmark, stack), told = options.place(), options.told()
    here = workspace.find()
    file = benchmark_file.read(here.find_benchmark(benchmark))
    if dry_run:
        found = traces.look(file, stack, paths)
        rows = [{"file": str(each.path), "as": each.name, "events": each.events} for each in found]
        if as_json:
            return _json(stack, rows, None)
        lines = [f"{row['file']}: traces/{row['as']}, {row['events']:,} events" for row in rows]
        return [*lines, "nothing written: this was a dry run"]
    path, new = traces.import_launch(here, file, stack, paths, told)
    folder = RunFolder(path)
    names = sorted(name for name in folder.digests if name.startswith("traces/"))
    if as_json:
        return _json(stack, names, folder)
    run = folder.run
    return [
        f"{run.stack} {run.role} {run.repeat}: {', '.join(names)}{f', imported from {told.source}' if new else ''}",
        f"  {'sealed as' if new else 'was there already:'} {path}",
        f"  `stackproof collect {benchmark}` commits it where that was not done, and launches nothing of this stack",
    ]


def _json(stack: str, files: Sequence[object], folder: RunFolder | None) -> list[str]:
    run_id, place = (folder.run_id, folder.name) if folder else (None, None)
    return json.dumps({"stack": stack, "files": files, "run": run_id, "path": place}, indent=1).splitlines()
