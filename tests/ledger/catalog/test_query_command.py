"""`stackproof query` and `catalog rebuild`: formats, saved queries, errors."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from rich.cells import cell_len

from ledger.catalog import Result
from ledger.commands import rendering
from ledger.commands.query import TITLE, saved_names, saved_sql
from ledger.errors import InputError
from tests import serving
from tests.factory import make_run
from tests.ledger.catalog.conftest import Ask, reseal

OF_TRACES = {"where-time-goes", "top-kernels", "collectives"}
OF_REQUESTS = {"latency", "cost", "request-failures"}
OF_OTHERS = {"shortlist"}


@pytest.mark.parametrize("name", saved_names())
def test_every_saved_query_runs_and_has_a_title(evidence: Path, ask: Ask, name: str) -> None:
    assert saved_sql(name).startswith(TITLE)
    answer = ask("query", "--saved", name, "--evidence", str(evidence), "--format", "json")
    assert answer.exception is None
    assert answer.stderr == ""
    rows = json.loads(answer.stdout)
    assert (rows == []) is (name in OF_TRACES | OF_REQUESTS | OF_OTHERS)  # the factory's runs hold none of these


def test_saved_queries_about_requests(tmp_path: Path, ask: Ask) -> None:
    keys = serving.benchmark(serving.SERVE)
    keys["envelope"]["demand"] = {"requests_per_day": 1000}
    rows = [serving.request(number, accepted=number > 0, why="wrong") for number in range(199)]
    serving.make_run(tmp_path, [*rows, serving.failed(199)], keys)

    def saved(name: str) -> list[dict[str, object]]:
        found: list[dict[str, object]] = json.loads(
            ask("query", "--saved", name, "--evidence", str(tmp_path), "--format", "json").stdout
        )
        return found

    (latency,) = saved("latency")
    assert latency["e2e_p50_s"] == pytest.approx(0.09)
    (cost,) = saved("cost")
    assert cost["machines_at_demand"] == 1
    assert cost["per_month_at_demand"] == pytest.approx(73)
    failures = {row["outcome"]: (row["reason"], row["requests"]) for row in saved("request-failures")}
    assert failures == {"error": ("HTTP 500", 1), "not accepted": ("wrong", 1)}


def test_outcomes_add_up(evidence: Path, ask: Ask) -> None:
    rows = json.loads(ask("query", "--saved", "outcomes", "--evidence", str(evidence), "--format", "json").stdout)
    assert len(rows) == 4
    for row in rows:
        assert row["planned"] == row["completed"] + row["failed"] + row["excluded"] + row["missing"]
    # A retracted launch counts as excluded.
    assert {(row["stack"], row["role"]): row["excluded"] for row in rows}["fast", "timed"] == 1


def test_step_time_counts_usable_timed_launches_only(evidence: Path, ask: Ask) -> None:
    rows = json.loads(ask("query", "--saved", "step-time", "--evidence", str(evidence), "--format", "json").stdout)
    assert [(row["stack"], row["launches"]) for row in rows] == [("fast", 3), ("slow", 3)]
    assert rows[1]["mean_s"] == pytest.approx(0.102)
    assert rows[1]["spread"] == pytest.approx(0.001 / 0.102)


def test_where_time_goes_shows_parts_as_shares_of_the_traced_step(tmp_path: Path, ask: Ask) -> None:
    seconds = {"traced_step_time": 0.2, "compute": 0.15, "compute.gemm": 0.1, "idle": 0.05, "exposed_copy": 0.0}
    rows = [
        {"metric": name, "definition": f"{name}@1", "version": 1, "unit": "s", "value": value * (1 + rank)}
        | {"missing_reason": None, "rank": rank, "step": None, "inputs": {}}
        for name, value in seconds.items()
        for rank in (0, 1)
    ]
    run = make_run(tmp_path, role="profiled")
    reseal(tmp_path, run, lambda folder: (folder / "metrics.json").write_text(json.dumps(rows)) and None)
    text = ask("query", "--saved", "where-time-goes", "--evidence", str(tmp_path), "--format", "json").stdout
    parts = {row["part"]: (row["launches"], row["seconds"], row["share"]) for row in json.loads(text)}
    assert list(parts) == ["traced_step_time", "compute", "idle", "compute.gemm"]
    assert parts["compute"] == (1, pytest.approx(0.225), pytest.approx(0.75))


def test_settings_differences_name_both_values(evidence: Path, ask: Ask) -> None:
    text = ask("query", "--saved", "settings-differences", "--evidence", str(evidence), "--format", "csv").stdout
    assert text == "benchmark,setting,stack,value\ntiny,threads,fast,2\ntiny,threads,slow,1\n"


def test_table_is_aligned_with_numbers_to_the_right(evidence: Path, ask: Ask) -> None:
    sql = "SELECT stack, repeat * 50 AS n, NULL AS nothing, started_at AS t FROM runs WHERE role = 'timed' ORDER BY ALL"
    lines = ask("query", sql, "--evidence", str(evidence)).stdout.splitlines()
    assert lines[:4] == [
        "stack    n  nothing  t",
        "-----  ---  -------  --------------------",
        "fast    50           2026-11-30 12:00:00Z",
        "fast   100           2026-11-30 12:00:00Z",
    ]


def test_json_holds_iso_times_and_never_nan(evidence: Path, ask: Ask) -> None:
    sql = "SELECT started_at, 'nan'::DOUBLE AS a, [1, 'inf'::DOUBLE] AS b, NULL AS c, true AS d FROM runs LIMIT 1"
    assert json.loads(ask("query", sql, "--evidence", str(evidence), "--format", "json").stdout) == [
        {"started_at": "2026-11-30T12:00:00.000000Z", "a": None, "b": [1.0, None], "c": None, "d": True}
    ]


def test_csv_keeps_exact_numbers_and_quotes(evidence: Path, ask: Ask) -> None:
    sql = "SELECT 1/3 AS a, 'x,\"y\"' AS b, NULL AS c FROM runs LIMIT 1"
    text = ask("query", sql, "--evidence", str(evidence), "--format", "csv").stdout
    assert list(csv.reader(io.StringIO(text))) == [["a", "b", "c"], [repr(1 / 3), 'x,"y"', ""]]


def test_csv_tells_nothing_from_empty_text_and_from_no_number(evidence: Path, ask: Ask) -> None:
    sql = "SELECT NULL AS a, '' AS b, 'nan'::DOUBLE AS c, 'inf'::FLOAT AS d, '-inf'::DOUBLE AS e, 'x\ny' AS f"
    text = ask("query", sql, "--evidence", str(evidence), "--format", "csv").stdout
    assert text == 'a,b,c,d,e,f\n,"",NaN,Infinity,-Infinity,"x\ny"\n'


def test_parquet_needs_a_file_and_keeps_types(evidence: Path, tmp_path: Path, ask: Ask) -> None:
    target = tmp_path / "runs.parquet"
    arguments = ("query", "SELECT run_id, started_at FROM runs", "--evidence", str(evidence), "--format", "parquet")
    assert "--output" in str(ask(*arguments).exception)
    assert ask(*arguments, "--output", str(target)).exception is None
    table = pq.read_table(target)
    assert table.num_rows == 9
    assert str(table.schema.field("started_at").type) == "timestamp[us, tz=UTC]"
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_output_never_goes_into_the_evidence(evidence: Path, ask: Ask) -> None:
    answer = ask("query", "FROM runs", "--evidence", str(evidence), "--output", str(evidence / "tiny" / "runs.txt"))
    assert isinstance(answer.exception, InputError)
    assert not (evidence / "tiny" / "runs.txt").exists()


HOSTILE = "\x1b[31mred\x1b[0m\r\n| a | <b> [x](y) `c` \u202e \x9b1m"


def test_hostile_text_is_neutral_for_people(tmp_path: Path, ask: Ask) -> None:
    make_run(tmp_path, host=HOSTILE)
    for style in ("table", "markdown"):
        text = ask("query", "SELECT host FROM runs", "--evidence", str(tmp_path), "--format", style).stdout
        assert text.count("\n") == 3
        assert all(each.isprintable() for each in text.split("\n"))
        assert "\\x1b" in text
    row = text.splitlines()[2].removeprefix("| ").removesuffix(" |")
    assert all(row[at - 1] == "\\" for at, each in enumerate(row) if each in "|<>[]`")
    exact = ask("query", "SELECT host FROM runs", "--evidence", str(tmp_path), "--format", "json").stdout
    assert "\x9b" not in exact
    assert "\x1b" not in exact
    assert json.loads(exact) == [{"host": HOSTILE}]


def test_a_terminal_gets_a_table_that_fits_or_one_value_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    few = Result(("name", "n"), ("VARCHAR", "BIGINT"), [("[bold]日本", 12), (None, 3)])
    rendering.print_table(few)
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert lines == ["name         n", "[bold]日本  12", "             3"]
    many = Result(tuple(f"column{n}" for n in range(12)), ("VARCHAR",) * 12, [tuple("x" * 30 for _ in range(12))] * 2)
    rendering.print_table(many)
    records = capsys.readouterr().out
    assert all(cell_len(line) <= 80 for line in records.splitlines())
    assert records.splitlines()[0].split() == ["column0", "x" * 30]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.1 + 0.2, "0.3"), (2e8, "200000000"), (12345678.9, "12345679"), (1e-7, "1e-07"), (-0.051234567, "-0.05123457")],
)
def test_people_see_seven_digits(value: float, text: str) -> None:
    assert rendering.cell(value) == text


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT stak FROM runs", '"stack"'),
        ("SELECT * FROM rnus", '"runs"'),
        ("SELEC 1", "syntax error"),
        ("SELECT 1; SELECT 2", "one at a time"),
        ("DROP TABLE runs", "SELECT only"),
        ("INSTALL httpfs", "INSTALL is not a query"),
        ("/* a */ -- b\nLOAD httpfs", "LOAD is not a query"),
        ("SELECT '\udcff'", "is not UTF-8 text"),
        ("", "is empty"),
    ],
)
def test_a_wrong_query_is_one_line_with_what_to_do(evidence: Path, ask: Ask, sql: str, said: str) -> None:
    answer = ask("query", sql, "--evidence", str(evidence))
    assert isinstance(answer.exception, InputError)
    assert said in answer.exception.diagnostics()
    assert "\n" not in answer.exception.diagnostics()
    assert answer.stdout == ""


@pytest.mark.parametrize("style", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("place", "said"),
    [("/", "is a folder"), (".", "is a folder"), ("none/x", "no such folder"), ("/dev/null", "is a device or pipe")],
)
def test_a_place_that_cannot_be_written_is_refused_before_the_query_runs(
    tmp_path: Path, ask: Ask, monkeypatch: pytest.MonkeyPatch, place: str, said: str, style: str
) -> None:
    monkeypatch.chdir(tmp_path)
    answer = ask("query", "no query", "--evidence", "no-evidence", "--format", style, "--output", place)
    assert isinstance(answer.exception, InputError)
    assert said in answer.exception.diagnostics()
    assert list(tmp_path.iterdir()) == []


def test_what_parquet_cannot_hold_is_an_error_and_leaves_no_half(evidence: Path, tmp_path: Path, ask: Ask) -> None:
    place = tmp_path / "x.parquet"
    sql = "SELECT INTERVAL 5 MONTH AS x"
    answer = ask("query", sql, "--evidence", str(evidence), "--format", "parquet", "--output", str(place))
    assert "CAST it to VARCHAR" in str(answer.exception)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["evidence"]


def test_an_unknown_saved_query_names_the_nearest(evidence: Path, ask: Ask) -> None:
    answer = ask("query", "--saved", "outcoms", "--evidence", str(evidence))
    assert "did you mean 'outcomes'?" in str(answer.exception)


def test_an_unknown_saved_query_names_those_there_are(evidence: Path, ask: Ask) -> None:
    answer = ask("query", "--saved", "../tables", "--evidence", str(evidence))
    assert "step-time" in str(answer.exception)


def test_evidence_without_a_run_is_an_error_that_says_what_to_do(tmp_path: Path, ask: Ask) -> None:
    answer = ask("query", "FROM runs", "--evidence", str(tmp_path))
    assert isinstance(answer.exception, InputError)
    assert "stackproof collect" in answer.exception.diagnostics()


def test_without_arguments_it_lists_tables_and_saved_queries(ask: Ask) -> None:
    text = ask("query").stdout
    assert "usable_runs" in text
    assert "step-time" in text
    listed = json.loads(ask("query", "--tables", "--format", "json").stdout)
    assert {"table": "metrics", "column": "value"}.items() <= next(
        each for each in listed if (each["table"], each["column"]) == ("metrics", "value")
    ).items()
    assert [
        row["saved query"] for row in json.loads(ask("query", "--list", "--format", "json").stdout)
    ] == saved_names()


def test_rebuild_counts_rows_and_reports_what_it_left_out(evidence: Path, ask: Ask) -> None:
    good = ask("catalog", "rebuild", "--evidence", str(evidence), "--format", "json")
    assert good.return_value == 0
    assert json.loads(good.stdout)["rows"]["runs"] == 9
    next(evidence.glob("tiny/*/slow-*/run.json")).write_text("{}")
    bad = ask("catalog", "rebuild", "--evidence", str(evidence))
    assert bad.return_value == 1
    assert "read 8 run folders" in bad.stdout
    assert bad.stderr.startswith("warning: ")
