"""Runs of serving and of tasks with planted numbers, for tests that launch nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests import factory

PRICE = factory.PRICE
SERVE: dict[str, Any] = {
    "kind": "serve",
    "model": {"path": "models/tiny"},
    "dataset": {"path": "datasets/questions.jsonl"},
    "load": {"arrivals": {"rate": 10.0}, "requests": 200, "max_output_tokens": 16},
    "acceptance": {"kind": "contains_any", "field": "answers"},
}
TASKS: dict[str, Any] = {"kind": "tasks", "suite": {"path": "suites/tiny"}}


def benchmark(workload: dict[str, Any], limits: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
    """Keys of a benchmark file of two priced stacks, `slow` and `fast`."""
    adapter = "openai" if workload["kind"] == "serve" else workload["kind"]
    return {
        "workload": workload,
        "stacks": {name: {"adapter": adapter, "settings": {}, "price": PRICE} for name in ("slow", "fast")},
        "envelope": {"limits": limits or {}, "objective": {"minimise": "cost_per_accepted_result"}},
        **more,
    }


def request(number: int, **changes: Any) -> dict[str, Any]:
    """A request that was due each 100 ms, answered with 5 tokens: the first after 50 ms, then one each 10 ms."""
    due = number * 100_000_000
    return {
        "request": number,
        "item": f"q{number}",
        "attempt": 1,
        "phase": "measured",
        "level": 10.0,
        "scheduled_ns": due,
        "sent_ns": due + 1_000_000,
        "first_token_ns": due + 50_000_000,
        "ended_ns": due + 90_000_000,
        "chunk_gaps_ns": [10_000_000] * 4,
        "one_token_a_chunk": True,
        "input_tokens": 20,
        "output_tokens": 5,
        "text": "Paris",
        "accepted": True,
        **changes,
    }


def failed(number: int, error: str = "HTTP 500") -> dict[str, Any]:
    """A request that got no answer."""
    nothing = dict.fromkeys(("first_token_ns", "chunk_gaps_ns", "one_token_a_chunk", "output_tokens", "text"))
    return request(number, **nothing, error=error, accepted=False, why=error)


def attempt(item: str, seconds: float, accepted: bool | None, number: int = 0, **changes: Any) -> dict[str, Any]:
    """An attempt at a task."""
    return {
        "request": number,
        "item": item,
        "attempt": 1,
        "phase": "measured",
        "sent_ns": 0,
        "ended_ns": round(seconds * 1e9),
        "accepted": accepted,
        "text": "",
        **changes,
    }


def make_run(
    evidence: Path, rows: list[dict[str, Any]], keys: dict[str, Any], stack: str = "slow", **more: Any
) -> Path:
    """Seal a run of these requests."""
    return factory.make_run(evidence, stack, requests=rows, summary=more.pop("summary", {}), changes=keys, **more)
