"""Workloads other than training: what their files may say, and how mistakes in them are told."""

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from ledger import benchmark
from ledger.errors import InputError
from ledger.workloads.serve import ServeWorkload

SERVE: dict[str, Any] = {
    "name": "answers",
    "question": "Which server answers short questions at the lowest price?",
    "workload": {
        "kind": "serve",
        "model": {"path": "models/small"},
        "dataset": {"path": "datasets/answers.jsonl"},
        "load": {"arrivals": {"rate": 2.0}, "requests": 200, "max_output_tokens": 32, "sweep": [1, 4]},
        "acceptance": {"kind": "contains_any", "field": "answers"},
    },
    "stacks": {
        "one": {
            "adapter": "openai",
            "environment": {"requirements": "environments/one.txt"},
            "price": [
                {"amount": 1, "currency": "USD", "per": per, "source": "list", "as_of": "2026-11-01"}
                for per in ("million_input_tokens", "million_output_tokens")
            ],
        }
    },
    "envelope": {"objective": {"minimise": "peak_memory"}, "demand": {"requests_per_day": 2e6}},
}


def check(**workload: Any) -> ServeWorkload:
    """The workload of SERVE with keys replaced; a key given as None is taken out."""
    data = copy.deepcopy(SERVE)
    data["workload"] = {key: value for key, value in {**data["workload"], **workload}.items() if value is not None}
    return benchmark.parse(yaml.safe_dump(data), Path("benchmark.yaml")).benchmark.work(ServeWorkload)


def refused(**workload: Any) -> str:
    with pytest.raises(InputError) as caught:
        check(**workload)
    return str(caught.value)


def load(**changes: Any) -> dict[str, Any]:
    given = {**SERVE["workload"]["load"], **changes}
    return {key: value for key, value in given.items() if value is not None}


def test_a_serving_job_is_read_with_its_defaults() -> None:
    work = check()
    assert (work.endpoint, work.sampling.temperature, work.load.is_open, work.load.level) == ("chat", 0.0, True, 2.0)
    assert work.load.sweep == (1.0, 4.0)


def test_the_price_is_one_or_one_for_each_thing_charged() -> None:
    data = copy.deepcopy(SERVE)
    both = benchmark.parse(yaml.safe_dump(data), Path("benchmark.yaml")).benchmark.stacks["one"].price
    assert [price.per for price in both] == ["million_input_tokens", "million_output_tokens"]
    data["stacks"]["one"]["price"] = data["stacks"]["one"]["price"][0]
    assert len(benchmark.parse(yaml.safe_dump(data), Path("benchmark.yaml")).benchmark.stacks["one"].price) == 1
    data["stacks"]["one"]["price"]["amout"] = 2
    with pytest.raises(InputError, match=r"stacks\.one\.price\.amout: unknown key.*did you mean 'amount'"):
        benchmark.parse(yaml.safe_dump(data), Path("benchmark.yaml"))


def test_a_closed_loop_has_whole_levels() -> None:
    closed = load(arrivals=None, concurrency=4)
    work = check(load=closed)
    assert (work.load.is_open, work.load.level) == (False, 4.0)
    assert "whole numbers" in refused(load={**closed, "sweep": [1.5]})


@pytest.mark.parametrize(
    ("workload", "words"),
    [
        ({"kind": "server"}, "workload.kind: must be 'train', 'serve', 'tasks' or 'command', got 'server'"),
        ({"kind": "serve", "modell": {}}, "workload.modell: unknown key"),
        ({"load": load(concurrency=4)}, "exactly one of arrivals, concurrency and from_log, got 2"),
        ({"load": load(arrivals=None)}, "exactly one of arrivals, concurrency and from_log, got 0"),
        ({"load": load(requests=None)}, "workload.load.requests: is missing"),
        ({"load": load(arrivals={"rate": 0})}, "workload.load.arrivals.rate: must be more than 0, got 0.0"),
        (
            {"acceptance": {"kind": "regex", "pattern": "("}},
            "workload.acceptance.pattern: must be a regular expression",
        ),
        ({"acceptance": {"kind": "regex"}}, "workload.acceptance: must have exactly one of field and pattern"),
        ({"acceptance": {"kind": "exactly", "field": "a"}}, "workload.acceptance.kind: must be 'exact'"),
        ({"acceptance": {"field": "a"}}, "workload.acceptance.kind: is missing"),
        ({"acceptance": {"kind": "exact", "feld": "a"}}, "workload.acceptance.feld: unknown key"),
        ({"endpoint": "completions", "system": "Be short."}, "system has no meaning with"),
    ],
)
def test_a_mistake_is_told_where_it_stands(workload: dict[str, Any], words: str) -> None:
    assert words in refused(**workload)


def test_a_misspelt_kind_and_key_get_the_nearest_one() -> None:
    assert "did you mean 'serve'" in refused(kind="serv")
    assert "did you mean 'requests'" in refused(load=load(request=3))
    assert "did you mean 'field'" in refused(acceptance={"kind": "exact", "feld": "a"})


def test_a_training_metric_is_no_objective_of_a_server() -> None:
    data = copy.deepcopy(SERVE)
    data["envelope"]["objective"] = {"minimise": "step_time"}
    with pytest.raises(InputError, match="no metric 'step_time'"):
        benchmark.parse(yaml.safe_dump(data), Path("benchmark.yaml"))
