"""Two builds give the same bytes; an unchanged page is not touched; what belongs to no page goes."""

from pathlib import Path

from ledger.workspace import find
from sitegen.pages import write
from tests.sitegen.pages import made


def test_two_targets_hold_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        write(find(folder), tmp_path / name)
    one, two = (made.snapshot(tmp_path / name) for name in ("one", "two"))
    assert len(one) > 100
    assert {name: content for name, (content, _) in one.items()} == {
        name: content for name, (content, _) in two.items()
    }


def test_an_unchanged_page_is_not_touched_and_stale_files_go(folder: Path, tmp_path: Path) -> None:
    write(find(folder), tmp_path / "out")
    before = made.snapshot(tmp_path / "out")
    (tmp_path / "out/runs/gone").mkdir()
    (tmp_path / "out/runs/gone/index.html").write_text("old")
    write(find(folder), tmp_path / "out")
    assert made.snapshot(tmp_path / "out") == before
    assert not (tmp_path / "out/runs/gone").exists()


def test_a_changed_page_alone_is_written_again(tmp_path: Path) -> None:
    made.small_workspace(tmp_path)
    out = tmp_path / ".stackproof/pages"
    write(find(tmp_path), out)
    before = made.snapshot(out)
    (tmp_path / "docs/index.md").write_text("Hello.\n")
    write(find(tmp_path), out)
    after = made.snapshot(out)
    assert [name for name in after if after[name] != before[name]] == ["index.md"]


def test_built_sites_are_equal_but_for_the_build_date(folder: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        assert made.stackproof(folder, "build", "--site-dir", str(tmp_path / name)).returncode == 0
    one, two = (made.snapshot(tmp_path / name) for name in ("one", "two"))
    differ = {name for name in one if one[name][0] != two[name][0]}
    assert one.keys() == two.keys()
    assert differ <= {"sitemap.xml", "sitemap.xml.gz"}
