"""Settings are searched first: each trial is sealed with what chose it, and the best of them is what is compared."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from collector.stacks.interface import SettingsError, Trial
from collector.stacks.registry import ADAPTERS
from ledger import verify
from ledger.benchmark import Benchmark
from ledger.run import Role, State
from ledger.run_folder import RunFolder, scan
from tests.collector.conftest import GOOD, ScriptAdapter, git, write

Cli = Callable[..., tuple[int, str, str]]
SPACE = {"threads": [1, 2, 4], "batch": [8, 16]}
GRID = {"method": "grid", "budget": {"trials": 6}}
KNOWN = ("threads", "batch", "workers", "fails")


class Tuned(ScriptAdapter):
    """A step takes less with more threads and smaller batches; four threads fail, and a batch of 4 learns worse."""

    name = "tuned"

    def resolve(self, settings: dict[str, Any], benchmark: Benchmark) -> dict[str, Any]:
        for key in settings:
            if key not in KNOWN:
                raise SettingsError(key, "unknown setting", KNOWN)
        resolved = {"threads": 1, "batch": 8, "missing": False, "fails": 4, **settings}
        if resolved["batch"] == 16 and resolved["threads"] == 2:
            raise SettingsError("batch", "is too large for two threads", KNOWN)
        return resolved

    def write_launch(self, trial: Trial, folder: Path) -> None:
        threads, settings = trial.settings.get("workers", trial.settings["threads"]), trial.settings
        script = GOOD.replace('"duration_ns": 1000', f'"duration_ns": {1000 * settings["batch"] // (8 * threads)}')
        script = script.replace("2.0", "2.1") if settings["batch"] == 4 else script
        failing = "echo not enough memory >&2; exit 1\n" if threads == settings["fails"] else ""
        (folder / "run.sh").write_text(f"set -u\n{failing}{script}\n")


@pytest.fixture(autouse=True)
def tuned_adapter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ADAPTERS, "tuned", Tuned())


def declare(workspace: Path, search: dict[str, Any] | None = None, **stacks: dict[str, Any]) -> None:
    named = stacks or {"one": {"search": SPACE}, "two": {"search": {"threads": [1, 2]}}}
    declared = {name: {"stack": {"adapter": "tuned", **keys}} for name, keys in named.items()}
    write(workspace, {"search": search or GRID, "repeats": {"initial": 2, "max": 2, "profiled": 0}}, **declared)
    git(workspace, "add", "-A")
    git(workspace, "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "declare")


def sealed(workspace: Path, *roles: Role) -> list[RunFolder]:
    found = [each for each in scan(workspace / "evidence") if each.run.role in roles]
    return sorted(found, key=lambda each: (each.run.started_at, each.run.launch_order))


def path(workspace: Path, stack: str) -> list[tuple[int, int]]:
    """(threads, batch) of a stack's search trials in order."""
    runs = [each.run for each in sealed(workspace, Role.SEARCH) if each.run.stack == stack]
    return [(run.settings["threads"], run.settings["batch"]) for run in runs]


def test_a_grid_is_tried_whole_failures_included_and_then_the_best_is_launched(
    workspace: Path, stackproof: Cli
) -> None:
    declare(workspace)
    code, out, err = stackproof("collect", "tiny")
    assert code == 0, (out, err)
    assert path(workspace, "one") == [(1, 8), (1, 16), (2, 8), (4, 8), (4, 16)]
    assert path(workspace, "two") == [(1, 8), (2, 8)]
    runs = [each.run for each in sealed(workspace, Role.SEARCH)]
    assert [run.outcome.state for run in runs if run.settings["threads"] == 4] == [State.FAILED] * 2
    assert [run.search.number for run in runs if run.search and run.stack == "one"] == [1, 2, 3, 4, 5]
    chosen = [
        each for each in sealed(workspace, Role.SEARCH) if each.run.settings == {**runs[0].settings, "threads": 2}
    ]
    timed = [each.run for each in sealed(workspace, Role.TIMED)]
    assert [(run.stack, run.settings["threads"], run.settings["batch"]) for run in timed] == [
        ("one", 2, 8),
        ("two", 2, 8),
        ("two", 2, 8),
        ("one", 2, 8),
    ]
    assert {run.tuned.run_id for run in timed if run.tuned} == {each.run_id for each in chosen}
    plans = [json.loads(each.read_bytes()) for each in (workspace / "evidence").glob("tiny/*/plan-*.json")]
    assert {row["reason"] for plan in plans for row in plan["excluded"]} == {
        "batch=16, threads=2: stacks.one.settings.batch: is too large for two threads"
    }
    assert "search of one: 5 of 6 trials done, 2 without a value; best so far: batch=8, threads=2" in out
    assert git(workspace, "status", "--porcelain") == ""
    assert verify.verify_evidence(workspace / "evidence").findings == ()


