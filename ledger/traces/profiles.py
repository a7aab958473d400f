"""Profiles as JSON, so that a difference needs no trace to be read again."""

from __future__ import annotations

from typing import Any

from ledger.traces.breakdown import PARTS, Breakdown, Step
from ledger.traces.classes import CLASSES
from ledger.traces.difference import Key, Profile, Spent


def to_data(profile: Profile) -> dict[str, Any]:
    """What `ledger.traces.difference` asks of a profile, as plain JSON data: all steps of the trace as one window."""
    found = profile.breakdown
    return {
        "source": profile.source,
        "rank": found.rank,
        "has_device": found.has_device,
        "steps": found.step_count,
        "duration": found.duration,
        "parts": {name: found.part(name) for name in PARTS},
        "classes": {name: found.kind(name) for name in CLASSES},
        "spent": [[*key, *spent] for key, spent in profile.spent.items()],
    }


def of_data(data: dict[str, Any]) -> Profile:
    """From what `to_data` made. Steps, launches and operations of single steps are not in it."""
    window = (0, int(data["duration"]))
    count = int(data["steps"])
    step = Step(
        number=None,
        count=count,
        annotated=window,
        window=window,
        parts=dict(data["parts"]),
        classes=dict(data["classes"]),
        communication=0,
        launches=0,
        flops=None,
    )
    breakdown = Breakdown(data["rank"], None, bool(data["has_device"]), (step,) if count else (), (), ())
    spent = {Key(kind, operator, name): Spent(calls, time) for kind, operator, name, calls, time in data["spent"]}
    return Profile(str(data["source"]), breakdown, spent)
