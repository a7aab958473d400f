"""Tables made in memory: `fast` takes 72 ms a step and `slow` 104 ms, with peak memories of 2 GiB and 1 GiB."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sitegen import prose
from sitegen.comparison.evidence import Measured, TrialRun
from sitegen.comparison.judge import judge_evidence
from sitegen.comparison.ranking import rank
from sitegen.comparison.verdict import Verdict
from sitegen.prose import Tables
from tests.sitegen.comparison import made

SLOW = [0.1040, 0.1042, 0.1038, 0.1041, 0.1039]
FAST = [0.0720, 0.0722, 0.0718, 0.0721, 0.0719]
MEMORY = {"slow": 2.0**30, "fast": 2.0**31}


def runs(slow: list[float | None], fast: list[float | None], **changes: Any) -> list[TrialRun]:
    """Interleaved launches with a peak memory."""
    return [with_memory(run) for run in made.interleaved(slow, fast, **changes)]


def verdict_of(known: list[TrialRun], **changes: Any) -> Verdict:
    file = made.declared(**changes)
    return judge_evidence(made.evidence(known), file, file.benchmark.comparisons[0])


def tables_of(known: list[TrialRun], **changes: Any) -> Tables:
    """All tables of the benchmark that these launches were made for."""
    file = made.declared(**changes)
    evidence = made.evidence(known)
    verdicts = [judge_evidence(evidence, file, comparison) for comparison in file.benchmark.comparisons]
    return prose.tables(verdicts, [rank(evidence, file)])


def findings(text: str, tables: Tables) -> list[str]:
    """`LINE: what` of every contradiction."""
    return [f"{found.line}: {found.what}" for found in prose.check_page(text, tables)]


def with_memory(run: TrialRun) -> TrialRun:
    """The launch with a peak memory: that of its stack."""
    memory = Measured("peak_memory", "peak_memory@1", 1, "B", None, MEMORY.get(run.stack, 3.0 * 2**30), None)
    return replace(run, measured=(*run.measured, memory))
