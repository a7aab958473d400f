"""What `make demo` must have made: every planned trial accounted for, committed, shown on the site as queries give it.

Run after the demo, on the workspace in STACKPROOF_DEMO (default: `.stackproof/demo`). Not a `test_` file, since it
needs what the demo collected.
"""

import html
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

WORKSPACE = Path(os.environ.get("STACKPROOF_DEMO") or Path(__file__).parents[2] / ".stackproof/demo")
SITE = WORKSPACE / "site"


def stackproof(*arguments: str) -> str:
    command = [sys.executable, "-m", "stackproof", *arguments]
    done = subprocess.run(command, cwd=WORKSPACE, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def query(sql: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(stackproof("query", sql, "--format", "json"))
    return rows


def words(page: Path) -> str:
    """The text of a page, tags gone, white space single."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page.read_text())).split())


@pytest.fixture(scope="module")
def runs() -> list[dict[str, Any]]:
    found = query("SELECT run_id, stack, role, state, reason, accepted FROM runs ORDER BY run_id")
    assert found, "the demo collected nothing"
    return found


@pytest.fixture(scope="module")
def verdicts() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(stackproof("compare", "cpu-training", "--format", "json"))["verdicts"]
    assert found, "the demo compared nothing"
    return found


def test_every_planned_trial_is_a_run_or_excluded_with_its_reason(runs: list[dict[str, Any]]) -> None:
    plans = query("SELECT DISTINCT trial_key, state, reason, install FROM plans")
    planned = {row["trial_key"] for row in plans}
    excluded = {row["trial_key"] for row in plans if row["state"] == "excluded"}
    sealed = {row["trial_key"] for row in query("SELECT trial_key FROM runs")}
    assert planned == sealed | excluded
    assert not sealed & excluded
    assert all(row["reason"] and row["install"] for row in plans if row["state"] == "excluded")


def test_the_stacks_trained_and_one_broke_its_memory_limit(runs: list[dict[str, Any]]) -> None:
    timed = [run for run in runs if run["role"] == "timed"]
    completed = {run["stack"] for run in timed if run["state"] == "completed" and run["accepted"]}
    assert {"eager", "eager-two-threads"} <= completed
    failed = {(run["stack"], run["reason"]) for run in timed if run["state"] == "failed"}
    assert failed == {("eager-large-batch", "out_of_memory")}


def test_evidence_verifies_and_is_committed() -> None:
    stackproof("verify", "--recompute", "--secrets")
    dirty = subprocess.run(["git", "status", "--porcelain"], cwd=WORKSPACE, capture_output=True, text=True, check=True)
    assert dirty.stdout == ""


def test_a_second_collect_has_nothing_to_do() -> None:
    plan = stackproof("collect", "cpu-training", "--profile", "demo", "--dry-run")
    assert plan.startswith("0 to launch") or "\n0 to launch" in plan


def test_each_run_page_holds_every_value_of_the_query(runs: list[dict[str, Any]]) -> None:
    values = query("SELECT run_id, value, unit FROM metrics WHERE value IS NOT NULL AND origin = 'sealed'")
    assert {row["run_id"] for row in values} <= {run["run_id"] for run in runs}
    for run in runs:
        page = words(SITE / f"runs/{run['run_id']}/index.html")
        assert run["reason"] is None or run["reason"].replace("_", " ") in page.replace("_", " ")
        missing = [
            row for row in values if row["run_id"] == run["run_id"] and f"{row['value']} {row['unit']}" not in page
        ]
        assert missing == []


def test_each_run_page_offers_its_files_as_sealed(runs: list[dict[str, Any]]) -> None:
    for row in query("SELECT run_id, path, sha256 FROM files"):
        assert row["sha256"] in words(SITE / f"runs/{row['run_id']}/index.html"), row["path"]


def test_the_comparison_pages_hold_the_verdicts(verdicts: list[dict[str, Any]]) -> None:
    from sitegen import format as shown

    for verdict in verdicts:
        base = SITE / "comparisons" / verdict["benchmark"] / f"{verdict['baseline']}-vs-{verdict['candidate']}"
        offered = json.loads(base.with_suffix(".json").read_text())
        for key in ("decision", "effect", "launches", "readiness", "evidence"):
            assert offered[key] == verdict[key]
        page, effect = words(base.with_suffix(".html")), verdict["effect"]
        if effect["ratio"] is not None:
            for value in (effect["baseline"], effect["candidate"]):
                assert shown.value(value, effect["unit"]) in page
        for launch in verdict["launches"]:
            assert launch["run_id"] in base.with_suffix(".html").read_text()


def test_the_launches_of_a_comparison_are_those_of_the_query(verdicts: list[dict[str, Any]]) -> None:
    rows = query("SELECT run_id, metric, value FROM metrics WHERE origin = 'sealed'")
    values = {(row["run_id"], row["metric"]): row["value"] for row in rows}
    judged = {verdict["candidate"] for verdict in verdicts if verdict["launches"]}
    assert judged >= {"eager-two-threads"}
    for verdict in verdicts:
        for launch in verdict["launches"]:
            assert launch["value"] == values.get((launch["run_id"], verdict["effect"]["metric"]))


def test_every_link_of_the_site_leads_somewhere() -> None:
    broken = set()
    for page in SITE.rglob("*.html"):
        if page.name == "404.html":
            continue
        for address in re.findall(r'(?:href|src)="([^"]*)"', page.read_text()):
            target = unquote(html.unescape(address)).partition("#")[0].partition("?")[0]
            if not target or re.match(r"[a-z]+:|//", target):
                continue
            if not (page.parent / target).exists():
                broken.add(f"{page.relative_to(SITE)} -> {target}")
    assert sorted(broken) == []
