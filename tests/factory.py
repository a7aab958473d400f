"""Small run folders with known numbers, sealed by the real code, for tests that launch nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from ledger import benchmark as benchmark_file
from ledger import parquet
from ledger.canonical import short_digest
from ledger.metrics import derive
from ledger.metrics.tables import Launch
from ledger.run import BenchmarkOrigin, Outcome, Reason, Role, Run, State, trial_key
from ledger.seal import seal

PRICE = {"amount": 0.1, "currency": "USD", "per": "node_hour", "source": "list price", "as_of": "2026-11-01"}
BENCHMARK: dict[str, Any] = {
    "name": "tiny",
    "question": "Which of two stacks trains the tiny model faster?",
    "workload": {
        "kind": "train",
        "model": {
            "name": "tiny-llama",
            "architecture": "llama",
            "config": {"layers": 1, "hidden_size": 16, "heads": 2, "intermediate_size": 32, "vocabulary_size": 64},
        },
        "dataset": {"synthetic": "markov", "seed": 1, "tokens": 2000, "branching": 2},
        "steps": 10,
        "warmup_steps": 2,
        "profiled_steps": 2,
        "global_batch_size": 2,
        "sequence_length": 16,
        "seeds": [1, 2, 3],
        "optimizer": {"learning_rate": 0.01},
        "acceptance": {"kind": "threshold", "field": "evaluation_loss", "rule": "<= 3.0"},
    },
    "stacks": {
        "slow": {
            "adapter": "torch",
            "settings": {"threads": 1},
            "price": {
                "amount": 0.1,
                "currency": "USD",
                "per": "node_hour",
                "source": "list price",
                "as_of": "2026-11-01",
            },
        },
        "fast": {"adapter": "torch", "settings": {"threads": 2}},
    },
    "envelope": {"limits": {"evaluation_loss": "<= 3.0"}, "objective": {"minimise": "step_time"}},
    "comparisons": [{"baseline": "slow", "candidate": "fast", "threshold": "5%"}],
    "repeats": {"initial": 3, "max": 5, "profiled": 1},
}
"""A benchmark file as data; tests change copies of it."""


def benchmark_text(**changes: Any) -> str:
    """BENCHMARK as YAML text, with top-level keys replaced."""
    return yaml.safe_dump({**BENCHMARK, **changes}, sort_keys=False)


def write_benchmark(folder: Path, **changes: Any) -> Path:
    """Write BENCHMARK as `<folder>/<name>.yaml`."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{changes.get('name', BENCHMARK['name'])}.yaml"
    path.write_text(benchmark_text(**changes))
    return path


def make_run(
    evidence: Path,
    stack: str = "slow",
    *,
    role: str = "timed",
    repeat: int = 1,
    step_time: float = 0.1,
    loss: float = 2.5,
    order: int = 1,
    started: str = "2026-11-30T12:00:00.000000Z",
    failed: Reason | None = None,
    trace: bytes | None = None,
    changes: dict[str, Any] | None = None,
    card: dict[str, Any] | None = None,
    environment: dict[str, Any] | None = None,
    requests: list[dict[str, Any]] | None = None,
    summary: dict[str, Any] | None = None,
    **fields: Any,
) -> Path:
    """Seal one run folder and return it.

    `step_time` is every measured step's time in seconds; `changes` replaces keys of the benchmark file; `card` and
    `environment` replace top-level keys there; `trace` is the content of traces/rank-0.json.gz; `requests` are rows of
    samples/requests.parquet in place of steps, and `summary` is samples/summary.json; other keywords replace fields of
    `Run`.
    """
    text = benchmark_text(**(changes or {}))
    benchmark = benchmark_file.parse(text, Path("benchmark.yaml")).benchmark
    settings = dict(benchmark.stacks[stack].settings)
    key = trial_key(
        benchmark=benchmark.name,
        workload=benchmark.workload.model_dump(mode="json"),
        digests={"model": "m", "dataset": "d", "adapter": "a"},
        stack=stack,
        settings=settings,
        environment_digest="e" * 64,
        role=role,
        repeat=repeat,
    )
    outcome = Outcome(State.COMPLETED, exit_code=0)
    if failed:
        outcome = Outcome(State.FAILED, failed, detail="it went wrong", exit_code=1, last_log_lines=("boom",))
    run = Run(
        benchmark=BenchmarkOrigin(benchmark.name),
        stack=stack,
        adapter="torch",
        settings=settings,
        role=Role(role),
        repeat=repeat,
        attempt=1,
        trial_key=key,
        workload_digest=benchmark.workload_digest,
        environment_digest="e" * 64,
        batch="b" * 16,
        launch_order=order,
        started_at=started,
        ended_at=started[:17] + "59.000000Z",
        host="testhost",
        outcome=outcome,
        accepted=None if failed else loss <= 3.0,
        absent={"power": "no power sensor on this host"},
    )
    run = replace(run, **fields)
    prepared = evidence / ".incoming" / f"{stack}-{role}-{repeat}-{short_digest(run.to_json())}"
    samples = _steps(run, step_time, loss) if requests is None else requests
    told = {"evaluation_loss": loss, "peak_memory_bytes": 200_000_000} if summary is None else summary
    _fill(prepared, text, run, samples, told, trace, card or {}, environment or {})
    return seal(prepared, evidence, run)


