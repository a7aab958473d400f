"""The `llamacpp` adapter: llama.cpp's server, as the package xllamacpp brings it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import Field

from collector.stacks import launch_files
from collector.stacks.interface import Job, Trial
from collector.stacks.serving import OWN_ENVIRONMENT, ServingAdapter, ServingSettings
from ledger.workloads.fields import Whole

MAGIC = b"GGUF"


class LlamaCppSettings(ServingSettings):
    """What a stack may set."""

    context: Annotated[Whole, Field(ge=1, le=10_000_000)] | None = None
    """Tokens of context of all slots together; the model's own where not set."""
    parallel: Annotated[Whole, Field(ge=1, le=1024)] = 1
    """Slots: requests that are worked on at once."""
    batch: Annotated[Whole, Field(ge=1, le=1_000_000)] | None = None
    """Tokens of prompt in one step."""


class LlamaCppAdapter(ServingAdapter):
    """A GGUF file on llama.cpp."""

    name: ClassVar[str] = "llamacpp"
    requires: ClassVar[tuple[str, ...]] = ("xllamacpp",)
    install: ClassVar[str | None] = OWN_ENVIRONMENT
    settings_model: ClassVar[type[ServingSettings]] = LlamaCppSettings
    scripts: ClassVar[tuple[str, ...]] = ("llama_server.py",)

    def model_path(self, job: Job) -> Path:
        """The GGUF file: the one that is named, or the only one of a folder."""
        path = super().model_path(job)
        found = sorted(path.glob("*.gguf")) if path.is_dir() else []
        return found[0] if len(found) == 1 else path

    def model_problem(self, path: Path) -> str | None:
        """Whether it is a GGUF file."""
        if not path.exists():
            return f"no such model {path.name}: {path} is not there"
        if path.is_dir():
            return f"{path} holds {len(list(path.glob('*.gguf')))} GGUF files, and one is wanted: name it"
        with path.open("rb") as file:
            return None if file.read(4) == MAGIC else f"{path} is no GGUF file"

    def server(self, trial: Trial) -> dict[str, Any]:
        """llama_server.py with its settings."""
        settings = trial.settings
        wanted = {
            "model": launch_files.placed(trial, self.model_path(trial)),
            "port": "{port}",
            "alias": self.model_name(trial),
            **{name: settings[name] for name in ("context", "parallel", "threads", "batch")},
        }
        words = json.dumps(wanted).replace('"{port}"', "{port}")
        return {"command": ["{python}", "{here}/llama_server.py", words]}
