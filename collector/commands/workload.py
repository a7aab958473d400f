"""`stackproof workload`: workloads from what production already does."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

from collector import log_columns, traffic_log
from collector.prompt_sample import Sample
from ledger import traffic as traffic_file
from ledger.commands.group import Group
from ledger.durable import storage_errors
from ledger.errors import InputError
from ledger.plain_text import neutral
from ledger.secrets import Redactor
from ledger.traffic import Traffic

QUANTILES = (0.5, 0.9, 0.99)


@click.group("workload", cls=Group)
def command() -> None:
    """Make workloads from what production already does.

    \b
    Example:
      stackproof workload from-log gateway.jsonl
    """


@command.command("from-log")
@click.argument("log", type=click.Path(path_type=Path))
@click.option(
    "--output", type=click.Path(path_type=Path), metavar="FILE", help="Where to write it.  [traffic/LOG.json]"
)
@click.option("--columns", type=click.Path(path_type=Path), metavar="FILE", help="Which column is which (YAML).")
@click.option(
    "--limit", type=click.IntRange(2, 1_000_000), default=50_000, show_default=True, help="Requests kept: the last."
)
@click.option(
    "--prompts", type=click.IntRange(0, 1_000), default=50, show_default=True, help="Prompts sampled, redacted."
)
@click.option(
    "--prompt-length", type=click.IntRange(1, 20_000), default=500, show_default=True, help="Characters of each."
)
@click.option("--format", "output_format", type=click.Choice(["table", "json"]), default="table", help="What to print.")
def from_log(
    log: Path,
    output: Path | None,
    columns: Path | None,
    limit: int,
    prompts: int,
    prompt_length: int,
    output_format: str,
) -> None:
    """Write a traffic file from a server's or gateway's request LOG.

    LOG is JSON lines or CSV. Known layouts (OpenAI-compatible gateways, LiteLLM, vLLM, Azure's and Mooncake's traces)
    are recognised; for others say which column is which. The last requests are kept.

    \b
      time: created_at
      input_tokens: usage.prompt_tokens
      output_tokens: usage.completion_tokens
      prompt: request.messages        # optional: for prefix sharing and the sample
      keep: {status: [200]}           # optional: rows that count

    Prompts are only sampled: secrets, addresses and long numbers are taken out, then each is cut.

    \b
    Example:
      stackproof workload from-log gateway.jsonl --columns columns.yaml
    """
    target = output or Path("traffic") / f"{log.stem}.json"
    if target.exists():
        raise InputError("is there already", where=str(target), todo="name another file with --output, or remove it")
    sample = Sample(prompts, prompt_length, Redactor(os.environ))
    reading = traffic_log.read(log, log_columns.read(columns) if columns else None, limit, sample)
    with storage_errors(target):
        traffic_file.write(target, reading.traffic)
    summary = _summary(reading.traffic)
    if output_format == "json":
        click.echo(json.dumps({"file": str(target), **summary}, indent=2))
        return
    _print(target, reading.traffic, summary)


def _summary(traffic: Traffic) -> dict[str, Any]:
    gaps = np.diff(np.asarray(traffic.arrivals_s))
    return {
        "source": traffic.source,
        "requests": len(traffic.arrivals_s),
        "span_s": traffic.span_s,
        "requests_per_day": traffic.requests_per_day,
        "burstiness": _burstiness(gaps),
        "unit": traffic.unit,
        "input": _quantiles(traffic.input_lengths),
        "output": _quantiles(traffic.output_lengths),
        "shared_prefix": traffic.shared_prefix(),
        "prompts": len(traffic.prompts),
    }


def _burstiness(gaps: np.ndarray[Any, np.dtype[np.float64]]) -> float | None:
    """Shape of the gamma distribution with the gaps' mean and variance: 1 for a Poisson process, less for bursts."""
    variance = float(gaps.var())
    return float(gaps.mean()) ** 2 / variance if variance > 0 else None


def _quantiles(lengths: Sequence[int | None]) -> dict[str, float] | None:
    known = [each for each in lengths if each is not None]
    if not known:
        return None
    found = {f"p{100 * each:g}": float(np.quantile(known, each)) for each in QUANTILES}
    return {"mean": float(np.mean(known)), **found, "max": float(max(known)), "known": len(known)}


def _print(target: Path, traffic: Traffic, summary: dict[str, Any]) -> None:
    source = traffic.source
    click.echo(f"{neutral(source['log'])}: {source['layout']}, {source['rows']} rows, {source['used']} used")
    for why, count in source["left_out"].items():
        click.echo(f"  left out: {count} ({neutral(why)})")
    bursts = f", burstiness {summary['burstiness']:.2f} (1 is Poisson)" if summary["burstiness"] else ""
    click.echo(
        f"arrivals  {source['first']} to {source['last']}, {summary['requests_per_day'] / 86_400:.4g} a second{bursts}"
    )
    for name in ("input", "output"):
        found = summary[name]
        if found is None:
            click.echo(f"{name:<9} lengths are not in the log")
            continue
        numbers = ", ".join(f"{key} {found[key]:.0f}" for key in ("mean", "p50", "p90", "p99", "max"))
        click.echo(f"{name:<9} {traffic.unit if name == 'input' else 'tokens'}: {numbers}")
    shared = summary["shared_prefix"]
    told = "not known: neither prompts nor block ids were logged" if shared is None else f"{shared:.1%} of the input"
    click.echo(f"prefixes  shared with an earlier request: {told}")
    sampled = f"{len(traffic.prompts)} of its prompts, redacted: read them before you commit it"
    click.echo(f"wrote {target} ({sampled})" if traffic.prompts else f"wrote {target}")
    click.echo("In a benchmark file:")
    click.echo(f"  load: {{from_log: {{path: {target}, scale: 1.0}}, requests: 200, max_output_tokens: 256}}")
    click.echo(f"  envelope: {{demand: {{requests_per_day: {summary['requests_per_day']:.0f}}}}}")
