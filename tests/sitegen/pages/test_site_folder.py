"""A build empties the folder of the site first, so it takes none in which something would be lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from ledger.errors import InputError
from ledger.workspace import Workspace
from sitegen import site_folder
from tests.sitegen.pages import made

REFUSED = [
    "evidence",
    "evidence/tiny",
    "evidence/new",
    "benchmarks",
    "docs",
    "docs/site",
    ".",
    "..",
    "../..",
    ".git",
    ".git/refs",
    ".github",
    ".github/workflows",
    ".stackproof",
    ".stackproof/site",
    ".new",
    "precious",
    "../precious",
    "links/evidence",
    "links/git",
    "links/root",
    "mkdocs.yml",
    "mkdocs.yml/site",
    "half-a-site",
    "evidence/../evidence",
]
ACCEPTED = ["site", "new/deeper", "empty", "only-hidden", "../beside", "earlier", "links/new"]


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A workspace among folders that must not be lost; its evidence may also be reached from above."""
    root = made.small_workspace(tmp_path / "work")
    for name in (".git/refs", ".github/workflows", "empty", "only-hidden", "links"):
        (root / name).mkdir(parents=True)
    for name in ("precious", "../precious"):
        (root / name).mkdir()
        (root / name / "thesis.txt").write_text("three years")
    for name, target in (("evidence", "evidence"), ("git", ".git"), ("root", "."), ("new", "nowhere-yet")):
        (root / "links" / name).symlink_to(root / target)
    (root / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (root / "only-hidden/.gitkeep").touch()
    for name in ("index.html", "404.html", "sitemap.xml", "search/search_index.json"):
        (root / "earlier" / name).parent.mkdir(parents=True, exist_ok=True)
        (root / "earlier" / name).write_text("made by MkDocs")
    (root / "half-a-site").mkdir()
    (root / "half-a-site/index.html").write_text("written by hand")
    return root


def judged(root: Path, name: str) -> None:
    site_folder.check(Workspace(root, {}), root / "docs", root / name)


@pytest.mark.parametrize("name", REFUSED)
def test_a_folder_in_which_something_would_be_lost_is_refused(here: Path, name: str) -> None:
    with pytest.raises(InputError) as caught:
        judged(here, name)
    assert caught.value.where == str(here / name)


@pytest.mark.parametrize("name", ACCEPTED)
def test_a_new_or_empty_folder_or_an_earlier_site_is_taken(here: Path, name: str) -> None:
    judged(here, name)


def test_evidence_benchmarks_and_pages_elsewhere_are_kept_too(here: Path) -> None:
    (here / "data/runs").mkdir(parents=True)
    workspace = Workspace(here, {"evidence": "data/runs", "benchmarks": "../precious"})
    for name in ("data", "data/runs", "../precious", "written"):
        with pytest.raises(InputError):
            site_folder.check(workspace, here / "written/pages", here / name)


def test_the_repository_above_the_workspace_keeps_its_hidden_folders(here: Path) -> None:
    (here.parent / ".git").mkdir()
    (here / ".git/HEAD").unlink()
    (here / ".git/refs").rmdir()
    (here / ".git").rmdir()
    for name in ("../.git", "../.github/site"):
        with pytest.raises(InputError):
            judged(here, name)


@pytest.mark.parametrize("name", ["evidence", ".git", "../precious", "links/evidence"])
def test_the_commands_refuse_it_and_delete_nothing(here: Path, name: str) -> None:
    before = made.snapshot(here.parent)
    done = made.stackproof(here, "build", "--site-dir", name)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "cannot be the site's folder" in done.stderr
    (here / "mkdocs.yml").write_text((here / "mkdocs.yml").read_text() + f"\nsite_dir: {name}\n")
    assert made.stackproof(here, "build").returncode == 2
    assert made.mkdocs(here, "build").returncode != 0
    (here / "mkdocs.yml").write_bytes(before["work/mkdocs.yml"][0])
    after = {path: found[0] for path, found in made.snapshot(here.parent).items() if "/.stackproof/" not in path}
    assert {path: found[0] for path, found in before.items()} == after


def test_a_site_can_be_built_again_also_after_a_build_that_broke_off(here: Path) -> None:
    assert made.stackproof(here, "build").returncode == 0
    (here / "site/left-over.html").write_text("old")
    assert made.stackproof(here, "build").returncode == 0
    assert not (here / "site/left-over.html").exists()
    for name in ("index.html", "404.html", "sitemap.xml"):
        (here / "site" / name).unlink()
    assert made.mkdocs(here, "build").returncode == 0
    (here / "site" / site_folder.MARKER).unlink()
    assert made.stackproof(here, "build").returncode == 0


@pytest.mark.parametrize("link", [".stackproof", ".stackproof/pages"])
def test_generated_pages_never_go_through_a_link(here: Path, link: str) -> None:
    if "/" in link:
        (here / ".stackproof").mkdir()
    (here / link).symlink_to(here / "evidence")
    before = made.snapshot(here / "evidence")
    for arguments in (("build",), ("build", "--pages-only")):
        done = made.stackproof(here, *arguments)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert made.snapshot(here / "evidence") == before