def _fill(
    folder: Path,
    text: str,
    run: Run,
    samples: list[dict[str, Any]],
    summary: dict[str, Any],
    trace: bytes | None,
    card: dict[str, Any],
    environment: dict[str, Any],
) -> None:
    for name in ("launch", "logs", "samples", "traces"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "benchmark.yaml").write_text(text)
    (folder / "launch/run.sh").write_text("#!/bin/sh\nexec true\n")
    (folder / "logs/stdout.log").write_text("step 1\n")
    (folder / "logs/stderr.log").write_text("boom\n" if run.outcome.reason else "")
    (folder / "card.yaml").write_text(yaml.safe_dump({**_card(run), **card}, sort_keys=False))
    (folder / "environment.json").write_text(json.dumps({**_environment(), **environment}, indent=1, sort_keys=True))
    if run.outcome.state is State.COMPLETED:
        name, schema = ("requests", parquet.REQUESTS) if "item" in samples[0] else ("steps", parquet.STEPS)
        parquet.write(folder / f"samples/{name}.parquet", samples, schema)
        (folder / "samples/summary.json").write_text(json.dumps(summary))
    if trace is not None:
        (folder / "traces/rank-0.json.gz").write_bytes(trace)
    derive.write(folder, derive.derive(folder, launch=Launch(run.stack, run.benchmark.profile)))
    (folder / "run.json").write_text(json.dumps(run.to_json(), indent=1, sort_keys=True) + "\n")


def _steps(run: Run, step_time: float, loss: float) -> list[dict[str, object]]:
    step_ns = round(step_time * 1e9)
    phases = ["warmup"] * 2 + ["measured" if run.role is Role.TIMED else "profiled"] * 8
    return [
        {
            "step": number,
            "phase": phase,
            "start_ns": number * step_ns,
            "duration_ns": step_ns * (3 if number == 0 else 1),
            "samples": 2,
            "tokens": 32,
            "loss": loss + 1 - number / 10,
        }
        for number, phase in enumerate(phases)
    ]


def _card(run: Run) -> dict[str, Any]:
    return {
        "version": 1,
        "description": "tiny, made by a test",
        "workload": {
            "model": {"phase": "training", "model_family": "tiny-llama", "precision": "float32", "digest": "m"},
            "data": {"batch_size": 2, "seq_len": 16, "dataset": "markov", "dataset_digest": "d"},
            "work_per_step": {"samples": 2, "tokens": 32},
            "acceptance": {"kind": "threshold", "field": "evaluation_loss", "rule": "<= 3"},
            "hardware": {"xpu_spec": {"type": "CPU", "model": "test cpu", "total_count": 1, "count_per_node": 1}},
        },
        "Model-executor": {"framework": {"name": "torch", "version": "2.13.0", "settings": run.settings}},
        "metric_source": {"traces": ["json"]},
    }


def _environment() -> dict[str, Any]:
    return {
        "python": "3.11.7",
        "packages": {"torch": "2.13.0"},
        "hardware": {"cpu_model": "test cpu", "cores": 2, "memory_bytes": 8 * 2**30, "devices": []},
        "host": "testhost",
    }
