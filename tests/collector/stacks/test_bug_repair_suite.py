"""The shipped suite: every bug is one, every repair passes, and the harness without a model finds what it can."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from collector import repository_tasks
from collector.new_workspace import EXAMPLES
from collector.stacks import task_suite

SUITE = EXAMPLES / "suites/bug-repair"
TASKS = task_suite.read(SUITE).tasks


def tried(name: str, harness: str, **variables: str) -> tuple[bool | None, str | None]:
    return repository_tasks.tried(SUITE, name, harness, variables)


@pytest.mark.parametrize("name", sorted(TASKS))
def test_a_bug_fails_and_its_repair_passes(name):
    accepted, why = tried(name, "true")
    assert accepted is False
    assert "the check failed" in why
    (broken,) = (SUITE / name / "files").rglob("*.py")
    whole = SUITE / "package" / broken.relative_to(SUITE / name / "files")
    repair = f"cp {whole} {broken.relative_to(SUITE / name / 'files')}"
    assert tried(name, repair) == (True, None)


def test_its_tests_may_not_be_changed():
    accepted, _ = tried("leap-years", "rm -r tests; mkdir tests; touch tests/__init__.py")
    assert accepted is False


@pytest.mark.parametrize(("name", "accepted"), [("best-first", True), ("one-too-few-kept", True), ("put-twice", False)])
def test_the_harness_without_a_model_repairs_what_one_small_change_repairs(name, accepted, tmp_path):
    shutil.copytree(EXAMPLES / "harnesses", tmp_path / "harnesses")
    harness = f"{sys.executable} -B {tmp_path}/harnesses/mutations.py"
    assert tried(name, harness)[0] is accepted


def test_the_shown_tests_pass_in_the_whole_package():
    package = sorted(Path(SUITE / "package/pocket").glob("[a-z]*.py"))
    assert len(package) == 7
    assert {Path(next((SUITE / name / "files").rglob("*.py"))).name for name in TASKS} == {p.name for p in package}
