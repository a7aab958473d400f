"""One thing that is wrong with the evidence, as verification and review report it."""

from __future__ import annotations

from dataclasses import dataclass

from ledger.plain_text import neutral


@dataclass(frozen=True)
class Finding:
    """What is wrong, where, and what to do."""

    code: str
    """Stable: `changed`, `missing`, `extra`, …"""
    place: str
    """The run's name, `<benchmark>/<date>/<stack>-<id>`, or another path below the evidence folder."""
    file: str | None
    """The path inside of the run; None when the place itself is meant."""
    what: str
    todo: str

    @property
    def path(self) -> str:
        """The path below the evidence folder."""
        return f"{self.place}/{self.file}" if self.file else self.place

    def line(self) -> str:
        """The finding as one line, safe to print."""
        parts = [self.place, self.file, f"{self.what}; {self.todo}"]
        return neutral(": ".join(part for part in parts if part))

    def to_json(self) -> dict[str, str | None]:
        """Plain JSON data."""
        return {
            "code": self.code,
            "place": neutral(self.place),
            "file": None if self.file is None else neutral(self.file),
            "what": neutral(self.what),
            "todo": neutral(self.todo),
        }
