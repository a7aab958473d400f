from __future__ import annotations

import json
import os
import shutil
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest

from ledger import manifest
from ledger.finding import Finding
from ledger.run_folder import RunFolder
from ledger.verify import verify_run
from tests.factory import make_run


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return make_run(tmp_path / "evidence", trace=b"\x1f\x8b not really")


def findings(path: Path) -> list[Finding]:
    return verify_run(RunFolder(path))


def named(path: Path) -> dict[str | None, str]:
    return {found.file: found.code for found in findings(path)}


def test_a_sealed_run_is_as_sealed(run: Path) -> None:
    assert findings(run) == []


def test_a_flipped_bit_in_any_file_is_found_and_the_file_named(run: Path) -> None:
    files = manifest.list_files(run)
    assert len(files) == 12
    for path in files:
        data = path.read_bytes()
        for position in {0, len(data) // 2, len(data) - 1} if data else ():
            path.write_bytes(data[:position] + bytes([data[position] ^ 1]) + data[position + 1 :])
            name = path.relative_to(run).as_posix()
            if name == manifest.NAME:
                assert "identity" in {each.code for each in findings(run)}
            else:
                found = findings(run)
                assert (name, "changed") in {(each.file, each.code) for each in found}
                assert {each.file for each in found} == {name}
        path.write_bytes(data + b"\n")
        assert path.relative_to(run).as_posix() in named(run)
        path.write_bytes(data)
    assert findings(run) == []


def test_a_missing_file_is_named(run: Path) -> None:
    for path in manifest.list_files(run):
        data = path.read_bytes()
        path.unlink()
        assert named(run)[path.relative_to(run).as_posix()] == "missing"
        path.write_bytes(data)


@pytest.mark.parametrize("name", ["extra.txt", ".hidden", "logs/.swp", "launch/new/deep.sh", "MANIFEST.sha256.bak"])
def test_an_extra_file_is_named(run: Path, name: str) -> None:
    (run / name).parent.mkdir(parents=True, exist_ok=True)
    (run / name).touch()
    assert named(run) == {name: "extra"}


@pytest.mark.parametrize("name", ["empty", "logs/empty", ".git"])
def test_an_empty_folder_is_named(run: Path, name: str) -> None:
    (run / name).mkdir()
    assert named(run) == {name: "extra"}


@pytest.mark.parametrize("part", ["stack", "id", "date", "benchmark"])
def test_a_renamed_folder_is_found(run: Path, part: str) -> None:
    evidence = run.parents[2]
    new = {
        "stack": run.with_name(f"quick-{run.name[-16:]}"),
        "id": run.with_name(f"slow-{'0' * 16}"),
        "date": evidence / "tiny" / "2026-11-29" / run.name,
        "benchmark": evidence / "other" / run.parent.name / run.name,
    }[part]
    new.parent.mkdir(parents=True, exist_ok=True)
    run.rename(new)
    found = findings(new)
    assert [each.code for each in found] == ["identity"]
    assert ("id" if part == "id" else part) in found[0].what


def test_a_link_in_place_of_a_file_is_found_though_its_bytes_are_the_same(run: Path, tmp_path: Path) -> None:
    target = tmp_path / "elsewhere"
    shutil.copy(run / "card.yaml", target)
    (run / "card.yaml").unlink()
    (run / "card.yaml").symlink_to(target)
    assert named(run) == {"card.yaml": "link"}


@pytest.mark.parametrize("name", ["card.yaml", "logs/stdout.log", "run.json", "logs", manifest.NAME])
@pytest.mark.parametrize("kind", ["link", "pipe", "folder", "full folder"])
def test_what_stands_in_the_place_of_something_sealed_is_never_just_taken_out(
    run: Path, tmp_path: Path, name: str, kind: str
) -> None:
    place, away = run / name, tmp_path / "away"
    place.rename(away)
    if kind == "link":
        place.symlink_to(away)
    elif kind == "pipe":
        os.mkfifo(place)
    elif name != "logs":
        place.mkdir()
        if kind == "full folder":
            (place / "x").touch()
    found = [
        each for each in findings(run) if each.file == name or (name == "logs" and str(each.file).startswith(name))
    ]
    assert found
    assert all("restore" in each.todo and "take" not in each.todo for each in found), found
    said = {"link": "symbolic link", "pipe": "neither file nor folder", "folder": "missing", "full folder": "folder"}
    if name not in {"logs", manifest.NAME}:
        assert said[kind] in found[0].what


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_a_link_in_place_of_a_folder_is_found(run: Path, tmp_path: Path, depth: int) -> None:
    """The run folder itself, the day's, the benchmark's."""
    folder = [run, *run.parents][depth]
    moved = tmp_path / "moved"
    folder.rename(moved)
    folder.symlink_to(moved)
    assert {each.code for each in findings(run)} == {"link"}


def test_a_link_in_place_of_a_folder_inside_is_found(run: Path, tmp_path: Path) -> None:
    (run / "logs").rename(tmp_path / "logs")
    (run / "logs").symlink_to(tmp_path / "logs")
    assert named(run)["logs"] == "link"


def test_a_pipe_is_found_and_not_waited_for(run: Path) -> None:
    (run / "card.yaml").unlink()
    os.mkfifo(run / "card.yaml")
    assert named(run) == {"card.yaml": "special"}


def test_names_that_differ_only_by_case_or_unicode_form_are_found(run: Path) -> None:
    (run / "CARD.yaml").touch()
    assert {"clash", "extra"} <= {each.code for each in findings(run)}
    (run / "CARD.yaml").unlink()
    (run / "Logs").mkdir()
    (run / "Logs" / "x").touch()
    assert "clash" in {each.code for each in findings(run)}
    shutil.rmtree(run / "Logs")
    for form in ("NFC", "NFD"):
        (run / unicodedata.normalize(form, "é")).touch()
    assert "clash" in {each.code for each in findings(run)}


@pytest.mark.parametrize("path", ["../card.yaml", "/etc/passwd", "logs/../card.yaml", "./card.yaml", "a\\b"])
def test_a_path_that_leaves_the_folder_is_refused(run: Path, path: str) -> None:
    def add(digests: dict[str, str]) -> None:
        digests[path] = "0" * 64

    found = findings(_reseal(run, add))
    assert any("leaves the folder" in each.what or "backslash" in each.what for each in found)


def test_a_name_with_escape_sequences_is_printed_harmlessly(run: Path) -> None:
    (run / "a\x1b[31m\nb").touch()
    line = findings(run)[0].line()
    assert "\x1b" not in line
    assert "\n" not in line
    assert r"a\x1b[31m\nb" in line


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (lambda run: run.update(format=2), "format"),
        (lambda run: run["outcome"].update(state="won"), "won"),
        (lambda run: run["outcome"].update(state="failed", reason="bad_luck"), "bad_luck"),
        (lambda run: run["outcome"].update(state="failed"), "reason"),
        (lambda run: run["outcome"].update(reason="crashed"), "reason"),
        (lambda run: run.update(role="winner"), "winner"),
        (lambda run: run.update(attempt="1"), "attempt"),
        (lambda run: run.update(repeat=0), "repeat"),
        (lambda run: run.update(trial_key="../../x"), "trial_key"),
        (lambda run: run.update(redactions=["nowhere.log"]), "nowhere.log"),
        (lambda run: run["benchmark"].update(blob="0" * 40), "benchmark.yaml"),
        (lambda run: run.update(surprise=1), "surprise"),
        (lambda run: run.pop("host"), "host"),
        (lambda run: run.update(launch_order=float("nan")), "NaN"),
    ],
)
def test_a_run_json_that_makes_no_sense_is_found_even_when_sealed(
    run: Path, change: Callable[[dict[str, object]], object], word: str
) -> None:
    content = json.loads((run / "run.json").read_text())
    change(content)
    (run / "run.json").write_text(json.dumps(content))
    found = findings(_reseal(run))
    assert found
    assert any(word in each.what for each in found)
    assert {each.file for each in found} == {"run.json"}


def test_two_things_wrong_are_both_reported(run: Path) -> None:
    (run / "card.yaml").write_text("x")
    (run / "extra").touch()
    (run / "launch/run.sh").unlink()
    assert named(run) == {"card.yaml": "changed", "extra": "extra", "launch/run.sh": "missing"}


def _reseal(run: Path, change: Callable[[dict[str, str]], None] | None = None) -> Path:
    """Make manifest and folder name agree with changed content, as a forger would."""
    digests = manifest.digest_folder(run)
    if change:
        change(digests)
    data = manifest.render(digests)
    (run / manifest.NAME).write_bytes(data)
    return run.rename(run.with_name(f"{run.name[:-16]}{manifest.run_id(data)}"))
