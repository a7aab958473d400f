"""Workloads from a log of one's own: every layout, odd rows, prefix sharing, and a sample that gives nobody away."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from ledger import traffic as traffic_file
from ledger.errors import InputError
from ledger.traffic import Traffic
from tests.collector.conftest import run_cli

SYSTEM = "You are a helpful assistant of the ACME company. " * 12
"""588 characters: two whole blocks of 256."""


def gateway(second: float, question: str = "What is it?", **changes: Any) -> dict[str, Any]:
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": question}]
    row = {
        "timestamp": 1_764_550_000 + second,
        "usage": {"prompt_tokens": 160, "completion_tokens": 20},
        "request": {"messages": messages},
        "status": 200,
    }
    return {**row, **changes}


def write_lines(path: Path, rows: Iterable[Any]) -> Path:
    path.write_text("".join((each if isinstance(each, str) else json.dumps(each)) + "\n" for each in rows))
    return path


def from_log(log: Path, *options: str) -> tuple[Traffic, str]:
    """The traffic that a log gives, and what the command printed."""
    target = log.with_name("traffic.json")
    code, out, err = run_cli("workload", "from-log", str(log), "--output", str(target), *options)
    assert code == 0, err
    return traffic_file.read(target), out


def refused(*arguments: str) -> str:
    code, _, err = run_cli("workload", "from-log", *arguments)
    assert code == 2, err
    assert err.count("\n") == 1
    return err


def test_a_gateways_log_gives_arrivals_and_lengths(tmp_path):
    log = write_lines(tmp_path / "gateway.jsonl", [gateway(each) for each in (5, 0, 2.5)])
    found, out = from_log(log)
    assert found.arrivals_s == (0.0, 2.5, 5.0)
    assert (found.input_lengths, found.output_lengths, found.unit) == ((160,) * 3, (20,) * 3, "tokens")
    assert found.requests_per_day == 2 / 5 * 86_400
    assert "a gateway's log with OpenAI's usage object, 3 rows, 3 used" in out
    assert "load: {from_log: {path:" in out


def test_what_requests_share_from_the_start_is_counted_in_whole_blocks(tmp_path):
    log = write_lines(tmp_path / "g.jsonl", [gateway(0, "a" * 300), gateway(1, "b" * 300), gateway(2, "a" * 300)])
    found, _ = from_log(log)
    characters = len(SYSTEM) + 1 + 300
    block = round(256 * 160 / characters)
    assert found.block == block
    assert [len(each) for each in found.prefixes] == [3, 3, 3]
    assert found.prefixes[0][:2] == found.prefixes[1][:2]
    assert found.prefixes[0] == found.prefixes[2]
    assert found.shared_prefix() == pytest.approx((2 * block + 3 * block) / (3 * 160))


def test_logged_block_ids_are_taken_as_they_are(tmp_path):
    rows = [
        {"timestamp": 0, "input_length": 1024, "output_length": 5, "hash_ids": [7, 8]},
        {"timestamp": 1500, "input_length": 1100, "output_length": 6, "hash_ids": [7, 9, 10]},
    ]
    found, out = from_log(write_lines(tmp_path / "mooncake.jsonl", rows))
    assert "Mooncake's trace" in out
    assert (found.arrivals_s, found.prefixes, found.block) == ((0.0, 1.5), ((0, 1), (0, 2, 3)), 512)
    assert found.shared_prefix() == 512 / (1024 + 1100)


@pytest.mark.parametrize(
    ("columns", "times"),
    [
        (
            ["TIMESTAMP", "ContextTokens", "GeneratedTokens"],
            ["2024-05-10 00:00:00.009930", "2024-05-10 00:00:01.00993"],
        ),
        (["Timestamp", "Request tokens", "Response tokens"], ["5", "6"]),
        (["time", "input_tokens", "output_tokens"], ["2026-11-30T00:00:00Z", "2026-11-30T01:00:01+01:00"]),
        (["timestamp", "prompt_tokens", "completion_tokens"], [1764550000000, 1764550001000]),
    ],
)
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_csv_layouts_are_known_by_their_columns(tmp_path, columns, times, delimiter):
    log = tmp_path / "log.csv"
    with log.open("w", newline="", encoding="utf-8-sig") as file:
        csv.writer(file, delimiter=delimiter).writerows([columns, [times[0], 10, 2], [times[1], 12, 3]])
    found, _ = from_log(log)
    assert (found.arrivals_s, found.input_lengths, found.output_lengths) == ((0.0, 1.0), (10, 12), (2, 3))
    assert (found.block, found.shared_prefix()) == (None, None)


def test_columns_are_named_in_a_file_and_rows_kept_by_value(tmp_path):
    (tmp_path / "columns.yaml").write_text(
        "time: at.start\ntime_unit: ms\ninput_tokens: n in\noutput_tokens: n.out\nkeep: {code: [200, ok]}\n"
    )
    rows = [
        {"at": {"start": 1000 * each}, "n in": 3, "n.out": 4, "code": code}
        for each, code in enumerate((200, "ok", 500, "200", None))
    ]
    found, out = from_log(write_lines(tmp_path / "own.jsonl", rows), "--columns", str(tmp_path / "columns.yaml"))
    assert (found.arrivals_s, found.output_lengths) == ((0.0, 1.0, 3.0), (4, 4, 4))
    assert "left out: 2 (code is none of those to keep)" in out


def test_rows_that_make_no_sense_are_counted_by_reason(tmp_path):
    rows = [
        gateway(0),
        "half a li",
        "[1, 2]",
        gateway(1, timestamp=None),
        gateway(1, timestamp="yesterday"),
        gateway(1, timestamp=True),
        '{"timestamp": NaN, "usage": {"prompt_tokens": 1}}',
        gateway(1, usage={"prompt_tokens": -1, "completion_tokens": 2}),
        gateway(1, usage={"prompt_tokens": 1.5, "completion_tokens": 2}),
        gateway(3, usage={"prompt_tokens": 9, "completion_tokens": None}),
    ]
    found, _ = from_log(write_lines(tmp_path / "g.jsonl", rows))
    assert found.output_lengths == (20, None)
    assert found.source["left_out"] == {
        "no row of the log's format": 2,
        "no usable time": 4,
        "a length that is no whole number": 2,
    }
    assert (found.source["rows"], found.source["used"]) == (10, 2)


def test_of_a_long_log_the_last_requests_are_kept(tmp_path):
    log = write_lines(tmp_path / "g.jsonl", [gateway(each) for each in (9, 1, 8, 2, 7, 3)])
    found, _ = from_log(log, "--limit", "3")
    assert found.arrivals_s == (0.0, 1.0, 2.0)
    assert found.source["left_out"] == {"earlier than the last that are kept": 3}


def test_the_sample_gives_nobody_away_and_is_cut_after_that(tmp_path, monkeypatch):
    monkeypatch.setenv("GATEWAY_TOKEN", "hunter2-the-password")
    secret = "mail jane.doe@example.org, call +49 (30) 1234-5678, from 10.0.0.7, hunter2-the-password, sk-" + "a" * 48
    rows = [gateway(each, secret + " and the year 2026, 42 times") for each in range(3)]
    found, out = from_log(write_lines(tmp_path / "g.jsonl", rows), "--prompts", "2")
    text = "\n".join(found.prompts)
    assert len(found.prompts) == 2
    assert not any(each in text for each in ("jane", "1234", "10.0.0.7", "hunter2", "aaaaaaa"))
    assert all(len(each) <= 502 for each in found.prompts)
    assert "2 of its prompts, redacted" in out
    log = write_lines(tmp_path / "h.jsonl", [gateway(each, "x") for each in range(3)])
    (tmp_path / "traffic.json").unlink()
    assert from_log(log, "--prompts", "0")[0].prompts == ()


def test_only_text_means_lengths_in_characters(tmp_path):
    rows = [{"timestamp": each, "prompt": "x" * 300, "prompt_tokens": None} for each in range(2)]
    found, _ = from_log(write_lines(tmp_path / "g.jsonl", rows))
    assert (found.unit, found.input_lengths, found.block) == ("characters", (300, 300), 256)
    assert found.shared_prefix() == 256 / 600


def test_it_prints_json(tmp_path):
    log = write_lines(tmp_path / "g.jsonl", [gateway(each) for each in range(4)])
    code, out, _ = run_cli("workload", "from-log", str(log), "--output", str(tmp_path / "t.json"), "--format", "json")
    assert code == 0
    found = json.loads(out)
    assert (found["requests"], found["span_s"], found["input"]["p50"]) == (4, 3.0, 160.0)


def test_bad_input_is_told_in_a_line(tmp_path):
    good = write_lines(tmp_path / "good.jsonl", [gateway(0), gateway(1)])
    (tmp_path / "there.json").write_text("{}")
    assert "is there already" in refused(str(good), "--output", str(tmp_path / "there.json"))
    target = ["--output", str(tmp_path / "new.json")]
    assert "cannot be read (No such file or directory)" in refused(str(tmp_path / "no.jsonl"), *target)
    assert "cannot be read (Is a directory)" in refused(str(tmp_path), *target)
    (tmp_path / "empty.jsonl").write_text("\n\n")
    assert "holds no row" in refused(str(tmp_path / "empty.jsonl"), *target)
    (tmp_path / "binary").write_bytes(b"\x00\x01\x02" * 99)
    assert "is not text" in refused(str(tmp_path / "binary"), *target)
    unknown = write_lines(tmp_path / "unknown.jsonl", [{"when": 1, "much": {"in": 2}}])
    assert "its columns are not known (when, much.in)" in refused(str(unknown), *target)
    same = write_lines(tmp_path / "same.jsonl", [gateway(1), gateway(1)])
    assert "has no two requests at different times" in refused(str(same), *target)
    no_time = write_lines(tmp_path / "no_time.jsonl", [gateway(0, timestamp="soon") for _ in range(3)])
    assert "(3 rows: no usable time)" in refused(str(no_time), *target)
    assert not (tmp_path / "new.json").exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("tme: at\n", "tme: unknown key; did you mean 'time'?"),
        ("time: at\n", "must name input_tokens or prompt"),
        ("time: at\nprompt: p\ntime_unit: h\n", "time_unit: must be 'auto', 'iso'"),
        ("time: at\nprompt: p\nprefix_blocks: b\n", "prefix_blocks and block_tokens go together"),
        ("- time\n", "must be a mapping"),
    ],
)
def test_a_columns_file_that_cannot_be_used_is_told(tmp_path, text, words):
    log = write_lines(tmp_path / "g.jsonl", [gateway(0), gateway(1)])
    (tmp_path / "columns.yaml").write_text(text)
    said = refused(str(log), "--columns", str(tmp_path / "columns.yaml"), "--output", str(tmp_path / "t.json"))
    assert words in said


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"kind": "benchmark"}, "is no traffic file of format 1"),
        ({"format": 2}, "is no traffic file of format 1"),
        ({"arrivals_s": [0.0]}, "it holds fewer than two requests"),
        ({"arrivals_s": [1.0, 0.0]}, "its arrivals are not in order"),
        ({"arrivals_s": [0.0, 1.0, 2.0]}, "its columns have different lengths"),
        ({"input_lengths": [1, -1]}, "a length is no whole number"),
        ({"input_lengths": [1, True]}, "a length is no whole number"),
        ({"unit": "words"}, "its unit is 'words'"),
        ({"arrivals_s": None}, "is no traffic file"),
    ],
)
def test_a_traffic_file_that_was_changed_by_hand_is_checked(tmp_path, changes, words):
    found, _ = from_log(write_lines(tmp_path / "g.jsonl", [gateway(0), gateway(1)]))
    path = tmp_path / "changed.json"
    path.write_text(json.dumps({**found.to_json(), **changes}))
    with pytest.raises(InputError) as caught:
        traffic_file.read(path)
    assert words in str(caught.value)


def test_a_traffic_file_is_read_as_it_was_written(tmp_path):
    found, _ = from_log(write_lines(tmp_path / "g.jsonl", [gateway(0), gateway(1)]))
    traffic_file.write(tmp_path / "again.json", found)
    assert traffic_file.read(tmp_path / "again.json") == found
