"""A stack's own virtual environment: made once, recorded, launched in; a broken one is a failed trial."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from collector.commands.collect import command
from collector.requirements_file import requirements_digest
from collector.stacks.registry import ADAPTERS
from ledger.errors import InputError
from ledger.run_folder import scan
from tests.collector.conftest import GOOD, ScriptAdapter, write
from tests.collector.wheels import make_wheel

IMPORTS = GOOD + '\n"$STACKPROOF_PYTHON" -c "import gizmo; print(gizmo.ANSWER)"\n'


@pytest.fixture
def stacks(workspace: Path) -> Path:
    """The workspace with the stack `slow` in an environment of its own, from a wheel beside its requirements."""
    make_wheel(workspace / "environments", "gadget", "2.5")
    make_wheel(workspace / "environments", "gizmo", needs=("gadget",), code="ANSWER = 'from the wheel'\n")
    (workspace / "environments/one.txt").write_text("./gadget-2.5-py3-none-any.whl\n./gizmo-1.0-py3-none-any.whl\n")
    declare(workspace)
    return workspace


def declare(workspace: Path, requirements: str = "environments/one.txt") -> None:
    beside = {"environment": {"requirements": requirements}, "roles": ["timed"]}
    write(workspace, slow={"script": IMPORTS, "stack": beside})


def collect(*arguments: str) -> Result:
    return CliRunner().invoke(command, ["tiny", "--no-commit", *arguments])


def runs(workspace: Path) -> list[Path]:
    return [run.path for run in scan(workspace / "evidence")]


def read(run: Path, name: str = "run.json") -> dict:
    return json.loads((run / name).read_bytes())


def test_a_stack_runs_in_its_own_environment_which_is_made_once(stacks: Path) -> None:
    result = collect("--repeats", "2")
    assert result.exit_code == 0, result.output
    assert result.output.count("making the environment of one.txt") == 1
    found = runs(stacks)
    assert [read(run)["outcome"]["state"] for run in found] == ["completed"] * 2
    assert "from the wheel" in (found[0] / "logs/stdout.log").read_text()
    environment = read(found[0], "environment.json")
    assert environment["packages"]["gizmo"] == "1.0"
    assert "pytest" not in environment["packages"]
    assert environment["virtual_environment"]["requirements"] == "one.txt"
    assert "gadget==2.5" in (found[0] / "launch/freeze.txt").read_text().splitlines()


def test_another_requirements_file_is_another_trial_and_the_same_text_is_not(stacks: Path) -> None:
    collect("--repeats", "1")
    assert "1 sealed already" in collect("--repeats", "1").output
    (stacks / "environments/one.txt").write_text("./gizmo-1.0-py3-none-any.whl\n./gadget-2.5-py3-none-any.whl\n# x\n")
    plan = json.loads(collect("--repeats", "1", "--dry-run", "--format", "json").output)
    assert (len(plan["planned"]), len(plan["settled"])) == (1, 0)


def test_a_broken_install_is_a_failed_trial_with_its_reason(stacks: Path) -> None:
    (stacks / "environments/one.txt").write_text("--no-index\nno-such-thing==1.0\n")
    result = collect("--repeats", "1")
    assert result.exit_code == 0, result.output
    (run,) = runs(stacks)
    outcome = read(run)["outcome"]
    assert (outcome["state"], outcome["reason"]) == ("failed", "environment_failed")
    assert (
        "one.txt cannot be installed: ERROR: No matching distribution found for no-such-thing==1.0" in outcome["detail"]
    )
    assert "no-such-thing" in (run / "logs/stderr.log").read_text()
    assert (run / "launch/run.sh").is_file()
    assert "1 sealed already" in collect("--repeats", "1").output


def test_an_environment_left_half_made_is_made_again(stacks: Path) -> None:
    collect("--repeats", "1")
    (folder,) = [each for each in (stacks / ".stackproof/environments").iterdir() if each.is_dir()]
    (folder / "stackproof.json").unlink()
    shutil.rmtree(folder / "lib")
    assert collect("--repeats", "2").exit_code == 0
    assert [read(run)["outcome"]["state"] for run in runs(stacks)] == ["completed"] * 2


def test_an_adapter_repairs_its_environment_once_and_says_what_it_did(
    stacks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Repairing(ScriptAdapter):
        repairs = 3

        def repair(self, python: Path) -> list[str]:
            (module,) = python.parent.parent.glob("lib/*/site-packages/gizmo.py")
            module.write_text("ANSWER = 'repaired'\n")
            return ["gizmo answers as it should"]

    monkeypatch.setitem(ADAPTERS, "script", Repairing())
    collect("--repeats", "1")
    (run,) = runs(stacks)
    assert "repaired" in (run / "logs/stdout.log").read_text()
    assert read(run, "environment.json")["virtual_environment"]["repaired"] == ["gizmo answers as it should"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "stacks.slow.environment.requirements: environments/one.txt: no such requirements file"),
        ("-e ../mine\n", "one.txt:1: installs a folder that can change unseen"),
        ("click\n./mine\n", "one.txt:2: installs the folder mine, which can change unseen"),
        ("./mine.whl\n", "one.txt:1: names mine.whl, which is not there"),
        ("-r more.txt\n", "more.txt: no such requirements file"),
    ],
)
def test_a_requirements_file_that_cannot_be_used_stops_before_the_launch(
    stacks: Path, text: str | None, words: str
) -> None:
    path = stacks / "environments/one.txt"
    (stacks / "environments/mine").mkdir()
    path.unlink() if text is None else path.write_text(text)
    result = collect("--repeats", "1")
    assert result.exit_code != 0
    assert isinstance(result.exception, InputError)
    assert words in str(result.exception)
    assert runs(stacks) == []


def test_the_digest_covers_what_a_file_includes(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("-r two.txt\n-c three.txt\n")
    (tmp_path / "two.txt").write_text("click\n-r one.txt\n")
    (tmp_path / "three.txt").write_text("click<9\n")
    before = requirements_digest(tmp_path / "one.txt")
    assert requirements_digest(tmp_path / "one.txt") == before
    (tmp_path / "three.txt").write_text("click<8\n")
    assert requirements_digest(tmp_path / "one.txt") != before
