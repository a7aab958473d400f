"""From a stack in a benchmark file to a job that its adapter has checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from collector.stacks.interface import Adapter, Job, SettingsError, WorkloadError
from collector.stacks.registry import ADAPTERS
from ledger.benchmark import BenchmarkFile
from ledger.errors import InputError
from ledger.suggestion import nearest


def make_job(file: BenchmarkFile, name: str, workspace: Path) -> Job:
    """The stack `name` with its settings resolved and its work looked at. Raises InputError: file, line and key."""
    adapter = adapter_of(file, name)
    try:
        settings = _resolve(file, name, adapter)
        job = Job(file.benchmark, name, settings, workspace, beside=file.source.path.resolve().parent)
        adapter.check(job)
    except SettingsError as error:
        todo = None if error.key in {"", *error.known} else nearest(error.key, error.known)
        at = ("stacks", name, "settings", *([error.key] if error.key else []))
        raise file.error(at, error.what, todo) from None
    except WorkloadError as error:
        raise file.error(("workload", *error.location), error.what, error.todo) from None
    return job


def adapter_of(file: BenchmarkFile, name: str) -> Adapter:
    """The adapter of a stack, which can run the file's kind of workload. Raises InputError."""
    stack, kind = file.benchmark.stacks[name], file.benchmark.workload.kind
    adapter = ADAPTERS.get(stack.adapter)
    if adapter is None:
        fitting = [each.name for each in ADAPTERS.values() if kind in each.workload_kinds]
        raise _error(file, name, f"unknown adapter {stack.adapter!r}", nearest(stack.adapter, fitting))
    if kind not in adapter.workload_kinds:
        raise _error(file, name, f"the adapter {stack.adapter!r} cannot run a {kind!r} workload")
    return adapter


def _resolve(file: BenchmarkFile, name: str, adapter: Adapter) -> dict[str, Any]:
    return adapter.resolve(dict(file.benchmark.stacks[name].settings), file.benchmark)


def _error(file: BenchmarkFile, name: str, what: str, todo: str | None = None) -> InputError:
    return file.error(("stacks", name, "adapter"), what, todo)
