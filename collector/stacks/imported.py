"""The `imported` adapter: a stack whose evidence was made elsewhere. Nothing launches it, so nothing is planned."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

from collector.stacks import command_output
from collector.stacks.interface import Adapter, Job, MissingPrerequisite, Observed, SettingsError, Trial
from ledger import imported
from ledger.metrics.registry import EVERY_KIND
from ledger.run import Role

FILE = "launch/import.json"
"""What was imported: `{format, source, files: [{name, sha256, bytes}], card}`, written before the run is sealed. What a
format adds stands on the card too."""
INSTALL = "import its results, or give it an adapter that launches it"


class ImportedAdapter(Adapter):
    """Whatever somebody else launched. Its settings are what is known of them, and are not checked."""

    name: ClassVar[str] = imported.ADAPTER
    workload_kinds: ClassVar[frozenset[str]] = frozenset(EVERY_KIND)
    requires: ClassVar[tuple[str, ...]] = ()
    roles: ClassVar[frozenset[Role]] = frozenset()

    def resolve(self, settings: dict[str, Any], benchmark: Any) -> dict[str, Any]:  # noqa: ARG002 (any work alike)
        """The settings as they are. Raises SettingsError for what JSON cannot hold."""
        try:
            return dict(json.loads(json.dumps(settings, allow_nan=False)))
        except (TypeError, ValueError) as error:
            raise SettingsError("", f"cannot be kept as JSON: {error}") from None

    def digests(self, job: Job) -> dict[str, str]:  # noqa: ARG002 (what is imported tells itself apart)
        """Nothing here decides the work."""
        return {}

    def missing(self, job: Job) -> MissingPrerequisite | None:  # noqa: ARG002 (never launched)
        """Always: there is nothing to launch."""
        return MissingPrerequisite("nothing launches an imported stack", INSTALL)

    def write_launch(self, trial: Trial, folder: Path) -> None:
        """There is no script: the importer writes what was imported."""

    def collect(self, trial: Trial, out: Path, run: Path) -> Observed:  # noqa: ARG002 (every import alike)
        """The traces, and the files that the benchmark's own metrics are read from."""
        found = [*command_output.keep_outputs(out, run), command_output.keep_traces(out / "traces", run)]
        problems = [each for each in found if each]
        return Observed(complete=not problems, detail="; ".join(problems) or None)

    def card(self, trial: Trial, run: Path) -> dict[str, Any]:
        """What the importer was told, labelled with its source."""
        told = json.loads((run / FILE).read_bytes())
        given = dict(told["card"])
        executor = {"framework": {"name": trial.stack_name, "settings": trial.settings}}
        source = {name: told[name] for name in told if name not in {"card", "files"}}
        source["files"] = [f"{each['name']} sha256:{each['sha256']}" for each in told["files"]]
        return {"Model-executor": executor, "metric_source": {"traces": ["json"]}, **given, imported.CARD: source}
