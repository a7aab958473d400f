"""A benchmark file is refused, in one line that names the key, before anything is launched by it."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from ledger import benchmark
from ledger.errors import InputError
from tests.factory import BENCHMARK

INFINITE = float("inf")


def parse(key: str, value: Any) -> benchmark.Benchmark:
    """The factory's file with the value at one dotted key replaced."""
    data = deepcopy(BENCHMARK)
    *above, last = key.split(".")
    here: Any = data
    for part in above:
        here = here[int(part)] if isinstance(here, list) else here.setdefault(part, {})
    here[last] = value
    return benchmark.parse(yaml.safe_dump(data), Path("tiny.yaml")).benchmark


def refusal(key: str, value: Any) -> str:
    with pytest.raises(InputError) as caught:
        parse(key, value)
    said = caught.value.diagnostics()
    assert said.startswith("tiny.yaml:")
    assert "\n" not in said
    assert not any(jargon in said.lower() for jargon in ("should be", "instance of", "dictionary", "^[", "pydantic"))
    return said


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        *[("timeout", each, "timeout: must be a duration") for each in ([], {}, None, True, INFINITE, 10**400)],
        ("timeout", "1e99 min", "at most 30 days"),
        ("timeout", 0, "more than 0 s"),
        *[("comparisons.0.threshold", each, "must be a share such as '5%'") for each in ([], None)],
        *[("stacks.slow.memory_limit", each, "must be a size such as '2 GiB'") for each in ([], {}, INFINITE)],
        ("stacks.slow.memory_limit", "1 B", "must be from 1 MiB"),
        ("workload.optimizer.learning_rate", INFINITE, "must be a number, and finite, got inf"),
        ("workload.optimizer.learning_rate", True, "must be a number, got true"),
        ("stacks.slow.price.amount", INFINITE, "must be a number, and finite, got inf"),
    ],
)
def test_quantities(key: str, value: Any, said: str) -> None:
    assert said in refusal(key, value)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (["msccl"], "stacks.fast.observe.0: no library 'msccl' is known by names in traces; did you mean 'mscclpp'?"),
        (["nccl", "flash_atention"], "stacks.fast.observe.1: no library 'flash_atention' is known"),
        (["zzzz"], "known: nccl, "),
        (["nccl", "nccl"], "nccl"),
        ("nccl", "must be a list"),
        ([1], "must be text"),
    ],
)
def test_what_is_to_be_observed_is_a_library_that_names_tell(value: Any, said: str) -> None:
    assert said in refusal("stacks.fast.observe", value)


def test_what_is_to_be_observed_changes_no_work() -> None:
    with_it = parse("stacks.fast.observe", ["mscclpp", "flash_attention"])
    assert with_it.stacks["fast"].observe == ("mscclpp", "flash_attention")
    assert with_it.workload_digest == parse("timeout", 60).workload_digest


def test_a_field_is_not_both_compared_and_held() -> None:
    both = {"intended": ["setting.threads", "setting.mode"], "held": ["setting.mode"]}
    said = refusal("comparisons", [{**BENCHMARK["comparisons"][0], **both}])
    assert "setting.mode cannot be both intended and held" in said


@pytest.mark.parametrize("key", ["repeats.initial", "repeats.max", "repeats.profiled", "stacks.slow.repeats"])
@pytest.mark.parametrize("value", [10**30, 1001])
def test_counts_have_an_end(key: str, value: int) -> None:
    assert f"{key}: must be at most 1000" in refusal(key, value)


def integer_keys() -> list[str]:
    workload = ("steps", "warmup_steps", "profiled_steps", "global_batch_size", "sequence_length", "dataset.seed")
    shape = ("layers", "hidden_size", "heads", "intermediate_size", "vocabulary_size")
    keys = [f"workload.{each}" for each in (*workload, "dataset.tokens", "dataset.branching")]
    keys += [f"workload.model.config.{each}" for each in shape]
    return [*keys, "repeats.initial", "repeats.max", "repeats.profiled", "stacks.slow.repeats"]


@pytest.mark.parametrize("key", integer_keys())
@pytest.mark.parametrize("value", [True, "5", 5.0, [], {}])
def test_only_a_whole_number_is_one(key: str, value: Any) -> None:
    assert f"{key}: must be a whole number" in refusal(key, value)


@pytest.mark.parametrize("key", integer_keys())
def test_every_whole_number_has_an_end(key: str) -> None:
    assert f"{key}: must be at most" in refusal(key, 10**30)


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("envelope.limits", {"peak_memry": "<= 1 GiB"}, "no metric 'peak_memry' that this version measures; did you"),
        ("envelope.limits", {"ttft.p95": "<= 1 s"}, "no metric 'ttft.p95' that this version measures; known: energy, "),
        ("envelope.limits", {"compute.gemm": "<= 1 s"}, "measured in profiled launches, and timed ones are judged"),
        ("envelope.limits", {"evaluation_loss": "<= 1 GiB"}, "evaluation_loss is bounded by a bare number (nats)"),
        ("envelope.limits", {"peak_memory": "<= 5 s"}, "peak_memory is bounded by a size such as '2 GiB'"),
        ("envelope.limits", {"step_time": "<= 5%"}, "step_time is bounded by a time such as '500 ms'"),
        ("envelope.limits", {"step_time": ">= 5 s"}, "less is better, and >= would refuse the better ones; write <="),
        ("envelope.limits", {"tokens_per_second": "<= 5"}, "more is better, and <= would refuse"),
        ("envelope.limits", {"step_time": "<= -5 s"}, "step_time is never below 0, got -5"),
        ("envelope.limits", {"launch_reliability": ">= 99"}, "is a share, from 0 to 1, got 99; write 99% or 0.99"),
        ("envelope.objective", {"minimise": "step_tim"}, "did you mean 'step_time'?"),
        ("envelope.objective", {"maximise": "step_time"}, "of step_time less is better; write `minimise: step_time`"),
        ("envelope.objective", {"minimise": "tokens_per_second"}, "write `maximise: tokens_per_second`"),
        ("envelope.objective", {"maximise": "launch_reliability"}, "no metric 'launch_reliability'"),
        ("workload.acceptance.field", "evaluation_los", "did you mean 'evaluation_loss'?"),
        ("workload.acceptance.rule", "<= 1 s", "workload.acceptance.rule: evaluation_loss is bounded by a bare number"),
        ("workload.acceptance.rule", ">= 1", "less is better"),
        ("profiles", {"demo": {"envelope": {"objective": {"minimise": "x"}}}}, "profiles.demo.envelope.objective.min"),
    ],
)
def test_metrics_are_known_and_bounded_in_their_own_unit(key: str, value: Any, said: str) -> None:
    assert said in refusal(key, value)


