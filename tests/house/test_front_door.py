"""Whatever is typed, and wherever the output goes: one line on stderr, and the exit code that README promises."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.factory import make_run

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("workspace") / "evidence"
    make_run(folder)
    return folder


def shell(line: str, evidence: Path, data: bytes = b"", **variables: str) -> tuple[int, bytes, str]:
    """Run a shell line in which $S is stackproof and $E the evidence: (exit code, stdout, stderr)."""
    environment = {**os.environ, "S": f"{sys.executable} -m stackproof", "E": str(evidence), **variables}
    environment["PYTHONPATH"] = str(ROOT)
    done = subprocess.run(["bash", "-c", line], env=environment, input=data, capture_output=True)
    return done.returncode, done.stdout, done.stderr.decode(errors="replace")


def one_line(answer: tuple[int, bytes, str], code: int, said: str) -> None:
    assert (answer[0], answer[1]) == (code, b""), answer
    assert answer[2].startswith("error: ")
    assert answer[2].count("\n") == 1
    assert said in answer[2]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("verfy", "no command 'verfy'; did you mean 'verify'?"),
        ("zzzzzz", "no command 'zzzzzz'; known: init, collect"),
        ("catalog rebuld", "no command 'rebuld'; did you mean 'rebuild'?"),
        ("query --frmat csv", "no option --frmat; did you mean '--format'?"),
        ("query --zzzzzzzzzz", "no option --zzzzzzzzzz; see `stackproof query --help`"),
        ("query --format jsn", "'jsn' is not one of 'table', 'csv'"),
        ("query a b", "got unexpected extra argument (b); see `stackproof query --help`"),
        ("retract", "missing argument 'RUN'; see `stackproof retract --help`"),
        ("retract x", "missing option '--why'"),
        ("collect x --repeats 0", "0 is not in the range"),
        ("collect x --repeats 1000000000", "1000000000 is not in the range"),
        ("collect x --profiled 1000000000", "1000000000 is not in the range"),
        ("--vrsion", "no option --vrsion; did you mean '--version'?"),
    ],
)
def test_a_wrong_command_line_is_one_line_with_what_to_do(evidence: Path, words: str, said: str) -> None:
    one_line(shell(f"$S {words}", evidence), 2, said)


@pytest.mark.parametrize("words", ["verify --evidence $E", "query 'FROM runs' --evidence $E", "--help", "schema"])
def test_output_that_cannot_be_written(evidence: Path, words: str) -> None:
    one_line(shell(f"$S {words} > /dev/full", evidence), 2, "standard output: cannot be written (No space left")
    one_line(shell(f"$S {words} >&-", evidence), 2, "standard output is closed")


def test_a_reader_that_goes_away_ends_it_quietly(evidence: Path) -> None:
    code, _, err = shell("$S schema | true; exit ${PIPESTATUS[0]}", evidence)
    assert (code in {0, 1, 141}, err) == (True, "")


def test_without_stdin_or_stderr_it_runs(evidence: Path) -> None:
    assert shell("$S query 'SELECT 1 AS x' --evidence $E --format csv <&- 2>&-", evidence) == (0, b"x\n1\n", "")
    for unbuffered in ("", "1"):
        assert shell("$S verfy 2> /dev/full", evidence, PYTHONUNBUFFERED=unbuffered)[0] == 2


def test_a_query_in_bytes_that_are_no_text(evidence: Path) -> None:
    one_line(shell("$S query $'SELECT \\'\\xff\\'' --evidence $E", evidence), 2, "SQL: is not UTF-8 text")
    said = "standard input: is not UTF-8 text"
    one_line(shell("$S query - --evidence $E", evidence, b"SELECT '\xff'"), 2, said)


@pytest.mark.parametrize("modes", [{}, {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}])
def test_a_query_in_utf8_where_the_shell_knows_only_ascii(evidence: Path, modes: dict[str, str]) -> None:
    line = "$S query \"SELECT 'é' AS x, length('é') AS n\" --evidence $E --format csv"
    code, out, err = shell(line, evidence, LC_ALL="C", **modes)
    assert (code, err) == (0, "")
    assert out in {"x,n\né,1\n".encode(), b"x,n\n\\xe9,1\n"}
    assert shell("$S query - --evidence $E", evidence, "SELECT 'é'".encode(), LC_ALL="C", **modes)[0] == 0


def test_a_fault_of_ours_is_one_line_that_says_how_to_get_the_traceback(evidence: Path) -> None:
    broken = "import stackproof as s; s.COMMANDS['verify'] = 'json'; s.main()"
    line = f'{sys.executable} -c "{broken}" verify'
    one_line(shell(line, evidence), 1, "a fault in stackproof itself (AttributeError")
    code, _, err = shell(line, evidence, STACKPROOF_DEBUG="1")
    assert (code, "Traceback" in err) == (1, True)


@pytest.mark.parametrize("words", ["collect", "verify", "retract --why x", "schema --output", "verify --evidence"])
@pytest.mark.parametrize("name", ["n" * 5000, "\\xff", ""])
def test_a_path_that_no_file_can_have(evidence: Path, words: str, name: str) -> None:
    place = evidence.parent
    (place / "mkdocs.yml").touch()
    code, out, err = shell(f"cd {place}; $S {words} $'{name}'", evidence)
    if (words, name) in {("schema --output", "\\xff"), ("verify --evidence", "")}:
        return  # any bytes are a good name, and no name is the folder where one is
    assert code == 2, (out, err)
    one_line((code, out, err), 2, "")
    assert "fault" not in err
