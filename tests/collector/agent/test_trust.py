"""Whose commits the agent runs, with real ssh keys."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.collector.agent.conftest import Host, Office, benchmark
from tests.collector.conftest import git

Hosts = Callable[[str], Host]


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    """A folder with the keys `ada` and `eve`, and the file `signers` that allows ada."""
    folder = tmp_path / "keys"
    folder.mkdir()
    for name in ("ada", "eve"):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(folder / name)]
        subprocess.run(command, check=True)
    (folder / "signers").write_text(f"ada@example.org {(folder / 'ada.pub').read_text()}")
    return folder


def signed(keys: Path, name: str) -> tuple[str, ...]:
    """Options of git that sign the commit with a key."""
    return ("-c", "gpg.format=ssh", "-c", f"user.signingkey={keys / name}", "-c", "commit.gpgsign=true")


def trusting(host: Host, keys: Path, *words: str) -> tuple[int, str]:
    """A pass that runs what ada signed."""
    return host.once("--signers", str(keys / "signers"), *words, trust=None)


def test_commits_that_nobody_signed_are_not_run(office: Office, host: Hosts, keys: Path) -> None:
    node = host("node-1")
    code, said = trusting(node, keys)
    assert code == 1
    assert "has no signature of an allowed signer" in said
    assert "by Ada <ada@example.org>" in said
    assert "--trust-from" in said
    assert office.evidence() == []
    assert node.told()["counts"]["launched"] == 0


def test_trust_from_a_commit_on(office: Office, host: Hosts, keys: Path) -> None:
    anchor = office.branches()["main"]
    node = host("node-1")
    assert trusting(node, keys, "--trust-from", anchor)[0] == 0
    office.push(*signed(keys, "ada"), benchmarks__more_yaml=benchmark("more", one="echo took 3"))
    assert trusting(node, keys, "--trust-from", anchor)[0] == 0
    assert office.runs(node.branches[0]) == ["more/one", "quick/one", "quick/two"]


def test_a_strangers_signature_is_none(office: Office, host: Hosts, keys: Path) -> None:
    anchor = office.branches()["main"]
    office.push(*signed(keys, "eve"), benchmarks__quick_yaml=benchmark("quick", one="echo took 9"))
    code, said = trusting(host("node-1"), keys, "--trust-from", anchor)
    assert code == 1
    assert "changes benchmarks/quick.yaml" in said
    assert office.evidence() == []


def test_a_signature_on_a_later_commit_does_not_cover_an_earlier_one(office: Office, host: Hosts, keys: Path) -> None:
    anchor = office.branches()["main"]
    office.push(benchmarks__quick_yaml=benchmark("quick", one="echo took 9"))
    office.push(*signed(keys, "ada"), README="words")
    assert trusting(host("node-1"), keys, "--trust-from", anchor)[0] == 1
    assert office.evidence() == []


def test_evidence_needs_no_signature_for_it_is_never_run(office: Office, host: Hosts, keys: Path) -> None:
    anchor = office.branches()["main"]
    office.push(evidence__other__note="data")
    assert trusting(host("node-1"), keys, "--trust-from", anchor)[0] == 0


def test_a_hidden_file_or_a_link_below_evidence_needs_one(office: Office, host: Hosts, keys: Path) -> None:
    anchor = office.branches()["main"]
    (office.desk / "evidence/link").symlink_to("/etc/passwd")
    office.push(message="link")
    code, said = trusting(host("node-1"), keys, "--trust-from", anchor)
    assert code == 1
    assert "evidence/link" in said


def test_merges_that_only_bring_evidence_need_no_signature(office: Office, host: Hosts, keys: Path) -> None:
    anchor = office.branches()["main"]
    node = host("node-1")
    trusting(node, keys, "--trust-from", anchor)
    git(office.desk, "fetch", "-q")
    git(office.desk, "merge", "-q", "--no-ff", "--no-edit", f"origin/{node.branches[0]}")
    git(office.desk, "push", "-q", "origin", "HEAD:main")
    assert trusting(node, keys, "--trust-from", anchor)[0] == 0


def test_what_was_sealed_before_is_still_pushed_while_main_is_not_trusted(
    office: Office, host: Hosts, keys: Path
) -> None:
    anchor = office.branches()["main"]
    refuse(office, yes=True)
    node = host("node-1")
    assert trusting(node, keys, "--trust-from", anchor)[0] == 1
    refuse(office, yes=False)
    office.push(benchmarks__quick_yaml=benchmark("quick", one="echo took 9"))
    assert trusting(node, keys, "--trust-from", anchor)[0] == 1
    assert office.runs(node.branches[0]) == ["quick/one", "quick/two"]


def refuse(office: Office, *, yes: bool) -> None:
    """Let the remote refuse agents' branches, or take them again."""
    hook = office.remote / "hooks/pre-receive"
    hook.parent.mkdir(exist_ok=True)
    refusal = 'case "$ref" in refs/heads/evidence/*) echo "no room" >&2; exit 1;; esac'
    text = f"#!/bin/sh\nwhile read _ _ ref; do {refusal}; done\n"
    hook.write_text(text if yes else "#!/bin/sh\nexit 0\n")
    hook.chmod(0o755)
