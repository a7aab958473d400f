"""Settings and launch folders of training over several ranks."""

import json

import pytest

from collector.stacks.interface import SettingsError
from collector.stacks.registry import ADAPTERS
from ledger import benchmark
from tests.collector.stacks.launching import make_trial
from tests.factory import write_benchmark

SINGLE = {"compile", "compile_mode", "threads", "attention", "micro_batch_size"}
"""What sealed runs of one process were keyed by."""


@pytest.fixture
def declared(tmp_path):
    return benchmark.read(write_benchmark(tmp_path)).benchmark


@pytest.mark.parametrize(
    "settings",
    [{}, {"data_parallel": 1}, {"tensor_parallel": 1}, {"activation_checkpointing": False}, {"device": "cpu"}],
)
def test_one_process_resolves_to_what_it_always_did(declared, settings):
    assert set(ADAPTERS["torch"].resolve(settings, declared)) == SINGLE


def test_one_process_is_still_launched_by_the_scripts_that_sealed_runs_name(tmp_path):
    ADAPTERS["torch"].write_launch(make_trial(tmp_path, {}), tmp_path / "launch")
    files = {path.name for path in (tmp_path / "launch").iterdir()}
    assert files == {"train.py", "llama.py", "markov.py", "trial.json", "run.sh"}
    assert "collective_timeout_s" not in json.loads((tmp_path / "launch/trial.json").read_bytes())


def test_what_only_several_ranks_have_is_resolved_with_them(declared):
    found = ADAPTERS["torch"].resolve({"data_parallel": 2}, declared)
    assert set(found) > SINGLE
    assert (found["data_parallel_mode"], found["micro_batch_size"], found["device"]) == ("ddp", 1, "cpu")
    assert ADAPTERS["torch"].resolve({"activation_checkpointing": True}, declared)["data_parallel_mode"] is None
    assert ADAPTERS["torch"].resolve({"tensor_parallel": 2}, declared)["micro_batch_size"] == 2


@pytest.mark.parametrize(
    ("adapter", "settings", "key", "words"),
    [
        ("torch", {"data_parallel": 3}, "data_parallel", r"must divide global_batch_size \(2\), got 3"),
        ("torch", {"data_parallel": 2, "micro_batch_size": 2}, "micro_batch_size", "each of 2 ranks' share"),
        ("torch", {"data_parallel_mode": "fsdp2"}, "data_parallel_mode", "no meaning without `data_parallel`"),
        ("torch", {"data_parallel": 2, "data_parallel_mode": "fsdp"}, "data_parallel_mode", "'ddp' or 'fsdp2'"),
        ("torch", {"tensor_parallel": 3}, "tensor_parallel", r"must divide heads \(2\), got 3"),
        ("torch", {"tensor_parallel": 2, "data_parallel": 2}, "tensor_parallel", "data_parallel_mode: fsdp2"),
        ("torch", {"device": "tpu"}, "device", "'cpu' or 'cuda'"),
        ("deepspeed", {}, "zero_stage", "is missing"),
        ("deepspeed", {"zero_stage": 4}, "zero_stage", "at most 3, got 4"),
        ("deepspeed", {"zero_stage": 1, "data_parallel": 3}, "data_parallel", "must divide global_batch_size"),
        ("deepspeed", {"zero_stage": 1, "compile": True}, "compile", "unknown setting"),
        ("deepspeed", {"zero_stage": 0, "offload_optimizer": "cpu"}, "offload_optimizer", "zero_stage of 1 or more"),
        (
            "deepspeed",
            {"zero_stage": 2, "offload_optimizer": "cpu", "optimizer": "adamw"},
            "optimizer",
            "must be cpu_adam",
        ),
    ],
)
def test_a_plan_that_cannot_be_run_is_refused_before_anything_is_launched(declared, adapter, settings, key, words):
    with pytest.raises(SettingsError, match=words) as error:
        ADAPTERS[adapter].resolve(settings, declared)
    assert error.value.key == key