@pytest.mark.parametrize(
    "limits",
    [
        {"launch_reliability": ">= 99%"},
        {"launch_reliability": ">= 0.5", "step_time": "<= 500 ms", "peak_memory": "< 2 GiB"},
        {"step_time": "<= 2", "tokens_per_second": ">= 500", "evaluation_loss": "<= 3"},
    ],
)
def test_limits_that_fit(limits: dict[str, str]) -> None:
    assert set(parse("envelope.limits", limits).envelope.limits) == set(limits)


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("stacks.slow.price.as_of", "2026-13-40", "must be a day such as 2026-11-30"),
        ("stacks.slow.price.source", "", "must say something"),
        ("question", "  ", "question: must say something"),
        ("question", 5, "must be text; put it in quotes, got 5"),
        ("workload.seeds", [1, 2, 1], "must hold each value once, got 1 twice"),
        ("stacks.slow.roles", [], "must have at least one entry"),
        ("comparisons", [BENCHMARK["comparisons"][0]] * 2, "comparisons.1: declares slow-vs-fast a second time"),
        (
            "profiles",
            {"demo": {"stacks": {"slwo": None}}},
            "stacks.slwo: is null, which takes a key away, and there is",
        ),
        ("repeats", 5, "repeats: must be a mapping of keys to values, got 5"),
        ("comparisons", {}, "comparisons: must be a list, got {}"),
        ("name", "Ti_ny", "must be a name of lower-case letters, digits and hyphens"),
        ("stacks.slow.price.currency", "usd", "must be a currency's three letters, such as USD"),
        ("stacks.slow.environment.variables", {"1x": "a"}, "must be a variable's name"),
        (
            "workload.model.precision",
            "bfloat",
            "must be 'float32' or 'bfloat16', got 'bfloat'; did you mean 'bfloat16'?",
        ),
    ],
)
def test_each_other_mistake(key: str, value: Any, said: str) -> None:
    assert said in refusal(key, value)


def test_yaml_reads_an_exponent_as_text_and_it_is_a_number_all_the_same() -> None:
    assert parse("workload.optimizer.learning_rate", "1e-3").workload.optimizer.learning_rate == 0.001


def test_the_schema_takes_what_the_examples_write() -> None:
    schema = benchmark.json_schema()
    kinds = {each["type"] for each in schema["properties"]["timeout"]["anyOf"]}
    assert kinds == {"number", "string"}
    repeats = schema["$defs"]["Repeats"]["properties"]["initial"]
    assert (repeats["type"], repeats["minimum"], repeats["maximum"]) == ("integer", 1, 1000)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([["a"]], "threads.0: must be a number, a text, true or false, got ['a']"),
        ([None], "threads.0: must be a number, a text, true or false, got null"),
        *[([1, each], "threads.1: must be a finite number") for each in (float("nan"), INFINITE, 10**400)],
        ({"low": float("nan"), "high": 2.0}, "threads.low: must be a finite number"),
        ({"low": 1, "high": 10**400}, "threads.high: must be a finite number"),
        ({"low": -1.7e308, "high": 1.7e308}, "threads.low: must be a finite number"),
        ({"low": "1", "high": 2}, "threads.low: must be a finite number (a whole one up to 2^53), got '1'"),
        ({"low": 1.0, "high": 2.0, "step": INFINITE}, "threads.step: must be a finite number"),
        ({"low": 1.0, "high": 2.0, "step": 0}, "threads.step: must be more than 0, got 0"),
        ({"low": 0.0, "high": 1.0, "step": 1e-320}, "step is too small for a range from 0.0 to 1.0"),
        ({"low": 3, "high": 1}, "threads: high must be above low (3), got 1"),
        ({"low": 0, "high": 8, "log": True}, "threads: with log there is no step, and low must be above 0"),
        ({"low": 1, "high": 8, "log": "yes"}, "threads.log: must be true or false, got 'yes'"),
        ({"low": 3}, "threads.high: is missing"),
        ({"low": 1, "hihg": 2}, "threads.hihg: unknown key; did you mean 'high'?"),
        ("abc", "threads: must be a list, got 'abc'"),
    ],
)
def test_a_space_to_search_is_told_by_what_is_wrong_with_it(values: Any, said: str) -> None:
    assert said in refusal("stacks.slow.search", {"threads": values})


def test_a_search_lasts_a_whole_number_of_trials() -> None:
    assert "search.budget.trials: must be a whole number, got true" in refusal("search", {"budget": {"trials": True}})
