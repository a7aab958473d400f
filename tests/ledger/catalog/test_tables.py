"""What a run folder holds is in the tables, with real types."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from ledger import catalog
from ledger.errors import InputError
from tests.factory import make_run
from tests.ledger.catalog.conftest import reseal, retract, write_plan, write_telemetry


def test_a_run_is_one_row_with_its_identity_and_outcome(tmp_path: Path) -> None:
    run = make_run(tmp_path, "fast", repeat=2, order=5)
    with catalog.open(tmp_path) as opened:
        (row,) = opened.query("SELECT * FROM runs").dicts()
    assert row["run_id"] == run.name[-16:]
    assert row["path"] == run.relative_to(tmp_path).as_posix()
    assert (row["stack"], row["role"], row["repeat"], row["launch_order"]) == ("fast", "timed", 2, 5)
    assert (row["state"], row["reason"], row["accepted"]) == ("completed", None, True)
    assert row["started_at"] == datetime(2026, 11, 30, 12, tzinfo=UTC)


def test_metrics_hold_values_in_base_units_or_a_reason(evidence: Path) -> None:
    sql = "SELECT value, unit, missing_reason, origin FROM metrics JOIN runs USING (run_id) WHERE metric = 'step_time'"
    with catalog.open(evidence) as opened:
        (good,) = opened.query(f"{sql} AND stack = 'slow' AND role = 'timed' AND repeat = 2").rows
        (failed,) = opened.query(f"{sql} AND state = 'failed'").rows
    assert good == (pytest.approx(0.102), "s", None, "sealed")
    assert failed[0] is None
    assert "no measured step" in failed[2]


def test_leaves_have_dotted_paths_and_json_values(evidence: Path) -> None:
    with catalog.open(evidence) as opened:
        card = dict(opened.query("SELECT DISTINCT field, value FROM cards").rows)
        environment = dict(opened.query("SELECT DISTINCT field, value FROM environments").rows)
        settings = opened.query("SELECT DISTINCT stack, setting, value FROM settings JOIN runs USING (run_id)").rows
    assert card["workload.data.seq_len"] == "16"
    assert card["workload.model.model_family"] == '"tiny-llama"'
    assert card["metric_source.traces"] == '["json"]'
    assert environment["packages.torch"] == '"2.13.0"'
    assert environment["hardware.devices"] == "[]"
    assert sorted(settings) == [("fast", "threads", "2"), ("slow", "threads", "1")]


def test_steps_and_telemetry_come_from_parquet(tmp_path: Path) -> None:
    reseal(tmp_path, make_run(tmp_path, step_time=0.25), write_telemetry)
    with catalog.open(tmp_path) as opened:
        assert opened.query("SELECT count(*), max(duration_ns) FROM steps WHERE phase = 'measured'").rows == [
            (8, 250_000_000)
        ]
        assert opened.query("SELECT device, memory_bytes, power_w FROM telemetry").rows == [("host", 1000, None)]


def test_price_of_the_card_comes_before_that_of_the_benchmark_file(tmp_path: Path) -> None:
    make_run(tmp_path, "slow")
    make_run(tmp_path, "fast")
    own = {"amount": 2, "currency": "EUR", "per": "device_hour", "source": "invoice", "as_of": "2026-10-01"}
    make_run(tmp_path, "slow", repeat=2, card={"workload": {"hardware": {"price": own}}})
    with catalog.open(tmp_path) as opened:
        rows = opened.query("SELECT amount, currency, per, source, as_of FROM prices ORDER BY amount").rows
    assert rows == [
        (0.1, "USD", "node_hour", "list price", date(2026, 11, 1)),
        (2.0, "EUR", "device_hour", "invoice", date(2026, 10, 1)),
    ]


def test_files_are_those_of_the_manifest(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    with catalog.open(tmp_path) as opened:
        rows = opened.query("SELECT sha256 || '  ' || path FROM files ORDER BY path").rows
        sizes = opened.query("SELECT bytes FROM files WHERE path = 'run.json'").rows
    assert [row[0] for row in rows] == (run / "MANIFEST.sha256").read_text().splitlines()
    assert sizes == [((run / "run.json").stat().st_size,)]


def test_plans_name_what_was_not_launched(tmp_path: Path) -> None:
    batch = write_plan(tmp_path)
    with catalog.open(tmp_path) as opened:
        rows = opened.query("SELECT batch, state, reason, install, launch_order FROM plans ORDER BY state").rows
    assert rows == [(batch, "excluded", "no C++ compiler", "apt install g++", None), (batch, "planned", None, None, 1)]


def test_retracted_and_duplicate_runs_stay_in_runs_but_are_not_usable(tmp_path: Path) -> None:
    kept = make_run(tmp_path, repeat=1)
    retract(tmp_path, make_run(tmp_path, repeat=2))
    make_run(tmp_path, repeat=3, duplicate_of_attempt=True)
    with catalog.open(tmp_path) as opened:
        assert len(opened.query("FROM runs").rows) == 3
        assert opened.query("SELECT run_id FROM usable_runs").rows == [(kept.name[-16:],)]
        assert sorted(opened.query("SELECT cause, why FROM set_aside").rows) == [
            ("duplicate", "another process ran the same trial"),
            ("retracted", "wrong driver"),
        ]
        assert opened.query("SELECT kind FROM latest_status").rows == [("retracted",)]


def test_every_trial_is_completed_failed_excluded_or_missing(evidence: Path) -> None:
    with catalog.open(evidence) as opened:
        rows = opened.query("SELECT stack, role, state, count(*) FROM trials GROUP BY ALL ORDER BY ALL").rows
    assert rows == [
        ("fast", "profiled", "excluded", 1),
        ("fast", "profiled", "missing", 1),
        ("fast", "timed", "completed", 3),
        ("fast", "timed", "excluded", 1),
        ("slow", "timed", "completed", 3),
        ("slow", "timed", "failed", 1),
        ("slow", "warmup", "completed", 1),
    ]


def test_an_evidence_folder_without_runs_has_empty_tables(tmp_path: Path) -> None:
    with catalog.open(tmp_path) as opened:
        assert opened.query("FROM usable_runs").rows == []
        assert opened.query("SELECT count(*) > 0 FROM metric_definitions").rows == [(True,)]


@pytest.mark.parametrize("kind", ["missing", "file"])
def test_what_is_no_folder_is_refused(tmp_path: Path, kind: str) -> None:
    place = tmp_path / "evidence"
    if kind == "file":
        place.write_text("")
    with pytest.raises(InputError, match="evidence"):
        catalog.open(place)


def test_every_column_is_documented() -> None:
    found = catalog.describe()
    assert {each.table for each in found} >= {"runs", "metrics", "usable_runs", "trials", "files"}
    assert [f"{each.table}.{each.name}" for each in found if not each.description or not each.table_description] == []


def test_arrow_keeps_types(evidence: Path) -> None:
    with catalog.open(evidence) as opened:
        table = opened.arrow("SELECT started_at, repeat FROM runs WHERE stack = ? AND role = ?", ["fast", "timed"])
    assert [str(each) for each in table.schema.types] == ["timestamp[us, tz=UTC]", "int32"]
    assert table.num_rows == 4
