"""The command adapter: any script, sealed with its run; its metrics read from what it wrote."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from collector.stacks.registry import ADAPTERS
from ledger import benchmark as benchmark_file
from ledger.catalog import open as open_catalog
from ledger.errors import InputError
from ledger.run_folder import RunFolder, scan
from ledger.verify import verify_run
from tests.collector.conftest import git

MEGATRON = """#!/bin/sh
echo " iteration        1/       3 | elapsed time per iteration (ms): 9000.5 | lm loss: 1.0E+01 |"
echo " iteration        2/       3 | elapsed time per iteration (ms): 1,200.0 | lm loss: 9.0E+00 |"
echo " iteration        3/       3 | elapsed time per iteration (ms): 1300.0 | lm loss: 8.0E+00 |"
echo "role $STACKPROOF_ROLE, tp $STACKPROOF_SETTING_TENSOR_PARALLEL, $1"
"""
WORKLOAD: dict[str, Any] = {
    "kind": "command",
    "task": "pre-train a small model",
    "inputs": ["data"],
    "work_per_step": {"samples": 32, "tokens": 65536},
    "metrics": {
        "iteration_time": {
            "unit": "s",
            "direction": "lower",
            "definition": "Median time of an iteration, as the framework prints it.",
            "extract": {"regex": r"per iteration \(ms\): +([0-9.,]+)", "reduce": "median", "unit": "ms"},
        }
    },
    "acceptance": {"kind": "threshold", "field": "iteration_time", "rule": "<= 2 s"},
}
STACKS: dict[str, Any] = {
    "megatron": {
        "adapter": "command",
        "settings": {"script": "scripts/launch.sh", "arguments": ["it's"], "parameters": {"tensor_parallel": 2}},
    },
    "other": {
        "adapter": "command",
        "settings": {
            "command": 'echo \'{"steps": [{"t": 3}, {"t": "1.5 s"}, {"t": 2}]}\' > result.json',
            "extract": {"iteration_time": {"file": "result.json", "json": "steps.*.t", "reduce": "min"}},
        },
    },
}


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "workspace"
    for folder in ("evidence", "scripts", "data", "benchmarks"):
        (root / folder).mkdir(parents=True)
    (root / "mkdocs.yml").write_text("site_name: test\n")
    (root / "scripts/launch.sh").write_text(MEGATRON)
    (root / "data/part.bin").write_bytes(b"tokens")
    declare(root)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("STACKPROOF_MEASURING_LOCK", str(tmp_path / "measuring.lock"))
    git(root, "init", "-q", "-b", "main")
    monkeypatch.chdir(root)
    return root


def declare(root: Path, workload: dict[str, Any] | None = None, **stacks: dict[str, Any]) -> None:
    """Write the benchmark with keys of the workload replaced, and with other stacks."""
    text = {
        "name": "pretraining",
        "question": "Which launcher trains faster?",
        "workload": {**WORKLOAD, **(workload or {})},
        "stacks": stacks or STACKS,
        "envelope": {"objective": {"minimise": "iteration_time"}},
        "repeats": {"initial": 1, "max": 1, "profiled": 0},
        "timeout": "20 s",
    }
    (root / "benchmarks/pretraining.yaml").write_text(yaml.safe_dump(text, sort_keys=False))


def collect(stackproof: Callable[..., tuple[int, str, str]], *arguments: str) -> dict[str, RunFolder]:
    """Collect; the newest timed run of each stack."""
    code, out, err = stackproof("collect", "pretraining", "--no-commit", *arguments)
    assert code == 0, out + err
    runs = sorted(scan(Path("evidence")), key=lambda run: run.run.started_at)
    return {run.run.stack: run for run in runs if run.run.role == "timed"}


def metric(run: RunFolder, name: str = "iteration_time") -> dict[str, Any]:
    return next(row for row in run.json("metrics.json") if row["metric"] == name)


def test_each_stack_says_in_its_own_way_where_the_number_stands(workspace, stackproof):
    runs = collect(stackproof)
    assert metric(runs["megatron"])["value"] == 1.3
    assert metric(runs["other"])["value"] == 1.5
    assert metric(runs["megatron"])["definition"] == metric(runs["other"])["definition"] != "iteration_time@1"
    assert runs["other"].json("metrics.json")[-1]["inputs"].keys() == {"samples/output/result.json"}
    assert runs["megatron"].run.accepted
    assert [verify_run(run) for run in runs.values()] == [[], []]


def test_the_script_is_sealed_and_told_its_settings(workspace, stackproof):
    run = collect(stackproof)["megatron"].path
    assert (run / "launch/files/scripts/launch.sh").read_text() == MEGATRON
    assert "role timed, tp 2, it's" in (run / "logs/stdout.log").read_text()
    card = yaml.safe_load((run / "card.yaml").read_text())
    assert card["workload"]["work_per_step"] == {"samples": 32, "tokens": 65536}


def test_sealed_values_are_derived_again_and_a_changed_output_is_found(workspace, stackproof):
    run = collect(stackproof)["other"]
    assert stackproof("verify", "--recompute")[0] == 0
    with open_catalog(Path("evidence")) as catalog:
        rows = catalog.query("SELECT value, unit FROM metrics WHERE metric = 'iteration_time' ORDER BY 1").rows
        assert set(rows) == {(1.3, "s"), (1.5, "s")}
        (told,) = catalog.query("SELECT DISTINCT title FROM metric_definitions WHERE metric = 'iteration_time'").rows
        assert told == ("Iteration time",)
    (run.path / "samples/output/result.json").write_text('{"steps": [{"t": 1}]}')
    assert stackproof("verify", "--recompute")[0] == 1


def test_what_decides_the_work_decides_the_trial(workspace, stackproof):
    before = {name: run.run.trial_key for name, run in collect(stackproof).items()}
    (workspace / "data/part.bin").write_bytes(b"other tokens")
    both = {name: run.run.trial_key for name, run in collect(stackproof).items()}
    assert all(both[name] != before[name] for name in before)
    (workspace / "scripts/launch.sh").write_text(MEGATRON + "# tuned\n")
    after = {name: run.run.trial_key for name, run in collect(stackproof).items()}
    assert after["other"] == both["other"]
    assert after["megatron"] != both["megatron"]


def test_samples_and_traces_are_kept(workspace, stackproof):
    row = {"step": 0, "phase": "measured", "start_ns": 0, "duration_ns": 250_000_000, "tokens": 10}
    script = f"""
