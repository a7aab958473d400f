"""Bad input to `collect`: one clear line, exit 2, nothing written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import factory
from tests.collector.conftest import write

Cli = Callable[..., tuple[int, str, str]]

STACK = {"adapter": "script"}
PAIR = {"baseline": "a", "candidate": "a", "threshold": "5%"}


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"stacks": {}, "comparisons": []}, "stacks: must have at least one entry"),
        ({"repeats": {"initial": -1}}, "repeats.initial: must be at least 1, got -1"),
        ({"stacks": {"a": {**STACK, "repeats": 0}}}, "stacks.a.repeats: must be at least 1, got 0"),
        ({"repeat": {"initial": 1}}, "repeat: unknown key; did you mean 'repeats'?"),
        ({"stacks": {"a": {**STACK, "setings": {}}}}, "stacks.a.setings: unknown key; did you mean 'settings'?"),
        ({"stacks": {"a": {"adapter": "scirpt"}}}, "a.adapter: unknown adapter 'scirpt'; did you mean 'script'?"),
        ({"stacks": {"a": {"adapter": "jax"}}}, "unknown adapter 'jax'; known: torch, deepspeed, imported, script"),
        ({"stacks": {"a": {**STACK, "settings": {"scrip": ""}}}}, "unknown setting; did you mean 'script'?"),
        ({"timeout": []}, "timeout: must be a duration such as '10 min', got []"),
        ({"stacks": {"a": {**STACK, "repeats": 10**9}}}, "stacks.a.repeats: must be at most 1000, got 1000000000"),
        ({"envelope": {"objective": {"minimise": "step_tim"}}}, "'step_tim' that this version measures; did you mean"),
        ({"timeout": "soon"}, "timeout: must be a duration such as '10 min', got 'soon'"),
        ({"comparisons": [{**PAIR, "candidate": "b"}]}, "comparisons.0.candidate: no stack 'b'"),
        ({"comparisons": [PAIR]}, "compares a stack with itself"),
        ({"envelope": {"limits": {}, "objective": {}}}, "exactly one of minimise and maximise"),
        ({"name": "status"}, "the name 'status' is reserved"),
    ],
)  # fmt: skip
def test_each_mistake_in_a_benchmark_file_is_one_line(
    workspace: Path, stackproof: Cli, changes: dict[str, Any], line: str
) -> None:
    path = factory.write_benchmark(workspace / "benchmarks", **{"stacks": {"a": STACK}, "comparisons": [], **changes})
    code, out, err = stackproof("collect", path.stem)
    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert err.startswith("error: ")
    assert line in err
    assert f"{path.name}:" in err
    assert list((workspace / "evidence").iterdir()) == []


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "must be a mapping of keys to values, got empty"),
        ("- a\n- b\n", "must be a mapping of keys to values, got a list"),
        ("name: tiny\n  question: x\n", "tiny.yaml:2: is not valid YAML"),
        ("name: tiny\nname: tiny\n", "tiny.yaml:2: is not valid YAML (the key 'name' stands twice)"),
        ("name: [" * 400, "is not valid YAML"),
        ("name: \x00", "is not valid YAML"),
        ("a: &a [*a]\nname: tiny\n", "unknown key"),
        ("name: tiny\n? [a, b]\n: 1\n", "tiny.yaml:2: is not valid YAML (a key must be plain text"),
        ("{}: 1\n", "tiny.yaml:1: is not valid YAML (a key must be plain text"),
        ("name: tiny\nquestion: !!timestamp foo\n", "tiny.yaml:2: is not valid YAML (the tag !!timestamp has no"),
        ('name: "a\\0b"\n', "holds a NUL or half a character"),
        ('name: "a\\ud800b"\n', "holds a NUL or half a character"),
        ("name: !!bool foo\n", "tiny.yaml:1: is not valid YAML ('foo' is no !!bool)"),
        ("name: !!int ''\n", "tiny.yaml:1: is not valid YAML ('' is no !!int)"),
        ("name: !!map [x]\n", "tiny.yaml:1: is not valid YAML (expected a mapping node"),
        ("name: !!set {a, b}\n", "the tag !!set has no meaning here"),
    ],
)
def test_a_file_that_is_not_a_benchmark(workspace: Path, stackproof: Cli, text: str, line: str) -> None:
    (workspace / "benchmarks/tiny.yaml").write_text(text)
    code, _, err = stackproof("collect", "tiny")
    assert (code, err.count("\n"), line in err) == (2, 1, True), err


def test_bytes_that_are_no_text(workspace: Path, stackproof: Cli) -> None:
    (workspace / "benchmarks/tiny.yaml").write_bytes(b"name: \xff\xfe\n")
    code, _, err = stackproof("collect", "tiny")
    assert (code, err.count("\n"), "is not UTF-8 text" in err) == (2, 1, True)


def test_a_benchmark_that_is_not_there(workspace: Path, stackproof: Cli) -> None:
    code, _, err = stackproof("collect", "tine")
    assert (code, "no benchmark 'tine'; use one of: tiny" in err) == (2, True)
    code, _, err = stackproof("collect", "benchmarks/none.yaml")
    assert (code, "no such benchmark file" in err) == (2, True)


def test_an_unknown_profile_or_stack_names_the_known_ones(workspace: Path, stackproof: Cli) -> None:
    code, _, err = stackproof("collect", "tiny", "--stack", "fastt")
    assert (code, "no stack 'fastt'; did you mean 'fast'?" in err) == (2, True)
    code, _, err = stackproof("collect", "tiny", "--profile", "demo")
    assert (code, "no profile 'demo'" in err) == (2, True)


def test_a_mistake_inside_a_profile_is_found_before_it_is_used(workspace: Path, stackproof: Cli) -> None:
    write(workspace, {"profiles": {"demo": {"repeats": {"initial": 0}}}}, slow={})
    code, _, err = stackproof("collect", "tiny")
    assert (code, "repeats.initial: must be at least 1, got 0" in err) == (2, True)


def test_outside_of_a_workspace(tmp_path: Path, stackproof: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, err = stackproof("collect", "tiny")
    assert (code, "is not in a stackproof workspace" in err, "stackproof init DIR" in err) == (2, True, True)


def test_an_evidence_folder_that_is_a_file(workspace: Path, stackproof: Cli) -> None:
    (workspace / "evidence").rmdir()
    (workspace / "evidence").write_text("mine\n")
    code, _, err = stackproof("collect", "tiny")
    assert (code, err.count("\n"), "is a file, not an evidence folder" in err) == (2, 1, True)
    assert (workspace / "evidence").read_text() == "mine\n"


@pytest.mark.parametrize("linked", ["evidence", "evidence/tiny", "evidence/tiny/2026-11-30"])
@pytest.mark.parametrize("more", [(), ("--no-commit",), ("--dry-run",)])
def test_evidence_behind_a_link_is_refused_before_any_launch(
    workspace: Path, stackproof: Cli, tmp_path: Path, linked: str, more: tuple[str, ...]
) -> None:
    (tmp_path / "elsewhere").mkdir()
    if linked == "evidence":
        (workspace / "evidence").rmdir()
    (workspace / linked).parent.mkdir(exist_ok=True, parents=True)
    (workspace / linked).symlink_to(tmp_path / "elsewhere")
    code, _, err = stackproof("collect", "tiny", *more)
    assert (code, err.count("\n"), f"{linked}: is a symbolic link" in err) == (2, 1, True), err
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_evidence_outside_of_the_repository_is_refused_before_any_launch(
    workspace: Path, stackproof: Cli, tmp_path: Path
) -> None:
    (workspace / "mkdocs.yml").write_text("site_name: t\nextra: {stackproof: {evidence: ../outside}}\n")
    code, _, err = stackproof("collect", "tiny")
    assert (code, err.count("\n"), "lies outside the git repository" in err) == (2, 1, True), err
    assert not (tmp_path / "outside").exists()


def test_more_launches_than_a_plan_holds(workspace: Path, stackproof: Cli) -> None:
    write(workspace, {"comparisons": []}, **{f"s{number}": {} for number in range(11)})
    code, _, err = stackproof("collect", "tiny", "--repeats", "1000")
    assert (code, err.count("\n")) == (2, 1), err
    assert "asks for 11022 launches, and one plan holds at most 10000" in err
