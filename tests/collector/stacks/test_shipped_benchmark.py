"""The benchmarks that ship, and their short forms."""

from pathlib import Path

import pytest

import collector
from collector.stacks.registry import ADAPTERS
from ledger import benchmark

BENCHMARKS = Path(collector.__file__).parent / "benchmarks"
PATH = BENCHMARKS / "cpu-training.yaml"


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


@pytest.mark.parametrize("profile", [None, "demo"])
def test_frameworks_do_equal_work_and_differ_only_in_who_does_it(profile):
    declared = benchmark.read(BENCHMARKS / "cpu-frameworks.yaml", profile).benchmark
    resolved = {
        name: ADAPTERS[stack.adapter].resolve(stack.settings, declared) for name, stack in declared.stacks.items()
    }
    held = ("data_parallel", "micro_batch_size", "threads", "attention", "activation_checkpointing", "device")
    assert {tuple(found[name] for name in held) for found in resolved.values()} == {(2, 8, 1, "sdpa", False, "cpu")}
    assert {found["optimizer"] for found in resolved.values() if "optimizer" in found} == {"adamw"}
    split = {name: found.get("data_parallel_mode", found.get("zero_stage")) for name, found in resolved.items()}
    assert split == {"ddp": "ddp", "fsdp2": "fsdp2", "zero-1": 1, "zero-2": 2, "zero-3": 3}
