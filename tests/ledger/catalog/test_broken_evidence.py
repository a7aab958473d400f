"""A broken run folder is left out and named; the rest answers."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ledger import catalog
from tests.factory import make_run
from tests.ledger.catalog.conftest import Ask, edit_json, reseal, retract, write_plan


def _bomb(folder: Path) -> None:
    lines = ["a0: &a0 {x: 1, y: 2}"] + [f"a{n}: &a{n} {{x: *a{n - 1}, y: *a{n - 1}}}" for n in range(1, 30)]
    (folder / "card.yaml").write_text("\n".join(lines) + "\n")


def _list_bomb(folder: Path) -> None:
    lines = ["a0: &a0 [1, 2]"] + [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 30)]
    (folder / "card.yaml").write_text("\n".join(lines) + "\n")


def _own_parent(folder: Path) -> None:
    (folder / "card.yaml").write_text("a: &a\n  b: *a\n")


def _text(name: str, text: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_text(text) and None


SEALED_SO = {
    "not JSON": _text("metrics.json", "[{"),
    "deep JSON": _text("environment.json", '{"a":' * 50_000 + "1" + "}" * 50_000),
    "a list of nothing": _text("metrics.json", "[null]"),
    "NaN": _text("environment.json", '{"a": NaN}'),
    "not YAML": _text("card.yaml", "a: [\n"),
    "not a mapping": _text("card.yaml", "- a\n"),
    "a tag": _text("card.yaml", "a: !!python/object/apply:os.system [id]\n"),
    "a bomb": _bomb,
    "a bomb of lists": _list_bomb,
    "its own parent": _own_parent,
    "not Parquet": _text("samples/steps.parquet", "PAR1"),
    "no run.json": lambda folder: (folder / "run.json").unlink(),
    "a stack of another name": edit_json("run.json", lambda run: run.update(stack="other")),
    "a repeat that is text": edit_json("run.json", lambda run: run.update(repeat="one")),
    "a number out of range": edit_json("run.json", lambda run: run.update(repeat=2**70)),
    "half a character": edit_json("run.json", lambda run: run.update(host="\ud800")),
    "no host": edit_json("run.json", lambda run: run.update(host=None)),
    "a time without a zone": edit_json("run.json", lambda run: run.update(ended_at="2026-11-30T12:00:00")),
    "a format to come": edit_json("run.json", lambda run: run.update(format=2)),
}


@pytest.mark.parametrize("case", SEALED_SO)
def test_a_run_that_was_sealed_broken_is_left_out(tmp_path: Path, ask: Ask, case: str) -> None:
    good = make_run(tmp_path, "fast")
    bad = reseal(tmp_path, make_run(tmp_path, "slow"), SEALED_SO[case])
    answer = ask("query", "SELECT run_id FROM runs", "--evidence", str(tmp_path), "--format", "csv")
    assert answer.exception is None
    assert answer.stdout == f"run_id\n{good.name[-16:]}\n"
    assert answer.stderr.startswith(f"warning: tiny/2026-11-30/{bad.name} is left out: ")
    assert f"`stackproof verify {bad.name[-16:]}`" in answer.stderr
    assert answer.stderr.count("\n") == 1


def _flip(run: Path) -> None:
    path = run / "metrics.json"
    path.write_text(path.read_text().replace("0.1", "0.2"))


def _link(run: Path) -> None:
    text = (run / "card.yaml").read_text()
    (run.parent / "elsewhere.yaml").write_text(text)
    (run / "card.yaml").unlink()
    (run / "card.yaml").symlink_to("../elsewhere.yaml")


def _pipe(run: Path) -> None:
    (run / "environment.json").unlink()
    os.mkfifo(run / "environment.json")


CHANGED_LATER: dict[str, Callable[[Path], object]] = {
    "a changed value": _flip,
    "a missing file": lambda run: (run / "samples/steps.parquet").unlink(),
    "a missing manifest": lambda run: (run / "MANIFEST.sha256").unlink(),
    "a link": _link,
    "a pipe": _pipe,
    "another name": lambda run: run.rename(run.with_name("slow-0123456789abcdef")),
}


@pytest.mark.parametrize("case", CHANGED_LATER)
def test_a_run_that_differs_from_its_seal_is_left_out(tmp_path: Path, case: str) -> None:
    make_run(tmp_path, "fast")
    CHANGED_LATER[case](make_run(tmp_path, "slow"))
    with catalog.open(tmp_path) as opened:
        assert opened.query("SELECT stack FROM runs").rows == [("fast",)]
        assert opened.query("SELECT DISTINCT stack FROM files JOIN runs USING (run_id)").rows == [("fast",)]
        assert len(opened.problems) == 1


def test_a_copy_of_a_run_under_another_date_is_not_counted_twice(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    other = tmp_path / "tiny/2026-12-01" / run.name
    other.parent.mkdir()
    other.mkdir()
    for path in run.rglob("*"):
        target = other / path.relative_to(run)
        target.mkdir() if path.is_dir() else target.write_bytes(path.read_bytes())
    with catalog.open(tmp_path) as opened:
        assert len(opened.query("FROM runs").rows) == 1
        assert len(opened.problems) == 1


def test_broken_plans_and_records_are_left_out_too(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    retract(tmp_path, run)
    (record,) = (tmp_path / "status").glob("*/*.json")
    record.write_text(record.read_text().replace("wrong driver", "right driver"))
    batch = write_plan(tmp_path)
    plan = tmp_path / "tiny/2026-11-30" / f"plan-{batch}.json"
    plan.write_text(json.dumps({**json.loads(plan.read_text()), "host": "other"}))
    with catalog.open(tmp_path) as opened:
        assert opened.query("FROM plans").rows == []
        assert opened.query("FROM status").rows == []
        assert sorted(line.split(" is left out")[0] for line in opened.problems) == sorted(
            [record.relative_to(tmp_path).as_posix(), plan.relative_to(tmp_path).as_posix()]
        )


def test_only_evidence_that_cannot_be_read_is_an_error(tmp_path: Path, ask: Ask) -> None:
    _flip(make_run(tmp_path))
    answer = ask("query", "FROM runs", "--evidence", str(tmp_path))
    assert "holds no run that can be read" in str(answer.exception)


def test_a_redacted_file_may_be_absent(tmp_path: Path) -> None:
    from ledger import status

    for name, usable in (("logs/stdout.log", True), ("samples/steps.parquet", False)):
        run = make_run(tmp_path / name.replace("/", "-"), "slow")
        evidence = run.parents[2]
        (run / name).unlink()
        digest = next(
            line[:64] for line in (run / "MANIFEST.sha256").read_text().splitlines() if line.endswith(f"  {name}")
        )
        at = "2026-11-30T13:00:00.000000Z"
        paths = ((name, digest),)
        status.write(
            evidence, status.StatusRecord(run.name[-16:], status.Kind.REDACTED, at, "me", "a name", paths=paths)
        )
        with catalog.open(evidence) as opened:
            assert opened.problems == ()
            assert len(opened.query("FROM runs").rows) == 1
            assert len(opened.query("FROM usable_runs").rows) == usable
            assert opened.query("SELECT bytes FROM files WHERE path = ?", [name]).rows == [(None,)]
