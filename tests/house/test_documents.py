"""README, CONTRIBUTING and the Makefile say only what is there: commands, options, targets, files."""

import re
import shlex
from pathlib import Path

import click
import pytest
import yaml

import stackproof
from ledger.benchmark import Intervention
from ledger.traces.libraries import libraries

ROOT = Path(__file__).parents[2]
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "collector/workspace_template/README.md", "docs/index.md")
PRESENT = [name for name in DOCUMENTS if (ROOT / name).is_file()]


def read(name: str) -> str:
    return (ROOT / name).read_text()


def subcommand(name: str) -> click.Command:
    found = stackproof.cli.get_command(click.Context(stackproof.cli), name)
    assert found is not None, f"no command {name}"
    return found


def quoted_commands(text: str) -> list[list[str]]:
    """Every `stackproof …` in code, as words; a call in prose counts with the words it shows."""
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    lines += re.findall(r"`(stackproof [^`]+)`", text.replace("\n", " "))
    lines += re.findall(r"^ {4}(stackproof .*)$", text, re.MULTILINE)
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("stackproof ")]


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", read("Makefile"), re.MULTILINE))


@pytest.mark.parametrize("name", list(stackproof.COMMANDS))
def test_every_command_has_help_with_an_example(name: str) -> None:
    command = subcommand(name)
    text = command.get_help(click.Context(command, info_name=name))
    assert re.search(rf"Examples?:\s+stackproof {name}\b", text), text
    assert command.get_short_help_str()


@pytest.mark.parametrize("name", list(stackproof.COMMANDS))
def test_every_option_is_explained(name: str) -> None:
    command = subcommand(name)
    parts = command.commands.values() if isinstance(command, click.Group) else [command]
    options = [option for part in parts for option in part.params if isinstance(option, click.Option)]
    assert [option.name for option in options if not option.help] == []


@pytest.mark.parametrize("document", PRESENT)
def test_documented_commands_and_options_exist(document: str) -> None:
    for words in quoted_commands(read(document)):
        if words[0] in {"COMMAND", "--version", "--help"}:
            continue
        command = subcommand(words[0])
        known = {name for option in command.params for name in (*option.opts, *option.secondary_opts)} | {"--help"}
        used = {word.partition("=")[0] for word in words[1:] if word.startswith("-")}
        assert used <= known, f"{document}: stackproof {' '.join(words)}"


def test_readme_begins_with_the_two_commands() -> None:
    block = re.search(r"```sh\n(.*?)```", read("README.md"), re.DOTALL)
    assert block is not None
    assert [line.split("#")[0].strip() for line in block[1].splitlines()] == ["make demo", "make test"]


@pytest.mark.parametrize("document", [*PRESENT, ".ci/run"])
def test_documented_targets_exist(document: str) -> None:
    text = read(document)
    code = text if document == ".ci/run" else "\n".join(re.findall(r"`[^`]+`|```sh\n.*?```", text, re.DOTALL))
    named = set(re.findall(r"\bmake ([a-z][a-z-]+)", code))
    assert named <= make_targets(), f"{document}: {sorted(named - make_targets())}"


@pytest.mark.parametrize("document", [*PRESENT, "CHANGELOG.md"])
def test_documented_paths_exist(document: str) -> None:
    text = read(document)
    if document.startswith("collector/"):
        return  # its paths are those of the workspace that it is copied to
    rooms = r"(?:collector|ledger|sitegen|site_templates|tests|evidence|docs|\.ci)/"
    linked = re.findall(r"\]\((?!https?:|#)([^)#]+)", text)
    named = [ROOT / name for name in re.findall(rf"`({rooms}[\w./-]*)`", text)]
    named += [(ROOT / document).parent / name for name in linked]
    missing = [str(path.relative_to(ROOT)) for path in named if not path.exists()]
    assert missing == [], f"{document} names what is not there"


def test_every_target_is_listed_and_documented() -> None:
    listed = set(re.findall(r"^([a-z-]+):.*## ", read("Makefile"), re.MULTILINE))
    phony = re.search(r"^\.PHONY: (.*)$", read("Makefile"), re.MULTILINE)
    assert phony is not None
    assert listed == set(phony[1].split()) == make_targets()


def test_ci_runs_every_test_target_and_the_demo() -> None:
    called = set(re.findall(r"\bmake ([a-z-]+)", read(".ci/run")))
    assert called >= {name for name in make_targets() if name.startswith("test")} | {"demo"}


def test_every_marker_has_a_target() -> None:
    pyproject = read("pyproject.toml")
    markers = re.search(r"markers = \[(.*?)\]", pyproject, re.DOTALL)
    assert markers is not None
    for name in re.findall(r'"(\w+):', markers[1]):
        assert re.search(rf"-m \"?[^\n]*\b{name}\b", read("Makefile")), f"no target runs the tests marked {name}"


def test_every_library_that_observe_knows_is_documented() -> None:
    text = read("docs/how-to-read.md")
    assert [name for name in libraries() if f"`{name}`" not in text] == []


def test_the_documented_intervention_can_be_declared() -> None:
    text = (ROOT / "docs/how-to-read.md").read_text()
    block = next(each for each in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL) if "interventions:" in each)
    (change,) = yaml.safe_load(block)["interventions"].values()
    assert Intervention.model_validate(change).claim == "slower_class"
