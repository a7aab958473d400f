"""`stackproof doctor`: what this machine can run, and what adds the rest."""

from __future__ import annotations

import json
import textwrap
from dataclasses import asdict

import click

from collector import doctor
from collector.doctor import Finding, Report
from ledger.plain_text import neutral

HELP = """Tell what this machine can run: devices, frameworks, servers, tools; and the command that adds the rest.

What is not installed beside stackproof can still be launched by a stack that names a requirements file of its own
(`environment: {requirements: FILE}`). Nothing is started and nothing is changed.

\b
Example:
  stackproof doctor
  stackproof doctor --format json
"""
WIDTH = 80
INDENT = " " * 16


@click.command("doctor", help=HELP, short_help="Tell what this machine can run.")
@click.option("--format", "output_format", type=click.Choice(["text", "json"]), default="text", help="What to print.")
def command(output_format: str) -> None:
    """Look, and print."""
    report = doctor.examine()
    if output_format == "json":
        click.echo(json.dumps(asdict(report), indent=1, sort_keys=True))
    else:
        for line in _lines(report):
            click.echo(neutral(line))


def _lines(report: Report) -> list[str]:
    hardware = report.hardware
    devices = [str(device.get("name")) for device in hardware.get("devices") or ()]
    memory = hardware.get("memory_bytes")
    lines = ["This machine"]
    lines += _row("CPU", f"{hardware.get('cpu_model') or 'unknown'}, {hardware.get('cores') or '?'} cores")
    lines += _row("memory", f"{memory / 2**30:.1f} GiB" if memory else "unknown")
    lines += _row("devices", ", ".join(devices) or f"none: {report.absent.get('devices', 'none found')}")
    links = [
        f"{one}-{two} {link}" for one, others in hardware.get("topology", {}).items() for two, link in others.items()
    ]
    driver = [f"{name} {version}" for name, version in hardware.get("driver", {}).items()]
    toolkits = [f"{name} {version}" for name, version in report.toolkits.items()]
    for name, known in (("driver", driver), ("links", links), ("toolkits", toolkits)):
        if known:
            lines += _row(name, ", ".join(known))
    for title, findings in (("Stacks", report.adapters), ("Tools", report.tools)):
        lines += ["", title]
        for each in findings:
            lines += _finding(each)
    return lines


def _finding(found: Finding) -> list[str]:
    lines = _row(found.name, f"{'yes' if found.there else 'no '}  {found.what}")
    lines += _row("", found.what_for, deeper=True)
    if found.install:
        lines += _row("", f"to add it: {found.install}", deeper=True)
    return lines


def _row(name: str, text: str, *, deeper: bool = False) -> list[str]:
    """`  name          text`, wrapped below itself."""
    first = f"  {name}".ljust(len(INDENT)) + ("     " if deeper else "")
    rest = INDENT + "     "
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)
