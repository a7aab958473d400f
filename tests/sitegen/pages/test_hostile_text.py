"""Text from evidence is hostile: it is shown, never run, on generated pages and in files."""

import html
import json
from pathlib import Path

import pytest

from ledger.workspace import find
from sitegen.pages import write
from sitegen.pages.published import published_name
from sitegen.templates import front_matter, island, markdown
from tests.sitegen.pages import made
from tests.sitegen.pages.test_links import Links

ATTACK = (
    "</code></pre></div>\n\n<script>alert(1)</script>\n\n# Owned\n\n[x](javascript:alert(1)) ![y](http://evil/y.png)"
)


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = made.workspace(tmp_path_factory.mktemp("attacked"), question=f"Which? {ATTACK}")
    made.launch(
        root / "evidence",
        "slow",
        6,
        30,
        0.1,
        host=ATTACK,
        absent={ATTACK: ATTACK},
        card={"description": ATTACK, ATTACK: {"deep": ATTACK}},
        environment={"host": ATTACK, "variables": {ATTACK: ATTACK}},
    )
    done = made.stackproof(root, "build", "--strict")
    assert done.returncode == 0, done.stderr
    return root / "site"


def test_no_page_runs_or_links_what_evidence_says(attacked: Path) -> None:
    shown = 0
    for page in attacked.rglob("*.html"):
        text = page.read_text()
        assert "<script>alert" not in text, page
        assert "<h1>Owned" not in text, page
        assert 'id="owned"' not in text, page
        found = Links(text)
        assert not [link for link in found.links if link.startswith("javascript")], page
        assert not [link for link in found.fetched if "evil" in link], page
        shown += "alert(1)" in html.unescape(text)
    assert shown >= 4


def test_a_json_island_cannot_end_its_script() -> None:
    text = str(island({"a": "</script><!--\u2028\u2029&"}))
    assert not any(character in text for character in "<>&\u2028\u2029")
    assert json.loads(text) == {"a": "</script><!--\u2028\u2029&"}


def test_markdown_text_means_only_itself() -> None:
    import markdown as renderer

    hostile = "*a* _b_ `c` [d](e) <b> &amp; # f {: .x } \\ ![g](h) 1. - | ~ https://x.y"
    shown = renderer.markdown(str(markdown(hostile)), extensions=["attr_list", "tables"])
    assert html.unescape(shown) == f"<p>{hostile}</p>"
    assert shown.count("<") == 2


def test_front_matter_is_one_escaped_string() -> None:
    import yaml

    loaded = yaml.safe_load(f"title: {front_matter(ATTACK)}")["title"]
    assert "<" not in loaded
    assert '"' not in loaded


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("logs/stdout.log", "logs/stdout.log"),
        ("traces/rank-0.json.gz", "traces/rank-0.json.gz"),
        ("traces/rank-0.sqlite", "traces/rank-0.sqlite"),
        ("launch/README.md", "launch/README.md.txt"),
        ("x.html", "x.html.txt"),
        ("x.SVG", "x.SVG.txt"),
        ("x.js", "x.js.txt"),
        (".hidden/a.json", "dot-hidden/a.json"),
        ("MANIFEST", "MANIFEST.txt"),
    ],
)
def test_files_that_a_browser_would_run_are_published_as_text(path: str, name: str) -> None:
    assert published_name(path) == name


def test_a_link_in_a_run_folder_is_not_followed(tmp_path: Path) -> None:
    made.small_workspace(tmp_path)
    secret = tmp_path / "secret.txt"
    secret.write_text("TOP SECRET")
    log = next((tmp_path / "evidence").rglob("logs/stdout.log"))
    log.unlink()
    log.symlink_to(secret)
    write(find(tmp_path), tmp_path / "out")
    leaked = [path for path in (tmp_path / "out").rglob("*") if path.is_file() and b"TOP SECRET" in path.read_bytes()]
    assert leaked == []
