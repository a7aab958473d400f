"""Serving adapters against a small real server: every request kept, and everything that can go wrong."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import pytest
import yaml

from collector.stacks.interface import Trial
from collector.stacks.registry import ADAPTERS
from collector.stacks.serving import ServingAdapter
from collector.stacks.transformers import TransformersAdapter
from collector.stacks.vllm import VllmAdapter
from ledger import parquet
from ledger.run import Role
from ledger.run_folder import RunFolder, scan
from tests.collector.conftest import git

SERVER = Path(__file__).with_name("sse_server.py")
LOAD = {"concurrency": 2, "requests": 12, "warmup_requests": 2, "max_output_tokens": 8}


class ScriptedServer(ServingAdapter):
    """Starts sse_server.py in the mode that `arguments` names."""

    name: ClassVar[str] = "scripted"
    requires: ClassVar[tuple[str, ...]] = ()
    client_requirements: ClassVar[Path | None] = None  # the tests' own environment has aiohttp

    def server(self, trial: Trial) -> dict[str, Any]:
        return {"command": ["{python}", str(SERVER), "{port}", *trial.settings["arguments"]]}


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setitem(ADAPTERS, "scripted", ScriptedServer())
    monkeypatch.setattr(type(ADAPTERS["openai"]), "client_requirements", None)
    root = tmp_path / "workspace"
    for folder in ("evidence", "benchmarks", "models/tiny"):
        (root / folder).mkdir(parents=True)
    (root / "mkdocs.yml").write_text("site_name: test\n")
    (root / "models/tiny/config.json").write_text("{}")
    rows = [{"id": f"q{n}", "prompt": f"Question {n}?", "answers": ["Paris" if n % 2 else "Rome"]} for n in range(6)]
    (root / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("STACKPROOF_MEASURING_LOCK", str(tmp_path / "measuring.lock"))
    git(root, "init", "-q", "-b", "main")
    monkeypatch.chdir(root)
    return root


def collect(
    stackproof: Callable[..., tuple[int, str, str]],
    mode: str = "good",
    *,
    code: int = 0,
    stack: dict[str, Any] | None = None,
    **workload: Any,
) -> str:
    settings = {"arguments": [mode], "startup_limit": "60 s"}
    text = {
        "name": "serve",
        "question": "Which server answers best?",
        "workload": {
            "kind": "serve",
            "model": {"path": "models/tiny"},
            "dataset": {"path": "questions.jsonl"},
            "load": LOAD,
            "acceptance": {"kind": "contains_any", "field": "answers"},
            **workload,
        },
        "stacks": {"server": stack or {"adapter": "scripted", "settings": settings, "roles": ["timed"]}},
        "envelope": {"objective": {"maximise": "request_throughput"}},
        "repeats": {"initial": 1, "max": 1, "profiled": 0},
        "timeout": "60 s",
    }
    Path("benchmarks/serve.yaml").write_text(yaml.safe_dump(text, sort_keys=False))
    found, out, err = stackproof("collect", "serve", "--no-commit")
    assert found == code, out + err
    return out + err


def newest() -> RunFolder:
    (run,) = scan(Path("evidence"))
    return run


def requests(run: RunFolder, phase: str = "measured") -> list[dict[str, Any]]:
    return [row for row in parquet.read(run.path / "samples/requests.parquet").to_pylist() if row["phase"] == phase]


def test_every_request_is_kept_and_judged(workspace, stackproof):
    collect(stackproof)
    run = newest()
    rows = requests(run)
    assert run.run.outcome.state == "completed"
    assert len(rows) == 12
    assert len(requests(run, "warmup")) == 2
    assert sorted(row["item"] for row in rows) == sorted([f"q{n}" for n in range(6)] * 2)
    assert {row["attempt"] for row in rows} == {1, 2}
    assert all(row["accepted"] is (int(row["item"][1]) % 2 == 1) for row in rows)
    assert all(row["text"] == "The answer is Paris." and row["finish_reason"] == "stop" for row in rows)
    assert all((row["input_tokens"], row["output_tokens"], row["one_token_a_chunk"]) == (7, 5, True) for row in rows)
    for row in rows:
        assert row["sent_ns"] < row["first_token_ns"] < row["ended_ns"]
        assert sum(row["chunk_gaps_ns"]) == row["ended_ns"] - row["first_token_ns"]
        assert row["scheduled_ns"] is None
    summary = run.json("samples/summary.json")
    assert summary["stopped"]
    assert summary["startup_s"] > 0
    assert "requests_total 14" in (run.path / "samples/metrics_after.prom").read_text()
    found = {row["metric"]: row["value"] for row in run.json("metrics.json")}
    assert found["acceptance_rate"] == 0.5
    assert found["itl.mean"] > 0


def test_an_open_loop_sends_when_requests_are_due(workspace, stackproof):
    load = {"arrivals": {"rate": 40}, "requests": 12, "warmup_requests": 0, "max_output_tokens": 8, "sweep": [80]}
    collect(stackproof, "slow", load=load)
    run = newest()
    rows, quicker = requests(run), requests(run, "sweep")
    due = [row["scheduled_ns"] for row in sorted(rows, key=lambda row: row["request"])]
    assert due == sorted(due)
    assert due[0] == 0
    assert all(0 <= row["sent_ns"] - row["scheduled_ns"] < 1e9 for row in rows)
    assert [row["scheduled_ns"] for row in quicker] == pytest.approx([each / 2 for each in due], abs=2)
    assert max(row["ended_ns"] for row in rows) < 12 * 0.26e9, "requests overlap"
    assert {row["level"] for row in quicker} == {80}


def test_a_recorded_log_is_replayed(workspace, stackproof):
    recorded = {
        "format": 1, "kind": "traffic", "arrivals_s": [0.0, 0.1, 0.4], "input_lengths": [5, 5, 5],
        "output_lengths": [3, 100, None], "prefixes": [[], [], []], "block": None, "unit": "tokens",
    }  # fmt: skip
    Path("traffic.json").write_text(json.dumps(recorded))
    load = {
        "from_log": {"path": "traffic.json", "scale": 2},
        "requests": 4,
        "warmup_requests": 0,
        "max_output_tokens": 8,
    }
    collect(stackproof, load=load)
    run = newest()
    assert [row["scheduled_ns"] / 1e9 for row in requests(run)] == pytest.approx([0, 0.05, 0.2, 0.3])
    phase = run.json("launch/trial.json")["phases"][0]
    assert phase["output_lengths"] == [3, 8, 8]


def test_the_same_seed_asks_the_same_in_the_same_order(workspace, stackproof):
    collect(stackproof, load={**LOAD, "concurrency": 1})
    first = [row["item"] for row in requests(newest())]
    stack = {"adapter": "scripted", "settings": {"arguments": ["chunky"]}, "roles": ["timed"]}
    collect(stackproof, stack=stack, load={**LOAD, "concurrency": 1})
    runs = sorted(scan(Path("evidence")), key=lambda run: run.run.started_at)
    assert [row["item"] for row in requests(runs[1])] == first
    assert not any(row["one_token_a_chunk"] for row in requests(runs[1]))


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        ("error", "HTTP 500: "),
        ("malformed", "a chunk is not JSON: {not json"),
        ("cut", "the stream ended before the answer did"),
        ("refuses", "out of blocks"),
    ],
)
def test_a_server_that_answers_with_errors_is_a_failed_trial_with_every_error_kept(workspace, stackproof, mode, said):
    collect(stackproof, mode)
    run = newest()
    assert run.run.outcome.reason == "partial_output"
    assert said in run.run.outcome.detail
    rows = requests(run)
    assert all(said in row["error"] and row["accepted"] is False for row in rows)
    found = {row["metric"]: row for row in run.json("metrics.json")}
    assert found["error_rate"]["value"] == 1
    assert found["e2e.mean"]["value"] is None


def test_a_server_that_hangs_is_given_up_on_request_by_request(workspace, stackproof):
    settings = {"arguments": ["hang"], "request_timeout": "500 ms"}
    collect(stackproof, stack={"adapter": "scripted", "settings": settings, "roles": ["timed"]})
    assert requests(newest())[0]["error"] == "no whole answer after 0.5 s"


@pytest.mark.parametrize(
    ("mode", "reason", "said"),
    [
        ("dies", "crashed", "the server ended with exit code 7 under load"),
        ("crash", "unhealthy", "the server ended with exit code 1 before it was healthy"),
        ("unhealthy", "unhealthy", "the server was not healthy after 1 s"),
    ],
)
def test_a_server_that_dies_or_never_gets_healthy_is_a_failed_trial(workspace, stackproof, mode, reason, said):
    limit = "1 s" if mode == "unhealthy" else "60 s"
    settings = {"arguments": [mode], "startup_limit": limit}
    collect(stackproof, stack={"adapter": "scripted", "settings": settings, "roles": ["timed"]})
    outcome = newest().run.outcome
    assert (outcome.state, outcome.reason) == ("failed", reason)
    assert said in outcome.detail
    if mode == "crash":
        assert any("no such model" in line for line in outcome.last_log_lines)


def test_a_port_that_is_taken_is_told(workspace, stackproof):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        settings = {"arguments": ["good"], "port": taken.getsockname()[1]}
        collect(stackproof, stack={"adapter": "scripted", "settings": settings, "roles": ["timed"]})
    assert newest().run.outcome.reason == "port_in_use"


@contextmanager
def running(mode: str = "good") -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen([sys.executable, str(SERVER), str(port), mode])
    try:
        for _ in range(100):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.kill()
        process.wait()


def test_an_address_that_is_running_already_is_driven(workspace, stackproof, monkeypatch):
    monkeypatch.setenv("SERVICE_KEY", "sk-secret-0123456789abcdef")
    monkeypatch.setenv("EXPECTED_KEY", "sk-secret-0123456789abcdef")
    with running("key") as address:
        settings = {"address": address, "key_variable": "SERVICE_KEY"}
        collect(stackproof, stack={"adapter": "openai", "settings": settings, "roles": ["timed"]})
    run = newest()
    assert [row["error"] for row in requests(run)] == [None] * 12
    assert "startup_s" not in run.json("samples/summary.json")
    assert not any(b"sk-secret" in path.read_bytes() for path in run.path.rglob("*") if path.is_file())


def test_a_key_that_is_not_set_is_told_before_anything_is_launched(workspace, stackproof, monkeypatch):
    monkeypatch.delenv("SERVICE_KEY", raising=False)
    settings = {"address": "http://127.0.0.1:9/v1", "key_variable": "SERVICE_KEY"}
    told = collect(stackproof, code=2, stack={"adapter": "openai", "settings": settings, "roles": ["timed"]})
    assert "the variable SERVICE_KEY is not set" in told


def test_an_address_that_nobody_answers_is_a_failed_trial(workspace, stackproof):
    settings = {"address": "http://127.0.0.1:9/v1"}
    collect(stackproof, stack={"adapter": "openai", "settings": settings, "roles": ["timed"]})
    outcome = newest().run.outcome
    assert outcome.state == "failed"
    assert "every request failed" in outcome.detail


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "questions.jsonl: is empty"),
        ("{oops\n", "questions.jsonl:1: is not JSON"),
        ("[1]\n", "questions.jsonl:1: is no JSON object"),
        ('{"question": "x"}\n', "has no 'prompt'"),
        ('{"prompt": "x", "answers": ["y"]}\n{"prompt": "x"}\n', "questions.jsonl:2: has no 'answers'"),
        ('{"prompt": " ", "answers": ["y"]}\n', "prompt: must say something"),
        ('{"prompt": [{"content": 1}], "answers": ["y"]}\n', "prompt: must be text, or a list of messages"),
        ('{"id": 1, "prompt": "x", "answers": "y"}\n' * 2, "names the item '1' a second time"),
    ],
)
def test_a_wrong_data_set_is_told_before_anything_is_launched(workspace, stackproof, text, said):
    Path("questions.jsonl").write_text(text)
    told = collect(stackproof, code=2)
    assert said in told
    assert len(told.strip().splitlines()) == 1
    assert list(scan(Path("evidence"))) == []


@pytest.mark.parametrize(
    ("stack", "workload", "said"),
    [
        ({}, {"model": {"path": "models/none"}}, "workload.model.path: no such model none"),
        ({}, {"model": {"path": "models"}}, "is no model: it has no config.json"),
        ({}, {"dataset": {"path": "none.jsonl"}}, "workload.dataset.path: no such data set none.jsonl"),
        ({"model": "models/none"}, {}, "settings.model: no such model none"),
        ({"adress": "x"}, {}, "adress: unknown setting"),
        ({"port": 0}, {}, "settings.port"),
        ({}, {"load": {"from_log": {"path": "t.json"}, "requests": 1, "max_output_tokens": 1}}, "no such traffic file"),
    ],
)
def test_a_wrong_benchmark_is_told_before_anything_is_launched(workspace, stackproof, stack, workload, said):
    settings = {"arguments": ["good"], **stack}
    told = collect(stackproof, code=2, stack={"adapter": "scripted", "settings": settings}, **workload)
    assert said in told
    assert list(scan(Path("evidence"))) == []


def test_llama_cpp_wants_one_gguf_file(workspace, stackproof):
    told = collect(stackproof, code=2, stack={"adapter": "llamacpp", "settings": {}})
    assert "holds 0 GGUF files, and one is wanted" in told
    Path("models/tiny/a.gguf").write_bytes(b"GGML")
    told = collect(stackproof, code=2, stack={"adapter": "llamacpp", "settings": {"model": "models/tiny/a.gguf"}})
    assert "is no GGUF file" in told


def test_an_address_is_checked(workspace, stackproof):
    for address in ("localhost", "ftp://x/v1", "http://user@x/v1"):
        told = collect(stackproof, code=2, stack={"adapter": "openai", "settings": {"address": address}})
        assert "must be an address such as" in told


@pytest.mark.parametrize("adapter", [VllmAdapter(), TransformersAdapter()])
def test_the_command_holds_every_setting(workspace, adapter):
    from collector.jobs import make_job
    from ledger import benchmark as benchmark_file

    more = {"max_num_seqs": 4, "enforce_eager": True} if adapter.name == "vllm" else {"continuous_batching": True}
    text = {
        "name": "serve",
        "question": "?",
        "workload": {
            "kind": "serve",
            "model": {"path": "models/tiny", "precision": "bfloat16"},
            "dataset": {"path": "questions.jsonl"},
            "load": LOAD,
            "acceptance": {"kind": "contains_any", "field": "answers"},
        },
        "stacks": {"server": {"adapter": adapter.name, "settings": {"threads": 2, "arguments": ["--x"], **more}}},
        "envelope": {"objective": {"maximise": "request_throughput"}},
    }
    Path("benchmarks/serve.yaml").write_text(yaml.safe_dump(text))
    job = make_job(benchmark_file.read(Path("benchmarks/serve.yaml")), "server", workspace)
    trial = Trial(job.benchmark, "server", job.settings, workspace, Role.TIMED, 1, "k")
    server = adapter.server(trial)
    command = " ".join(server["command"])
    assert "{workspace}/models/tiny" in command
    assert "--dtype bfloat16" in command
    assert "--x" in command
    assert server["variables"]["OMP_NUM_THREADS"] == "2"
    assert ("--max-num-seqs 4" in command and "--enforce-eager" in command) or "--continuous-batching" in command
    assert "--profiler-config" not in command