echo '{json.dumps(row)}' > steps.jsonl
echo 'half a li' >> steps.jsonl
echo '{{"framework": {{"name": "maxtext", "version": "0.1"}}}}' > summary.json
echo '{{"traceEvents": []}}' | gzip > "$STACKPROOF_TRACES/host.rank3.json.gz"
echo "x per iteration (ms): 7"
"""
    declare(workspace, one={"adapter": "command", "settings": {"command": script}})
    run = collect(stackproof)["one"]
    assert metric(run, "step_time")["value"] == 0.25
    assert run.run.outcome.detail == "1 of 2 lines of steps.jsonl hold no row"
    assert gzip.decompress((run.path / "traces/rank-3.json.gz").read_bytes()) == b'{"traceEvents": []}\n'
    assert yaml.safe_load((run.path / "card.yaml").read_text())["Model-executor"]["framework"]["name"] == "maxtext"


@pytest.mark.parametrize(
    ("command", "reason", "words"),
    [
        ("exit 3", "crashed", "exit code 3"),
        ("no-such-program", "launch_failed", "not found"),
        ("true", "no_output", "the command wrote no result.json"),
        ("echo 'torch.cuda.OutOfMemoryError: CUDA out of memory' >&2; exit 1", "out_of_memory", "CUDA out of memory"),
    ],
)
def test_a_command_that_fails_is_a_failed_trial(workspace, stackproof, command, reason, words):
    extract = {"iteration_time": {"file": "result.json", "json": "t"}}
    declare(workspace, one={"adapter": "command", "settings": {"command": command, "extract": extract}})
    outcome = collect(stackproof)["one"].run.outcome
    assert (outcome.reason, words in outcome.detail) == (reason, True)


@pytest.mark.parametrize(
    ("output", "why"),
    [
        ("{}", "result.json holds no number at t"),
        ("{", "result.json is not JSON"),
        ('{"t": true}', "result.json holds no number at t"),
        ('{"t": NaN}', "result.json holds no number at t"),
    ],
)
def test_a_number_that_is_not_there_is_absent_with_its_reason(workspace, stackproof, output, why):
    extract = {"iteration_time": {"file": "result.json", "json": "t"}}
    settings = {"command": f"echo '{output}' > result.json", "extract": extract}
    declare(workspace, {"acceptance": None}, one={"adapter": "command", "settings": settings})
    found = metric(collect(stackproof)["one"])
    assert found["value"] is None
    assert found["missing_reason"].startswith(why)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "must have exactly one of script and command"),
        ({"script": "a.sh", "command": "true"}, "must have exactly one of script and command"),
        ({"script": "scripts/no.sh"}, "settings.script: scripts/no.sh is not there"),
        ({"script": "../out.sh"}, "settings.script: must be a path inside the workspace"),
        ({"command": "true", "files": ["data"]}, "settings.files: data is no file"),
        ({"command": "true", "parameters": {"a": [1]}}, "must be text, a number, true or false"),
        ({"command": "true", "extract": {"iteration_tim": {"json": "t"}}}, "did you mean 'iteration_time'"),
        ({"command": "true", "extract": {"iteration_time": {"json": "t", "unit": "GB"}}}, "must be a unit of s"),
        ({"comand": "true"}, "settings.comand: unknown setting; did you mean 'command'"),
    ],
)
def test_settings_that_cannot_be_used_are_told(workspace, stackproof, settings, words):
    declare(workspace, one={"adapter": "command", "settings": settings})
    code, _, err = stackproof("collect", "pretraining", "--no-commit")
    assert (code, words in err) == (2, True), err


@pytest.mark.parametrize(
    ("workload", "words"),
    [
        ({"inputs": ["nowhere"]}, "workload.inputs.0: nowhere is not there"),
        (
            {"metrics": {"step_time": {**WORKLOAD["metrics"]["iteration_time"]}}, "acceptance": None},
            "reported_step_time",
        ),
        ({"metrics": {}}, "must have at least one entry"),
        ({"acceptance": {"kind": "threshold", "field": "iteration_time", "rule": ">= 1 s"}}, "write <="),
    ],
)
def test_a_workload_that_cannot_be_run_is_told(workspace, stackproof, workload, words):
    declare(workspace, workload)
    code, _, err = stackproof("collect", "pretraining", "--no-commit")
    assert (code, words in err) == (2, True), err


def test_every_declared_extraction_names_a_place_below_the_output(workspace):
    for file in ("/etc/passwd", "../x", "a//b", "."):
        extract = {"file": file, "json": "t"}
        metrics = {"iteration_time": {**WORKLOAD["metrics"]["iteration_time"], "extract": extract}}
        declare(workspace, {"metrics": metrics})
        with pytest.raises(InputError, match="must be a path below STACKPROOF_OUT"):
            benchmark_file.read(workspace / "benchmarks/pretraining.yaml")


def test_a_file_that_leads_out_of_the_output_is_not_taken(workspace, stackproof):
    extract = {"iteration_time": {"file": "result.json", "json": "t"}}
    settings = {"command": "ln -s /etc/hostname result.json", "extract": extract}
    declare(workspace, one={"adapter": "command", "settings": settings})
    run = collect(stackproof)["one"]
    assert run.run.outcome.reason == "partial_output"
    assert not (run.path / "samples/output").exists()


def test_the_adapter_needs_nothing():
    assert ADAPTERS["command"].requires == ()
