"""`stackproof shortlist`: what is drafted from public rows, what a file keeps, what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from collector.shortlist import insertion, stack_text
from collector.shortlist.text import one_line, scalar
from ledger import benchmark as benchmark_file
from ledger.errors import InputError
from tests import factory
from tests.collector.conftest import run_cli
from tests.public_rows import imported, row, stored

FILE = """\
# A benchmark with its comments.
name: tiny
question: Which?   # the question
workload: {workload}
stacks:
  slow:
    adapter: torch
    settings: &one {{threads: 1}}
  # The second one.
  fast:
    adapter: torch
    settings: *one  # the same
  # Belongs to the stacks.

# The envelope.
envelope: {{limits: {{evaluation_loss: "<= 3.0"}}, objective: {{minimise: step_time}}}}
"""


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "workspace"
    (root / "evidence").mkdir(parents=True)
    (root / "benchmarks").mkdir()
    (root / "mkdocs.yml").write_text("site_name: test\n")
    monkeypatch.chdir(root)
    return root


def write(workspace: Path, text: str | None = None) -> Path:
    path = workspace / "benchmarks/tiny.yaml"
    path.write_text(text or FILE.format(workload=json.dumps(factory.BENCHMARK["workload"])))
    return path


def serving(name: str, framework: str, **changes: Any) -> Any:
    workload = {"kind": "serve", "model": "qwen3-4b", "precision": "bfloat16", "concurrency": 8, "output_length": 64}
    return stored(name, framework=framework, workload={**workload, **changes.pop("workload", {})}, **changes)


def shortlisted(*arguments: str) -> dict[str, Any]:
    code, out, err = run_cli("shortlist", *arguments, "--format", "json")
    assert (code, err) == (0, "")
    found: dict[str, Any] = json.loads(out)
    return found


def test_an_existing_file_keeps_every_line_and_gets_its_stacks_after_the_last(workspace: Path) -> None:
    path = write(workspace)
    before = path.read_text()
    digest = imported(workspace, stored("Row One", settings={"compile": True, "driver": "cuda_12.4"}))
    found = shortlisted("tiny")
    after = path.read_text()
    start = before.index("\n# The envelope.")
    assert after.startswith(before[:start])
    assert after.endswith(before[start:])
    added = after[start : len(after) - len(before[start:])]
    assert "  # public, not verified here: made, Row One (public/made/" in added
    assert "Not carried over: driver=cuda_12.4" in added
    stack = benchmark_file.read(path).benchmark.stacks["row-one"]
    assert (stack.adapter, stack.settings) == ("torch", {"compile": True, "device": "cuda"})
    assert stack.public == f"{digest}/Row One"
    assert [each["stack"] for each in found["added"]] == ["row-one"]


def test_running_again_adds_nothing(workspace: Path) -> None:
    path = write(workspace)
    imported(workspace, stored("one"), stored("two", framework="megatron-lm"))
    assert len(shortlisted("tiny")["added"]) == 2
    before = path.read_bytes()
    again = shortlisted("tiny")
    assert (again["added"], len(again["there_already"]), again["written"]) == ([], 2, False)
    assert path.read_bytes() == before


def test_the_same_result_from_another_collection_is_not_added_again(workspace: Path) -> None:
    write(workspace)
    imported(workspace, stored("one", {"step_time@made": 1.0}))
    assert len(shortlisted("tiny")["added"]) == 1
    cannot = dict.fromkeys(("quality", "repeats", "work_per_step", "requests"), "no")
    imported(workspace, stored("one", {"step_time@made": 1.0}, shows={"trace": "x", "cost": "y"}, cannot_show=cannot))
    assert shortlisted("tiny")["added"] == []


def test_a_dry_run_prints_the_text_and_writes_nothing(workspace: Path) -> None:
    path = write(workspace)
    before = path.read_bytes()
    imported(workspace, stored("one"))
    code, out, _ = run_cli("shortlist", "tiny", "--dry-run")
    assert code == 0
    assert "    adapter: torch" in out
    assert "nothing written" in out
    assert path.read_bytes() == before


def test_what_cannot_be_launched_as_it_is_goes_in_as_a_comment_and_stops_nothing(workspace: Path) -> None:
    path = write(workspace)
    imported(
        workspace,
        stored("megatron", framework="megatron-lm"),
        stored("zero", framework="deepspeed"),
        stored("split", workload={"kind": "train", "model": "tiny-llama", "parallelism": {"tp": 64}}),
    )
    why = {each["stack"]: each["why_not"] for each in shortlisted("tiny")["added"]}
    assert "`command` launches `command` work, which this `train` benchmark is not" in why["megatron"]
    assert why["zero"] == "deepspeed cannot take these settings: zero_stage is missing: 0, 1, 2 or 3"
    assert "must divide heads (2), got 64" in why["split"]
    assert list(benchmark_file.read(path).benchmark.stacks) == ["slow", "fast"]
    assert '#   public: "' in path.read_text()
    assert run_cli("collect", "tiny", "--dry-run")[0] == 0


def test_rows_that_failed_there_or_do_other_work_are_left_out_and_told(workspace: Path) -> None:
    write(workspace)
    imported(workspace, stored("broken", state="failed", failure="OOM"), serving("served", "vllm"), stored("good"))
    found = shortlisted("tiny")
    assert [each["stack"] for each in found["added"]] == ["good"]
    assert found["left_out"] == {"of another phase": 1, "that failed there": 1}


def test_most_and_hardware_choose(workspace: Path) -> None:
    write(workspace)
    amd = {"device": "MI300X", "vendor": "amd", "class": "data centre"}
    imported(workspace, stored("a"), stored("b"), stored("c", hardware=amd))
    assert len(shortlisted("tiny", "--most", "1", "--dry-run")["added"]) == 1
    assert [each["stack"] for each in shortlisted("tiny", "--hardware", "amd", "--dry-run")["added"]] == ["c"]
    code, _, err = run_cli("shortlist", "tiny", "--hardware", "MI300")
    assert (code, err) == (2, "error: --hardware MI300: no public row is of this hardware; did you mean 'MI300X'?\n")


def test_a_row_may_be_named_whatever_it_fits(workspace: Path) -> None:
    path = write(workspace)
    imported(workspace, stored("far", workload={"kind": "train", "model": "qwen3-4b"}))
    assert shortlisted("tiny")["added"] == []
    assert [each["stack"] for each in shortlisted("tiny", "--row", "far")["added"]] == ["far"]
    assert "far" in benchmark_file.read(path).benchmark.stacks
    code, _, err = run_cli("shortlist", "tiny", "--row", "fär")
    assert code == 2
    assert "no public row has this name; did you mean 'far'?" in err


def test_settings_are_mapped_as_far_as_the_adapter_knows_them(workspace: Path) -> None:
    imported(
        workspace,
        serving(
            "one",
            "vllm",
            framework_version="0.19.0",
            workload={"parallelism": {"tp": 4, "pp": 2, "dp_replicate": 1}},
            settings={"max_num_seqs": 64, "environment": {"LD_PRELOAD": "x.so"}},
        ),
    )
    found = shortlisted("served")
    (added,) = found["added"]
    assert (added["adapter"], added["settings"]) == ("vllm", {"tensor_parallel_size": 4, "max_num_seqs": 64})
    assert added["not_carried"] == ["pp=2", 'environment={"LD_PRELOAD": "x.so"}']
    assert "environment: {requirements: FILE} with vllm==0.19.0" in added["todo"]
    benchmark = benchmark_file.read(workspace / "benchmarks/served.yaml").benchmark
    assert benchmark.workload.load.concurrency == 8
    assert benchmark.workload.load.max_output_tokens == 64
    assert benchmark.workload.model.precision == "bfloat16"
    assert not benchmark.stacks["one"].environment.variables
    code, _, err = run_cli("collect", "served", "--dry-run")
    assert (code, "no such model" in err) == (2, True)


def test_a_new_file_for_frameworks_without_an_adapter_holds_launch_scripts_to_be_written(workspace: Path) -> None:
    work = {"kind": "train", "model": "llama-3.1-8b", "samples_per_step": 32, "sequence_length": 1024}
    rows = [
        stored(name, framework="torchtitan", workload={**work, "parallelism": {"tp": n}})
        for n, name in ((2, "a"), (4, "b"))
    ]
    imported(workspace, *rows)
    found = shortlisted("big")
    assert (found["new_file"], found["written"]) == (True, True)
    benchmark = benchmark_file.read(workspace / "benchmarks/big.yaml").benchmark
    assert benchmark.workload.kind == "command"
    assert benchmark.workload.work_per_step.samples == 32
    assert "llama-3.1-8b" in benchmark.workload.task
    assert benchmark.stacks["b"].settings == {"script": "launch/b.sh", "parameters": {"tp": 4}}
    code, _, err = run_cli("collect", "big", "--dry-run")
    assert (code, "launch/a.sh is not there" in err) == (2, True)
    (workspace / "launch").mkdir()
    for name in "ab":
        (workspace / f"launch/{name}.sh").write_text("echo\n")
    assert run_cli("collect", "big", "--dry-run")[0] == 0
    assert shortlisted("big")["added"] == []


def test_a_new_file_needs_one_kind_of_work_and_one_model(workspace: Path) -> None:
    imported(workspace, stored("a"), serving("b", "vllm"), serving("c", "vllm", workload={"model": "llama-8b"}))
    assert "are of serve and train work" in run_cli("shortlist", "new")[2]
    assert "are of several models (llama-8b, qwen3-4b)" in run_cli("shortlist", "new", "--phase", "serve")[2]
    assert run_cli("shortlist", "new", "--phase", "serve", "--model", "gpt-oss-20b")[0] == 2
    assert not (workspace / "benchmarks/new.yaml").exists()
    assert run_cli("shortlist", "new", "--phase", "serve", "--model", "Qwen3-4B")[0] == 0


def test_a_new_file_is_made_only_of_rows_that_tell_what_is_asked_for(workspace: Path) -> None:
    silent = stored("silent", workload={"kind": "train"}, hardware={})
    imported(workspace, stored("tells"), silent)
    found = shortlisted("new", "--phase", "train", "--model", "tiny-llama", "--hardware", "A100")
    assert [each["stack"] for each in found["added"]] == ["tells"]
    assert found["left_out"] == {"that do not tell what is asked for": 1}


def test_mistakes_are_one_line(workspace: Path) -> None:
    path = write(workspace)
    assert "holds no public result; import one first" in run_cli("shortlist", "tiny")[2]
    imported(workspace, stored("a"))
    path.write_text("name: tiny\n")
    code, _, err = run_cli("shortlist", "tiny")
    assert (code, err.count("\n")) == (2, 1)
    code, _, err = run_cli("shortlist", "No Name", "--phase", "train")
    assert (code, "must be a name" in err) == (2, True)
    write(workspace)
    assert "is a `train` benchmark, not `serve`" in run_cli("shortlist", "tiny", "--phase", "serve")[2]


@pytest.mark.parametrize(
    ("stacks", "line"),
    [("stacks: {a: {adapter: torch}}\n", 3), ("stacks:\n  {a: {adapter: torch}}\n", 3)],
)
def test_stacks_in_braces_are_refused_with_their_line(workspace: Path, stacks: str, line: int) -> None:
    workload = f"workload: {json.dumps(factory.BENCHMARK['workload'])}\n"
    text = f"name: tiny\nquestion: Which?\n{stacks}{workload}envelope: {{objective: {{minimise: step_time}}}}\n"
    path = write(workspace, text)
    imported(workspace, stored("a"))
    code, _, err = run_cli("shortlist", "tiny")
    assert (code, f"tiny.yaml:{line}: stacks: is written in braces" in err) == (2, True)
    assert path.read_text() == text


TAILS = (
    "",
    "\n",
    "\n\n# end\n",
    "\n  # of a stack\n# end\n",
    "\nrepeats: {initial: 3}\n",
    "\n\n\nrepeats:\n  initial: 3\n",
)
LAST = (
    "  a:\n    adapter: torch",
    "  a: {adapter: torch}",
    "  a:\n    adapter: torch\n    description: >-\n      folded\n      # text, no comment",
    "  a:\n    adapter: torch\n    description: |\n      kept\n\n",
    "  a:\n    adapter: torch\n    roles:\n    - timed",
    "      a:\n       adapter: torch  # with a comment",
    "  a:\n    adapter: torch\n    description: plain text\n      on two lines",
)


@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("last", LAST)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_stacks_are_added_wherever_the_last_one_ends(last: str, tail: str, end: str) -> None:
    workload = json.dumps(factory.BENCHMARK["workload"])
    head = f"name: tiny\nquestion: W?\nenvelope: {{objective: {{minimise: step_time}}}}\nworkload: {workload}\n"
    text = f"{head}stacks:\n{last}{tail}".replace("\n", end)
    file = benchmark_file.parse(text, Path("tiny.yaml"))
    place = insertion.place(file)
    assert text[place.offset :].strip(" \r\n")[:1] in ("", "#", "r")
    draft = stack_text.draft(row("new", framework="pytorch"), "new", file.benchmark)
    result = insertion.inserted(file, [stack_text.text(draft, place.indent, place.step)], place)
    again = benchmark_file.parse(result, Path("tiny.yaml"))
    assert list(again.benchmark.stacks) == ["a", "new"]
    assert again.benchmark.stacks["a"] == file.benchmark.stacks["a"]
    assert again.benchmark.repeats == file.benchmark.repeats
    assert result.startswith(text[: place.offset])
    assert result.endswith(text[place.offset :])
    assert (end == "\r\n") is (result.count("\r\n") == result.count("\n") and "\r\n" in result)


@settings(max_examples=150, deadline=None)
@given(text=st.text(st.characters(exclude_categories=("Cs",)), max_size=80), key=st.text(max_size=20))
def test_whatever_a_row_says_stays_a_comment_or_a_scalar(text: str, key: str) -> None:
    file = benchmark_file.parse(factory.benchmark_text(), Path("tiny.yaml"))
    name = f"x{text}"
    published = row(name, title=text, framework=text, problems=((key, text),), settings={key: text, "driver": [text]})
    named = stack_text.unique_name(published, set(file.benchmark.stacks))
    drafted = stack_text.draft(published, named, file.benchmark)
    assert drafted.inactive
    place = insertion.place(file)
    lines = stack_text.text(drafted, place.indent, place.step)
    assert all(line.strip().startswith("#") for line in lines.splitlines())
    result = insertion.inserted(file, [lines], place)
    assert benchmark_file.parse(result, Path("tiny.yaml")).benchmark == file.benchmark


@given(st.recursive(st.text() | st.integers() | st.booleans() | st.none(), lambda inner: st.lists(inner, max_size=3)))
def test_harmless_values_come_back_from_the_file(value: Any) -> None:
    def harmless(each: Any) -> Any:
        return [*map(harmless, each)] if isinstance(each, list) else one_line(each) if isinstance(each, str) else each

    clean = harmless(value)
    assert yaml.safe_load(f"a: {scalar(clean)}")["a"] == clean


def test_a_file_that_changed_meanwhile_is_not_written_over(workspace: Path) -> None:
    from collector.shortlist import drafting

    path = write(workspace)
    drafted = drafting.into(benchmark_file.read(path), [row("one", framework="pytorch")], [])
    path.write_text(path.read_text() + "# mine\n")
    with pytest.raises(InputError, match="was changed meanwhile"):
        drafting.write(drafted)
    assert path.read_text().endswith("# mine\n")
