"""The `openai` adapter: a server that is running already, anywhere."""

from __future__ import annotations

from typing import Annotated, ClassVar
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from collector.stacks import launch_files
from collector.stacks.interface import Job, MissingPrerequisite, Trial
from collector.stacks.serving import ServingAdapter, ServingSettings
from ledger import quantity
from ledger.canonical import digest
from ledger.workloads.serve import ServeWorkload


def _an_address(text: str) -> str:
    found = urlsplit(text)
    if found.scheme not in {"http", "https"} or not found.hostname or found.query or found.username:
        raise ValueError(f"must be an address such as http://127.0.0.1:8000/v1, got {quantity.shown(text)}")
    return text.rstrip("/")


class OpenAISettings(ServingSettings):
    """What a stack may set."""

    address: Annotated[str, AfterValidator(_an_address)]
    """Up to and with `/v1`."""
    model_name: str | None = None
    """What the service calls the model; the workload's name of it where not set."""
    key_variable: str | None = Field(default=None, pattern=r"^[A-Z_][A-Z0-9_]*$")
    """The environment variable that holds the key; it is never recorded."""
    hardware: str | None = None
    """What serves it, as far as that is known."""


class OpenAIAdapter(ServingAdapter):
    """An address that answers as OpenAI's does. Nothing is started, so nothing is known of what is behind it."""

    name: ClassVar[str] = "openai"
    requires: ClassVar[tuple[str, ...]] = ()
    settings_model: ClassVar[type[ServingSettings]] = OpenAISettings
    metrics_path: ClassVar[str | None] = "/metrics"

    def check_model(self, job: Job) -> None:
        """The model is the service's own."""

    def model_digest(self, job: Job) -> str:
        """Its name is all that is known of it."""
        return digest({"address": job.settings["address"], "model": self.model_name(job)})

    def weights(self, job: Job) -> None:
        """Nothing is known of them."""

    def model_name(self, job: Job) -> str:
        """As the service calls it."""
        model = job.benchmark.work(ServeWorkload).model
        return str(job.settings["model_name"] or model.name or model.path)

    def secrets(self, job: Job) -> tuple[str, ...]:
        """The variable that holds the service's key."""
        named = job.settings["key_variable"]
        return (named,) if named else ()

    def missing(self, job: Job) -> MissingPrerequisite | None:
        """The service's key, where one is named."""
        return launch_files.missing_variable(self.secrets(job))

    def server(self, trial: Trial) -> None:
        """It is running."""
