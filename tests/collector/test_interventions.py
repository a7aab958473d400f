"""`collect --interventions`: what is planned, launched and sealed, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ledger import verify
from ledger.run import Role
from ledger.run_folder import RunFolder, scan
from tests.collector.conftest import GOOD, git, write

Cli = Callable[..., tuple[int, str, str]]
CHANGE = {
    "description": "Writes less.",
    "stack": "slow",
    "settings": {"script": f": less\n{GOOD}"},
    "claim": "host_bound",
}


def declare(workspace: Path, changes: dict[str, Any] | None = None, **interventions: Any) -> None:
    pair = {"baseline": "slow", "candidate": "fast", "threshold": "5%"}
    write(workspace, {"comparisons": [{**pair, "interventions": interventions}], **(changes or {})}, slow={}, fast={})
    git(workspace, "add", "-A")
    git(workspace, "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "declare")


def sealed_tests(workspace: Path) -> list[RunFolder]:
    found = [each for each in scan(workspace / "evidence") if each.run.role is Role.INTERVENTION]
    return sorted(found, key=lambda each: each.run.launch_order)


def test_each_round_launches_both_sides_and_the_changed_one_and_turns_round(workspace: Path, stackproof: Cli) -> None:
    declare(workspace, less=CHANGE)
    code, out, err = stackproof("collect", "tiny", "--interventions")
    assert (code, "9 launched: 9 completed, 0 failed" in out) == (0, True), (out, err)
    runs = [each.run for each in sealed_tests(workspace)]
    made = [(run.stack, run.repeat, run.arm and run.arm.changed) for run in runs]
    first = [("slow", 1, False), ("fast", 1, False), ("slow", 1, True)]
    assert made[:6] == [*first, *[(stack, 2, changed) for stack, _, changed in first[::-1]]]
    assert git(workspace, "status", "--porcelain") == ""
    assert verify.verify_evidence(workspace / "evidence").findings == ()
    changed, control = sealed_tests(workspace)[2], sealed_tests(workspace)[0]
    assert changed.run.settings["script"].startswith(": less")
    assert not control.run.settings["script"].startswith(": less")
    assert changed.run.trial_key != control.run.trial_key


def test_run_again_it_launches_nothing_and_what_is_compared_is_launched_apart(workspace: Path, stackproof: Cli) -> None:
    declare(workspace, less=CHANGE)
    stackproof("collect", "tiny", "--interventions")
    _, out, _ = stackproof("collect", "tiny", "--interventions")
    assert "0 launched" in out
    assert "9 sealed already" in out
    _, out, _ = stackproof("collect", "tiny")
    assert "10 launched: 10 completed" in out
    verdicts = json.loads(stackproof("compare", "tiny", "--format", "json")[1])["verdicts"]
    planned = {(each["stack"], each["role"]): each["planned"] for each in verdicts[0]["counts"]}
    assert planned == {(s, r): n for s in ("slow", "fast") for r, n in (("warmup", 1), ("timed", 3), ("profiled", 1))}


def test_variables_reach_the_changed_launch_alone(workspace: Path, stackproof: Cli) -> None:
    change = {**CHANGE, "settings": {}, "variables": {"MORE_CARE": "1"}}
    declare(workspace, careful=change)
    code, out, err = stackproof("collect", "tiny", "--interventions", "--repeats", "1")
    assert (code, "3 launched: 3 completed" in out) == (0, True), (out, err)
    keys = {each.run.environment_digest for each in sealed_tests(workspace) if each.run.stack == "slow"}
    assert len(keys) == 2


def test_a_dry_run_names_the_launches_and_launches_none(workspace: Path, stackproof: Cli) -> None:
    declare(workspace, less=CHANGE)
    _, out, _ = stackproof("collect", "tiny", "--interventions", "--dry-run")
    assert "less as it is" in out
    assert "less changed" in out
    assert "power" not in out
    assert sealed_tests(workspace) == []
    plan = json.loads(stackproof("collect", "tiny", "--interventions", "--dry-run", "--format", "json")[1])
    assert plan["planned"][2]["arm"] == {"intervention": "less", "changed": True}


def test_the_catalog_tells_them_apart(workspace: Path, stackproof: Cli) -> None:
    declare(workspace, less=CHANGE)
    stackproof("collect", "tiny", "--interventions", "--repeats", "1")
    sql = "SELECT stack, intervention, changed FROM runs ORDER BY launch_order"
    rows = json.loads(stackproof("query", sql, "--format", "json")[1])
    assert [tuple(row.values()) for row in rows] == [
        ("slow", "less", False),
        ("fast", "less", False),
        ("slow", "less", True),
    ]


def test_a_file_without_any_says_how_to_declare_one(workspace: Path, stackproof: Cli) -> None:
    code, _, err = stackproof("collect", "tiny", "--interventions")
    assert code == 2
    assert "declares no intervention; add `interventions` to one of its comparisons" in err


def test_a_stack_alone_has_nothing_to_be_tested_against(workspace: Path, stackproof: Cli) -> None:
    declare(workspace, less=CHANGE)
    code, _, err = stackproof("collect", "tiny", "--interventions", "--stack", "slow")
    assert code == 2
    assert "declares no intervention between the chosen stacks" in err


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"stack": "other"}, "'other' is not compared here"),
        ({"settings": {}}, "changes nothing"),
        ({"settings": {"scirpt": "x"}}, "as slow is changed: stacks.slow.settings.scirpt: unknown setting"),
        ({"claim": None}, "claim"),
        ({"variables": {"NOT A NAME": "1"}}, "NOT A NAME"),
    ],
)
def test_a_wrong_declaration_is_one_line_with_its_place(
    workspace: Path, stackproof: Cli, change: dict[str, Any], said: str
) -> None:
    declare(workspace, less={**CHANGE, **change})
    code, _, err = stackproof("collect", "tiny", "--interventions")
    assert code == 2
    assert said in err
    assert "tiny.yaml:" in err
    assert len(err.strip().splitlines()) == 1
    assert sealed_tests(workspace) == []


def test_one_name_for_two_tests_is_refused(workspace: Path, stackproof: Cli) -> None:
    pair = {"baseline": "slow", "threshold": "5%", "interventions": {"less": CHANGE}}
    both = [{**pair, "candidate": "fast"}, {**pair, "candidate": "third"}]
    write(workspace, {"comparisons": both}, slow={}, fast={}, third={})
    code, _, err = stackproof("collect", "tiny", "--interventions")
    assert code == 2
    assert "is declared for two comparisons" in err
