"""The GitHub Actions workflow of a new workspace: what it runs, and what it must never be able to do."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from collector import new_workspace

WORKFLOW = new_workspace.TEMPLATE / ".github/workflows/stackproof.yml"


@pytest.fixture(scope="module")
def workflow() -> dict[str, Any]:
    # BaseLoader keeps `on` a word: YAML 1.1 would read it as true.
    loaded: dict[str, Any] = yaml.load(WORKFLOW.read_text(), Loader=yaml.BaseLoader)  # noqa: S506 (it makes words only)
    return loaded


@pytest.fixture(scope="module")
def jobs(workflow: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return dict(workflow["jobs"])


def commands(job: dict[str, Any]) -> str:
    return "\n".join(step["run"] for step in job["steps"] if "run" in step)


def actions(job: dict[str, Any]) -> list[str]:
    return [step["uses"] for step in job["steps"] if "uses" in step]


def test_every_job_and_step_is_complete(jobs: dict[str, dict[str, Any]]) -> None:
    for name, job in jobs.items():
        assert {"runs-on", "timeout-minutes", "permissions", "steps"} <= set(job), name
        assert set(job.get("needs", "").split()) <= set(jobs), name
        for step in job["steps"]:
            assert ("run" in step) != ("uses" in step), f"{name}: {step}"


def test_a_pull_request_is_verified_and_reviewed_against_its_base(jobs: dict[str, dict[str, Any]]) -> None:
    check = jobs["check"]
    assert check["if"] == "github.event_name == 'pull_request'"
    assert check["env"]["BASE"] == "origin/${{ github.base_ref }}"
    assert 'stackproof verify --base "$BASE"' in commands(check)
    assert 'stackproof review --base "$BASE"' in commands(check)
    assert "$GITHUB_STEP_SUMMARY" in commands(check)
    checkout = next(step for step in check["steps"] if step.get("uses", "").startswith("actions/checkout@"))
    assert checkout["with"] == {"fetch-depth": "0", "persist-credentials": "false"}


def test_only_official_actions_at_a_version(jobs: dict[str, dict[str, Any]]) -> None:
    used = [action for job in jobs.values() for action in actions(job)]
    assert used
    assert [action for action in used if not action.startswith("actions/") or "@v" not in action] == []


def test_a_token_that_can_write_never_meets_a_checkout(workflow: dict[str, Any], jobs: dict[str, Any]) -> None:
    assert "pull_request_target" not in workflow["on"]
    assert workflow["permissions"] == {}
    for name, job in jobs.items():
        if "write" in job["permissions"].values():
            assert not commands(job), name
            assert not [action for action in actions(job) if "checkout" in action], name
    assert jobs["comment"]["permissions"] == {"pull-requests": "write"}
    assert jobs["publish"]["permissions"] == {"pages": "write", "id-token": "write"}


def test_a_fork_gets_no_comment_job(jobs: dict[str, Any]) -> None:
    assert "github.event.pull_request.head.repo.full_name == github.repository" in jobs["comment"]["if"]


def test_no_event_text_is_pasted_into_a_shell(jobs: dict[str, Any]) -> None:
    for name, job in jobs.items():
        assert "${{" not in commands(job), name
        scripts = [step["with"]["script"] for step in job["steps"] if "script" in step.get("with", {})]
        assert not [script for script in scripts if "${{" in script], name


def test_one_comment_is_updated(jobs: dict[str, Any]) -> None:
    script = next(step["with"]["script"] for step in jobs["comment"]["steps"] if "script" in step.get("with", {}))
    assert "updateComment" in script
    assert "createComment" in script


def test_the_site_is_published_from_the_default_branch(jobs: dict[str, Any]) -> None:
    assert "github.event_name == 'push'" in jobs["build"]["if"]
    assert "github.event.repository.default_branch" in jobs["build"]["if"]
    assert jobs["publish"]["needs"] == "build"
    uploaded = next(step["with"]["path"] for step in jobs["build"]["steps"] if "pages-artifact" in step.get("uses", ""))
    assert f"stackproof build --strict --site-dir {uploaded}" in commands(jobs["build"])


def test_the_steps_are_shell(jobs: dict[str, Any], tmp_path: Path) -> None:
    import subprocess

    for name, job in jobs.items():
        for step in job["steps"]:
            if "run" in step:
                done = subprocess.run(["bash", "-n"], input=step["run"], capture_output=True, text=True)
                assert done.returncode == 0, f"{name}: {done.stderr}"
