"""What this machine can run: hardware, packages of each adapter, tools that commands start; and what adds the rest."""

from __future__ import annotations

import importlib.metadata
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from collector import environment
from collector.stacks.interface import Adapter
from collector.stacks.registry import ADAPTERS


@dataclass(frozen=True)
class Finding:
    """One thing that a machine has, or lacks."""

    name: str
    there: bool
    what: str
    """Versions of what is there, or what is lacking."""
    what_for: str
    install: str | None = None
    """The command, or the step, that adds it."""


@dataclass(frozen=True)
class Tool:
    """A program that some commands start."""

    name: str
    what_for: str
    install: str


TOOLS = (
    Tool("git", "init, collect, review: evidence lives in a repository", "sudo apt-get install git"),
    Tool("g++", "torch.compile and DeepSpeed build their extensions with it", "sudo apt-get install g++"),
    Tool("diff", "tasks: shows what a harness changed", "sudo apt-get install diffutils"),
    Tool("nvidia-smi", "the driver of NVIDIA devices", "install the driver from NVIDIA"),
    Tool("chromium", "make test-browser, in stackproof's own repository", "sudo apt-get install chromium"),
    Tool("strace", "make test-faults, in stackproof's own repository", "sudo apt-get install strace"),
)


@dataclass(frozen=True)
class Report:
    """Everything that `stackproof doctor` says."""

    hardware: dict[str, Any]
    """`hardware` of environment.json."""
    toolkits: dict[str, str]
    absent: dict[str, str]
    adapters: tuple[Finding, ...]
    tools: tuple[Finding, ...]


def examine() -> Report:
    """Look at this machine; nothing is started."""
    found = environment.environment((), Path())
    adapters = tuple(_adapter(each) for each in ADAPTERS.values())
    return Report(
        found["hardware"], found["toolkits"], dict(found["absent"]), adapters, tuple(_tool(each) for each in TOOLS)
    )


def _adapter(adapter: Adapter) -> Finding:
    """Whether an adapter's packages are beside stackproof; a stack with its own environment needs none of them."""
    kinds = f"workloads: {', '.join(sorted(adapter.workload_kinds))}"
    versions = {name: _version(name) for name in adapter.requires}
    lacking = [name for name, version in versions.items() if version is None]
    if not adapter.requires:
        return Finding(adapter.name, True, "needs nothing of its own", kinds)
    if not lacking or (adapter.any_of_requires and len(lacking) < len(versions)):
        return Finding(adapter.name, True, _listed(versions), kinds)
    return Finding(adapter.name, False, f"{' and '.join(lacking)} not installed here", kinds, adapter.install)


def _listed(versions: dict[str, str | None]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items() if version is not None)


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _tool(tool: Tool) -> Finding:
    path = shutil.which(tool.name)
    if path is not None:
        return Finding(tool.name, True, path, tool.what_for)
    return Finding(tool.name, False, "not installed", tool.what_for, tool.install)