def test_a_search_goes_on_where_it_was_broken_off(workspace: Path, stackproof: Cli) -> None:
    search = {"method": "tpe", "seed": 7, "budget": {"trials": 8}}
    space = {"threads": {"low": 1, "high": 64}, "batch": [8, 32]}
    declare(workspace, search, one={"search": space})
    code, out, err = stackproof("collect", "tiny")
    assert code == 0, (out, err)
    whole = path(workspace, "one")
    assert (len(whole), len({*whole}), whole[0]) == (8, 8, (1, 8))
    for each in sealed(workspace, *Role)[3:]:
        git(workspace, "rm", "-qr", str(each.path))
    for each in (workspace / "evidence").glob("tiny/*/plan-*.json"):
        git(workspace, "rm", "-q", "--ignore-unmatch", str(each))
    assert path(workspace, "one") == whole[:3]
    assert stackproof("collect", "tiny")[0] == 0
    assert path(workspace, "one") == whole


def test_a_trial_that_was_retracted_is_made_again_and_the_search_goes_on(workspace: Path, stackproof: Cli) -> None:
    declare(workspace, one={"search": {"threads": [1, 2, 3]}})
    assert stackproof("collect", "tiny")[0] == 0
    second = sealed(workspace, Role.SEARCH)[1]
    code, out, err = stackproof("retract", second.run_id, "--why", "wrong clock", "--who", "t")
    assert code == 0, err
    git(workspace, "add", "-f", "evidence")
    git(workspace, "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "retract")
    code, out, err = stackproof("collect", "tiny")
    assert (code, "search of one: 3 of 6 trials done" in out, "another collector" in out) == (0, True, False), (
        out,
        err,
    )
    made = [each.run for each in sealed(workspace, Role.SEARCH)]
    assert [(run.settings["threads"], run.search.number) for run in made if run.search] == [
        (1, 1),
        (2, 2),
        (3, 3),
        (2, 4),
    ]
    assert "0 launched" in stackproof("collect", "tiny")[1]


def test_what_is_outside_the_envelope_is_not_the_best(workspace: Path, stackproof: Cli) -> None:
    declare(workspace, one={"search": {"batch": [4, 8]}})
    file = workspace / "benchmarks/tiny.yaml"
    data = yaml.safe_load(file.read_text())
    data["envelope"]["limits"] = {"evaluation_loss": "<= 2.05"}
    file.write_text(yaml.safe_dump(data))
    code, out, err = stackproof("collect", "tiny")
    assert (code, path(workspace, "one")) == (0, [(1, 4), (1, 8)]), (out, err)
    assert {each.run.settings["batch"] for each in sealed(workspace, Role.TIMED)} == {8}


def test_the_transfer_matrix_maps_names_and_says_what_it_cannot_map(workspace: Path, stackproof: Cli) -> None:
    search = {**GRID, "same": [{"one": "threads", "two": "workers"}]}
    declare(workspace, search, one={"search": {"threads": [1, 2]}}, two={"search": {"workers": [2, 3]}})
    assert stackproof("collect", "tiny")[0] == 0
    code, out, err = stackproof("collect", "tiny", "--transfer", "--dry-run")
    assert (code, "8 to launch" in out, "settings of two" in out) == (0, True, True), (out, err)
    code, out, err = stackproof("collect", "tiny", "--transfer")
    assert (code, "8 launched: 8 completed" in out) == (0, True), (out, err)
    made = [(each.run.stack, each.run.tuned and each.run.tuned.stack) for each in sealed(workspace, Role.TRANSFER)]
    round_one = [("one", "one"), ("one", "two"), ("two", "one"), ("two", "two")]
    assert made == [*round_one, *round_one[::-1]]
    assert stackproof("collect", "tiny", "--transfer")[1].startswith("search of one: 2 of 6 trials done")

    declare(workspace, GRID, one={"search": {"threads": [1, 2]}}, two={"search": {"workers": [2, 3]}})
    code, out, err = stackproof("collect", "tiny", "--transfer", "--dry-run")
    assert "excluded: one (1 trial): cannot be mapped: one has no setting that is two's workers" in out, (out, err)
    assert verify.verify_evidence(workspace / "evidence").findings == ()


def test_the_catalog_the_terminal_and_the_pages_tell_of_it(workspace: Path, stackproof: Cli) -> None:
    declare(workspace, one={"search": SPACE}, two={"search": {"threads": [1, 2], "batch": [8]}})
    assert stackproof("collect", "tiny")[0] == stackproof("collect", "tiny", "--transfer")[0] == 0
    said = "SELECT number, parameters, chosen_by, len(known_runs::VARCHAR[]) FROM searches JOIN runs USING (run_id)"
    code, out, err = stackproof("query", f"{said} WHERE stack = 'two' ORDER BY number", "--format", "csv")
    assert (code, out.splitlines()[2]) == (
        0,
        '2,"{""batch"": 8, ""threads"": 2}","grid, in the order of the file",1',
    ), err
    tuned = "SELECT count(*) FROM runs JOIN searches ON runs.tuned_by = searches.run_id WHERE role = 'timed'"
    assert stackproof("query", tuned, "--format", "csv")[1].splitlines()[1] == "4"
    code, out, err = stackproof("compare", "tiny")
    assert (code, "- one: 5 trials of batch, threads by grid (2 without a value, 1 passed over)" in out) == (0, True), (
        out
    )
    assert "times worse" in out
    code, out, err = stackproof("build", "--pages-only")
    assert code == 0, err
    pages = Path(out.removeprefix("Pages: ").strip())
    compared = (pages / "comparisons/tiny/one-vs-two.md").read_text()
    for text in ("Settings that one cannot have: 1", "is too large for two threads", "with settings of two", "sp-lost"):
        assert text in compared, text
    assert "with settings of two" in (pages / "benchmarks/tiny.md").read_text()
    trial = sealed(workspace, Role.SEARCH)[-1]
    page = (pages / f"runs/{trial.run_id}/index.html").read_text()
    assert f"Trial {trial.run.search.number if trial.run.search else 0} of a search by grid" in page


@pytest.mark.parametrize(
    ("search", "space", "said"),
    [
        (GRID, {"thread": [1, 2]}, "stacks.one.search.thread: unknown setting; did you mean 'threads'?"),
        (GRID, {"threads": {"low": 1, "high": 9}}, "a range without a step has no grid"),
        (GRID, {"threads": []}, "must have at least one entry"),
        ({"method": "grid", "budget": {}}, {"threads": [1]}, "give it trials or minutes"),
        ({**GRID, "budgets": {"tow": {"trials": 3}}}, {"threads": [1]}, "no stack 'tow' whose settings are searched"),
        ({**GRID, "method": "best"}, {"threads": [1]}, "search.method"),
        ({**GRID, "same": [{"one": "thread"}]}, {"threads": [1]}, "search.same.0.one: unknown setting; did you mean"),
    ],
)
def test_a_search_that_cannot_be_is_refused(
    workspace: Path, stackproof: Cli, search: dict[str, Any], space: dict[str, Any], said: str
) -> None:
    declare(workspace, search, one={"search": space})
    code, out, err = stackproof("collect", "tiny")
    assert (code, out, err.count("\n"), said in err) == (2, "", 1, True), err
