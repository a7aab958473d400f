import pytest

from collector.stacks.interface import Job, SettingsError
from collector.stacks.registry import ADAPTERS
from ledger import benchmark
from tests.collector.stacks.launching import make_trial
from tests.factory import write_benchmark


@pytest.fixture
def declared(tmp_path):
    return benchmark.read(write_benchmark(tmp_path)).benchmark


def test_defaults_are_filled_in(declared):
    assert ADAPTERS["torch"].resolve({}, declared) == {
        "compile": False,
        "compile_mode": None,
        "threads": 1,
        "attention": "sdpa",
        "micro_batch_size": 2,
    }
    assert ADAPTERS["torch"].resolve({"compile": True}, declared)["compile_mode"] == "default"


@pytest.mark.parametrize(
    ("settings", "key", "words"),
    [
        ({"thread": 2}, "thread", "unknown setting"),
        ({"threads": 0}, "threads", "must be at least 1, got 0"),
        ({"threads": "two"}, "threads", "must be a whole number, got 'two'"),
        ({"compile": 1}, "compile", "must be true or false, got 1"),
        ({"attention": "flash"}, "attention", "'sdpa' or 'math', got 'flash'"),
        ({"micro_batch_size": 3}, "micro_batch_size", r"must divide global_batch_size \(2\), got 3"),
        ({"compile_mode": "default"}, "compile_mode", "no meaning without"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named(declared, settings, key, words):
    with pytest.raises(SettingsError, match=words) as error:
        ADAPTERS["torch"].resolve(settings, declared)
    assert error.value.key == key
    assert "threads" in error.value.known


def test_planning_never_imports_torch():
    import subprocess
    import sys

    code = "import sys, collector.stacks.registry; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.fixture
def tools(tmp_path, monkeypatch):
    """A PATH with nothing on it, to which a test adds commands; returns a function that adds one."""
    folder = tmp_path / "tools"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("CXX", raising=False)

    def add(name):
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)

    return add


@pytest.mark.torch
def test_compile_without_a_compiler_is_a_missing_prerequisite(tools, monkeypatch, tmp_path):
    adapter = ADAPTERS["torch"]
    compiled, eager = make_trial(tmp_path, {"compile": True}), make_trial(tmp_path, {"compile": False})
    found = adapter.missing(compiled)
    assert found is not None
    assert "no g++" in found.what
    assert found.install == "apt-get install g++"
    assert adapter.missing(eager) is None
    tools("g++")
    assert adapter.missing(compiled) is None
    monkeypatch.setenv("CXX", "clang++ -O2")
    assert "'clang++ -O2'" in adapter.missing(compiled).what
    tools("clang++")
    assert adapter.missing(compiled) is None


def test_digests_tell_model_and_data_apart_and_are_quick_the_second_time(tmp_path, declared):
    first = ADAPTERS["torch"].digests(Job(declared, "one", {}, tmp_path))
    assert {name: len(value) for name, value in first.items()} == {"model": 64, "dataset": 64, "adapter": 64}
    other = make_trial(tmp_path, {})
    second = ADAPTERS["torch"].digests(other)
    assert second["model"] == first["model"]
    assert second["dataset"] != first["dataset"]


def test_script_quotes_variables_and_keeps_settings_true(tmp_path):
    trial = make_trial(
        tmp_path, {"threads": 2}, environment={"variables": {"NOTE": "it's $HOME", "OMP_NUM_THREADS": "7"}}
    )
    ADAPTERS["torch"].write_launch(trial, tmp_path / "launch")
    script = (tmp_path / "launch/run.sh").read_text()
    assert """export NOTE='it'"'"'s $HOME'\n""" in script
    assert "export OMP_NUM_THREADS=2\n" in script
    assert "ulimit" not in script
    assert "TORCHINDUCTOR_CACHE_DIR" not in script


def test_only_a_warm_up_launch_empties_the_compile_cache(tmp_path):
    scripts = {}
    for role in ("warmup", "timed", "profiled"):
        ADAPTERS["torch"].write_launch(make_trial(tmp_path, {"compile": True}, role=role), tmp_path / role)
        scripts[role] = (tmp_path / role / "run.sh").read_text()
    assert [role for role, script in scripts.items() if "rm -rf" in script] == ["warmup"]
    caches = {role: next(line for line in text.splitlines() if "cache=" in line) for role, text in scripts.items()}
    assert caches["warmup"] == caches["timed"] != caches["profiled"]
