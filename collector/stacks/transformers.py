"""The `transformers` adapter: `transformers serve`."""

from __future__ import annotations

from typing import Any, ClassVar

from collector.stacks import launch_files
from collector.stacks.interface import Job, Trial
from collector.stacks.serving import OWN_ENVIRONMENT, ServingAdapter, ServingSettings


class TransformersSettings(ServingSettings):
    """What a stack may set."""

    device: str = "cpu"
    """As `transformers serve --device` takes it."""
    continuous_batching: bool = False
    attention: str | None = None
    """`sdpa`, `eager`, …; the model's own choice where not set."""


class TransformersAdapter(ServingAdapter):
    """A folder in Hugging Face's layout, served by transformers itself."""

    name: ClassVar[str] = "transformers"
    requires: ClassVar[tuple[str, ...]] = ("transformers", "torch")
    install: ClassVar[str | None] = OWN_ENVIRONMENT
    settings_model: ClassVar[type[ServingSettings]] = TransformersSettings
    metrics_path: ClassVar[str | None] = None

    def request_name(self, job: Job) -> str:
        """The server knows its model by its path alone."""
        return launch_files.placed(job, self.model_path(job))

    def server(self, trial: Trial) -> dict[str, Any]:
        """The command, offline and with its threads."""
        settings = trial.settings
        batching = "--continuous-batching" if settings["continuous_batching"] else "--no-continuous-batching"
        attention = ["--attn-implementation", settings["attention"]] if settings["attention"] else []
        model = launch_files.placed(trial, self.model_path(trial))
        words = ["--device", settings["device"], "--dtype", settings["precision"], "--host", "127.0.0.1"]
        threads = {"OMP_NUM_THREADS": str(settings["threads"])} if settings["threads"] else {}
        return {
            "command": [
                "{bin}/transformers", "serve", model, *words, "--port", "{port}", batching, *attention,
                *settings["arguments"],
            ],
            "variables": {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "DO_NOT_TRACK": "1", **threads},
        }  # fmt: skip
