"""Building: strict builds are clean, findings change the exit code, mistakes give one line."""

from pathlib import Path

import pytest

from ledger import status
from ledger.run import Reason
from ledger.run_folder import scan
from ledger.workspace import find
from sitegen.pages import write
from tests.factory import BENCHMARK, make_run, write_benchmark
from tests.sitegen.pages import made


def retract(folder: Path) -> str:
    run_id = next(iter(scan(folder / "evidence"))).run_id
    record = status.StatusRecord(run_id, status.Kind.RETRACTED, "2026-11-30T15:00:00.000000Z", "someone", "wrong clock")
    status.write(folder / "evidence", record)
    return run_id


def test_mkdocs_itself_builds_without_a_warning(folder: Path, tmp_path: Path) -> None:
    done = made.mkdocs(folder, "build", "--strict", "--site-dir", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    assert (tmp_path / "out/comparisons/tiny/slow-vs-fast.html").is_file()


def test_an_empty_workspace_builds(tmp_path: Path) -> None:
    made.empty_workspace(tmp_path)
    done = made.stackproof(tmp_path, "build", "--strict")
    assert (done.returncode, done.stderr) == (0, "")
    assert "No benchmark yet" in (tmp_path / "site/index.html").read_text()


def test_a_benchmark_without_runs_builds_and_names_the_command(tmp_path: Path) -> None:
    made.write_benchmark(made.empty_workspace(tmp_path) / "benchmarks")
    assert made.stackproof(tmp_path, "build", "--strict").returncode == 0
    assert "stackproof collect tiny" in (tmp_path / "site/index.html").read_text()


def test_benchmarks_with_runs_come_first(tmp_path: Path) -> None:
    made.small_workspace(tmp_path)
    write_benchmark(tmp_path / "benchmarks", name="another", question="Asked, and not yet run?")
    write(find(tmp_path), tmp_path / "out")
    page = (tmp_path / "out/index.md").read_text()
    assert 0 < page.index(BENCHMARK["question"]) < page.index("Asked, and not yet run?")


def test_a_page_that_cites_a_retracted_run_fails_a_strict_build(tmp_path: Path) -> None:
    made.small_workspace(tmp_path)
    run_id = retract(tmp_path)
    (tmp_path / "docs/notes.md").write_text(f"# Notes\n\nAs [run](runs/{run_id}/index.html) shows.\n")
    done = made.stackproof(tmp_path, "build", "--strict")
    assert done.returncode == 1
    assert done.stderr == f"warning: notes.md: cites the retracted run {run_id}\n"
    assert made.stackproof(tmp_path, "build").returncode == 0
    assert made.mkdocs(tmp_path, "build", "--strict").returncode == 1


def test_a_retracted_run_keeps_its_page_with_a_banner(tmp_path: Path) -> None:
    made.small_workspace(tmp_path)
    run_id = retract(tmp_path)
    write(find(tmp_path), tmp_path / "out")
    page = (tmp_path / f"out/runs/{run_id}/index.html").read_text()
    assert "<strong>Retracted</strong> on 2026-11-30 15:00:00 by someone: wrong clock" in page


def test_a_broken_link_in_a_hand_written_page_fails_a_strict_build(tmp_path: Path) -> None:
    made.empty_workspace(tmp_path)
    (tmp_path / "docs/notes.md").write_text("# Notes\n\n[nowhere](nowhere.md)\n")
    done = made.stackproof(tmp_path, "build", "--strict")
    assert done.returncode == 1
    assert "nowhere.md" in done.stderr


def test_broken_evidence_is_named_and_fails_a_strict_build(tmp_path: Path) -> None:
    made.small_workspace(tmp_path)
    broken = next(iter(scan(tmp_path / "evidence"))).path
    (broken / "run.json").write_text("{}")
    done = made.stackproof(tmp_path, "build", "--strict")
    assert done.returncode == 1
    assert broken.name in done.stderr
    assert broken.name in (tmp_path / "site/evidence.html").read_text()


def test_site_dir_and_pages_only(folder: Path, tmp_path: Path) -> None:
    done = made.stackproof(folder, "build", "--site-dir", str(tmp_path / "public"))
    assert done.stdout == f"Site: {tmp_path}/public\n"
    assert (tmp_path / "public/index.html").is_file()
    done = made.stackproof(folder, "build", "--pages-only")
    assert done.stdout == f"Pages: {folder}/.stackproof/pages\n"
    assert (folder / ".stackproof/pages/comparisons/tiny/slow-vs-fast.md").is_file()


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("benchmarks/bad.yaml", "name: bad\nquestion: Q\n", "benchmarks/bad.yaml"),
        ("mkdocs.yml", "site_name: x\ntheme: nothing\n", "Unrecognised theme name: 'nothing'"),
        ("mkdocs.yml", "site_name: x\ntheme: {name: material}\n", "does not name the hook"),
        ("mkdocs.yml", "site_name: [\n", "mkdocs.yml"),
        ("mkdocs.yml", "site_name: x\ndocs_dir: nowhere\n", "nowhere"),
    ],
)
def test_a_mistake_is_one_line_and_exit_2(tmp_path: Path, name: str, text: str, says: str) -> None:
    made.empty_workspace(tmp_path)
    (tmp_path / name).write_text(text)
    done = made.stackproof(tmp_path, "build")
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert says in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_missing_evidence_folder_is_one_line_and_exit_2(tmp_path: Path) -> None:
    (made.empty_workspace(tmp_path) / "evidence").rmdir()
    done = made.stackproof(tmp_path, "build")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "evidence" in done.stderr


