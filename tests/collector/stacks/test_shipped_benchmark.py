"""The benchmark that ships, and its short form."""

from pathlib import Path

import pytest

import collector
from collector.stacks.registry import ADAPTERS
from ledger import benchmark

PATH = Path(collector.__file__).parent / "benchmarks/cpu-training.yaml"


@pytest.mark.parametrize("profile", [None, "demo"])
def test_every_stack_resolves_and_differs_from_the_baseline_as_described(profile):
    declared = benchmark.read(PATH, profile).benchmark
    resolved = {name: ADAPTERS["torch"].resolve(stack.settings, declared) for name, stack in declared.stacks.items()}
    base = resolved["eager"]
    changed = {name: {key for key in base if found[key] != base[key]} for name, found in resolved.items()}
    expected = {
        "eager": set(),
        "compile": {"compile", "compile_mode"},
        "eager-two-threads": {"threads"},
        "eager-large-batch": {"micro_batch_size"},
    }
    if profile is None:
        expected |= {"eager-again": set(), "eager-math-attention": {"attention"}}
    assert changed == expected


def test_short_form_asks_less_and_accepts_what_it_can_reach():
    whole, short = benchmark.read(PATH).benchmark, benchmark.read(PATH, "demo").benchmark
    assert short.workload.steps < whole.workload.steps
    assert short.workload.acceptance.rule.bound == short.envelope.limits["evaluation_loss"].bound == 4
    assert short.repeats.initial == 3
