"""Which benchmark and which stacks a sentence is about: what could be meant otherwise is left alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ledger import benchmark as benchmark_file
from sitegen import prose
from sitegen.comparison.judge import judge_evidence
from sitegen.comparison.ranking import rank
from sitegen.prose import Tables
from tests.factory import BENCHMARK, benchmark_text
from tests.sitegen.comparison import made
from tests.sitegen.prose import known

THREE = {**BENCHMARK["stacks"], "third": {"adapter": "torch", "settings": {"threads": 3}}}


def with_third(seconds: float, **changes: Any) -> Tables:
    runs = known.runs(known.SLOW, known.FAST)
    runs += [known.with_memory(made.run("third", repeat, 20 + repeat, seconds)) for repeat in (1, 2, 3)]
    return known.tables_of(runs, stacks=THREE, **changes)


def two_benchmarks() -> Tables:
    """`tiny`, and `other`, in which the sides are exchanged."""
    first = known.tables_of(known.runs(known.SLOW, known.FAST))
    file = benchmark_file.parse(benchmark_text(name="other"), Path("other.yaml"))
    runs = [replace(run, workload_digest=file.benchmark.workload_digest) for run in known.runs(known.FAST, known.SLOW)]
    evidence = made.evidence(runs)
    verdict = judge_evidence(evidence, file, file.benchmark.comparisons[0])
    second = prose.tables([verdict], [rank(evidence, file)])
    return Tables({**first.benchmarks, **second.benchmarks})


def test_a_sentence_that_could_be_about_either_of_two_benchmarks_must_be_wrong_of_both() -> None:
    tables = two_benchmarks()
    assert known.findings("slow is faster than fast. fast is faster than slow.", tables) == []
    assert len(known.findings("slow is 80 % faster than fast.", tables)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "In tiny, {}",
        "Of the benchmark tiny it is said. {}",
        "# What tiny shows\n\nText.\n\n{}",
        "# Notes\n\nAs [the page](comparisons/tiny/slow-vs-fast.md) shows, {}",
        "[All stacks](benchmarks/tiny.md).\n\n## On\n\n{}",
    ],
)
def test_the_benchmark_that_the_text_names_or_links_nearest_is_meant(text: str) -> None:
    tables = two_benchmarks()
    assert known.findings(text.format("fast is faster than slow."), tables) == []
    assert len(known.findings(text.format("slow is faster than fast."), tables)) == 1
    other = text.replace("tiny", "other")
    assert known.findings(other.format("slow is faster than fast."), tables) == []
    assert len(known.findings(other.format("fast is faster than slow."), tables)) == 1


def test_each_section_has_the_benchmark_of_its_heading() -> None:
    text = "# tiny\n\nfast is faster than slow.\n\n# other\n\nfast is faster than slow.\n"
    (found,) = known.findings(text, two_benchmarks())
    assert found.startswith("7: ")


def test_the_most_is_the_most_of_all_stacks() -> None:
    quick, late = with_third(0.060), with_third(0.110)
    assert known.findings("third is the fastest. slow is the slowest.", quick) == []
    assert len(known.findings("fast is the fastest stack. third is the slowest.", quick)) == 2
    assert known.findings("fast is the fastest. third is the slowest. third has the highest peak memory.", late) == []
    assert len(known.findings("third is the fastest. slow is the slowest.", late)) == 2


def test_the_most_of_the_stacks_that_the_sentence_names_will_do() -> None:
    tables = with_third(0.060)
    assert known.findings("Fast and slow: fast is the fastest.", tables) == []
    assert len(known.findings("Fast and third: fast is the fastest.", tables)) == 1


def test_the_best_is_the_best_of_those_that_hold_the_envelope() -> None:
    tables = known.tables_of(known.runs(known.SLOW, known.FAST, fast_changes={"loss": 9.0}))
    assert known.findings("slow is the best. fast is the fastest.", tables) == []
    assert len(known.findings("fast is the best.", tables)) == 1


def test_stacks_without_a_declared_comparison_are_compared_by_their_means() -> None:
    tables = with_third(0.060)
    assert known.findings("third is 20 % faster than fast. third takes 17 % less time than fast.", tables) == []
    assert len(known.findings("third is slower than fast. third beats slow by 10 %. fast beats third.", tables)) == 3


def test_who_is_left_out_is_the_other_side_of_the_comparison_that_the_text_is_about() -> None:
    tables = with_third(0.060)
    assert known.findings("third is slower.", tables) == []
    linked = "[The comparison](comparisons/tiny/slow-vs-fast.md): {}"
    assert known.findings(linked.format("fast is 44 % faster."), tables) == []
    assert len(known.findings(linked.format("fast is slower."), tables)) == 1
    assert len(known.findings(linked.format("slow wins."), tables)) == 1


def test_a_stack_without_values_is_left_alone() -> None:
    tables = known.tables_of(known.runs(known.SLOW, known.FAST), stacks=THREE)
    text = "third is the fastest. third is faster than fast. step_time of third is 5 s. third is 5 % cheaper than slow."
    assert known.findings(text, tables) == []


def test_an_empty_workspace_contradicts_nothing() -> None:
    assert known.findings("fast is 25 % faster than slow, and step_time of fast is 1 s.", Tables({})) == []