def test_serve_refuses_an_address_it_cannot_use(tmp_path: Path) -> None:
    made.empty_workspace(tmp_path)
    done = made.stackproof(tmp_path, "serve", "--address", "nonsense")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


def test_the_page_for_unknown_addresses_knows_where_github_publishes_the_site(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made.empty_workspace(tmp_path)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_SERVER_URL", "https://github.com")
    monkeypatch.setenv("GITHUB_REPOSITORY", "Tess/stack-evidence")
    assert made.stackproof(tmp_path, "build").returncode == 0
    page = (tmp_path / "site/404.html").read_text()
    assert 'href="/stack-evidence/index.html"' in page
    assert 'href="/assets' not in page
    (tmp_path / "mkdocs.yml").write_text((tmp_path / "mkdocs.yml").read_text() + "\nsite_url: https://x.example/y/\n")
    assert made.stackproof(tmp_path, "build").returncode == 0
    assert 'href="/y/index.html"' in (tmp_path / "site/404.html").read_text()


def test_a_failed_run_that_no_comparison_cites_is_named_on_the_first_page(tmp_path: Path) -> None:
    made.empty_workspace(tmp_path)
    third = {"adapter": "torch", "settings": {"threads": 1}, "description": "It is <b>here</b> to fail."}
    changes = {"stacks": {**BENCHMARK["stacks"], "third": third}}
    write_benchmark(tmp_path / "benchmarks", **changes)
    run = make_run(tmp_path / "evidence", "third", failed=Reason.OUT_OF_MEMORY, changes=changes)
    made.launch(tmp_path / "evidence", "slow", 1, 2, 0.1, failed=Reason.OUT_OF_MEMORY)
    assert made.stackproof(tmp_path, "build", "--strict").returncode == 0
    page = (tmp_path / "site/index.html").read_text()
    assert f'<a href="runs/{run.name[-16:]}/index.html">third</a> (timed): out of memory' in page
    assert "It is &lt;b&gt;here&lt;/b&gt; to fail." in page
    assert page.count("(timed): out of memory") == 1


def test_a_page_shows_what_was_declared_before_the_launches_and_what_the_file_says_now(tmp_path: Path) -> None:
    made.small_workspace(tmp_path)
    envelope = {"limits": {"evaluation_loss": "<= 1.2"}, "objective": {"minimise": "step_time"}}
    write_benchmark(tmp_path / "benchmarks", envelope=envelope)
    assert made.stackproof(tmp_path, "build", "--strict").returncode == 0
    page = (tmp_path / "site/comparisons/tiny/slow-vs-fast.html").read_text()
    assert "<code>evaluation_loss &lt;= 3 nats</code>" in page
    assert "was <code>&lt;= 3 nats</code>; the file now says <code>&lt;= 1.20 nats</code>" in page
    assert "envelope changed" in page