def test_deepspeed_settings_are_filled_in(declared):
    assert ADAPTERS["deepspeed"].resolve({"zero_stage": 2, "data_parallel": 2}, declared) == {
        "zero_stage": 2,
        "data_parallel": 2,
        "micro_batch_size": 1,
        "threads": 1,
        "attention": "sdpa",
        "activation_checkpointing": False,
        "offload_optimizer": "none",
        "optimizer": "adamw",
        "overlap_comm": None,
        "reduce_bucket_size": None,
        "device": "cpu",
    }
    offloaded = ADAPTERS["deepspeed"].resolve({"zero_stage": 2, "offload_optimizer": "cpu"}, declared)
    assert offloaded["optimizer"] == "cpu_adam"


def test_frameworks_share_model_and_data_and_have_scripts_of_their_own(tmp_path):
    trials = [
        make_trial(tmp_path, {}),
        make_trial(tmp_path, {"data_parallel": 2}),
        make_trial(tmp_path, {"zero_stage": 1, "data_parallel": 2}, adapter="deepspeed"),
    ]
    found = [ADAPTERS[trial.stack.adapter].digests(trial) for trial in trials]
    assert len({(each["model"], each["dataset"]) for each in found}) == 1
    assert len({each["adapter"] for each in found}) == 3


def test_script_starts_every_rank_and_bounds_a_collective_by_the_launchs_limit(tmp_path):
    trial = make_trial(tmp_path, {"data_parallel": 2, "data_parallel_mode": "fsdp2", "tensor_parallel": 2})
    ADAPTERS["torch"].write_launch(trial, tmp_path / "launch")
    script = (tmp_path / "launch/run.sh").read_text()
    assert 'launch_ranks.py" 4 "$here/parallel.py" "$here/trial.json"' in script
    assert "build_ops.py" not in script
    assert "DS_ACCELERATOR" not in script
    assert json.loads((tmp_path / "launch/trial.json").read_bytes())["collective_timeout_s"] == 600


def test_extensions_are_built_before_the_memory_is_limited(tmp_path):
    settings = {"zero_stage": 1, "data_parallel": 2, "offload_optimizer": "cpu"}
    trial = make_trial(tmp_path, settings, adapter="deepspeed", memory_limit="600 MiB")
    ADAPTERS["deepspeed"].write_launch(trial, tmp_path / "launch")
    lines = (tmp_path / "launch/run.sh").read_text().splitlines()
    build = next(place for place, line in enumerate(lines) if "build_ops.py" in line)
    assert "cpu_adam" in lines[build]
    assert "$STACKPROOF_WORKSPACE/.stackproof/" in lines[build]
    assert build < lines.index(f"ulimit -d {600 * 1024}")
    assert "export DS_ACCELERATOR=cpu" in lines


def test_what_is_missing_is_known_before_a_launch(tmp_path, monkeypatch):
    trial = make_trial(tmp_path, {"zero_stage": 1}, adapter="deepspeed")
    own = make_trial(
        tmp_path, {"zero_stage": 1}, adapter="deepspeed", environment={"requirements": "environments/deepspeed.txt"}
    )
    monkeypatch.setattr("importlib.metadata.distribution", _nothing_is_installed)
    found = ADAPTERS["deepspeed"].missing(trial)
    assert (found.what, found.install) == ("deepspeed is not installed", "pip install 'stackproof[deepspeed]'")
    # A stack with an environment of its own gets its packages there, but takes the compiler from this machine.
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert "DeepSpeed's extensions needs a C++ compiler" in ADAPTERS["deepspeed"].missing(own).what


def _nothing_is_installed(name):
    import importlib.metadata

    raise importlib.metadata.PackageNotFoundError(name)


def test_cuda_on_a_host_without_gpus_is_a_missing_prerequisite(tmp_path):
    from collector.telemetry import nvml

    if not isinstance(nvml.device_count(), str):
        pytest.skip("this host has GPUs")
    trial = make_trial(
        tmp_path, {"data_parallel": 2, "device": "cuda"}, environment={"requirements": "environments/torch.txt"}
    )
    assert "needs an NVIDIA GPU" in ADAPTERS["torch"].missing(trial).what
