"""What a kernel or operator is, by its name: the pattern table `kernel_classes.yaml`."""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import yaml

TABLE = Path(__file__).with_name("kernel_classes.yaml")

CLASSES = (
    "gemm", "attention", "moe", "norm", "embedding", "optimizer", "quantization", "reduction", "elementwise", "other",
)  # fmt: skip
"""Classes of compute. Where two run at once, the time goes to the one that stands first."""

_AUTOGRAD = re.compile(r"^autograd::engine::evaluate_function: ")


class Role(enum.StrEnum):
    """Names that are not compute, or that mark what stands below them."""

    STEP = "step"
    ITERATION = "iteration"
    OPTIMIZER = "optimizer"
    INPUT_WAIT = "input_wait"
    COMMUNICATION = "communication"


@dataclass(frozen=True)
class ClassTable:
    """The compiled table. Answers are remembered: a trace has many events and few names."""

    roles: tuple[tuple[Role, re.Pattern[str]], ...]
    inherit: re.Pattern[str]
    rules: tuple[tuple[str, re.Pattern[str]], ...]
    _roles: dict[str, Role | None] = field(default_factory=dict, compare=False, repr=False)
    _classes: dict[str, str | None] = field(default_factory=dict, compare=False, repr=False)

    def role(self, name: str) -> Role | None:
        """The role of a name, or None when it is plain work."""
        if name not in self._roles:
            self._roles[name] = next((role for role, pattern in self.roles if pattern.search(name)), None)
        return self._roles[name]

    def class_of(self, name: str) -> str | None:
        """The class of a kernel or operator; None for bookkeeping, which takes the class of its caller."""
        if name not in self._classes:
            self._classes[name] = self._find(_AUTOGRAD.sub("", name))
        return self._classes[name]

    def _find(self, name: str) -> str | None:
        if self.inherit.search(name):
            return None
        return next((kind for kind, pattern in self.rules if pattern.search(name)), "other")


@cache
def table() -> ClassTable:
    """The table that ships with stackproof."""
    data = yaml.load(TABLE.read_text(encoding="utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506
    rules = tuple((rule["class"], _any(rule["patterns"])) for rule in data["classes"])
    unknown = {kind for kind, _ in rules} - set(CLASSES)
    if unknown:
        raise ValueError(f"{TABLE.name} names classes that do not exist: {', '.join(sorted(unknown))}")
    return ClassTable(
        roles=tuple((Role(role), _any(patterns)) for role, patterns in data["roles"].items()),
        inherit=_any(data["inherit"]),
        rules=rules,
    )


def _any(patterns: list[str]) -> re.Pattern[str]:
    """One expression for any of the patterns; a leading (?i) holds for its own pattern only."""
    return re.compile("|".join(f"(?i:{each[4:]})" if each.startswith("(?i)") else f"(?:{each})" for each in patterns))
