"""Trace metrics of a run folder, and what they say where there is no trace."""

import gzip
import json

import pytest
from click.testing import CliRunner

from ledger.commands.trace import command
from ledger.errors import InputError
from ledger.metrics.definitions.trace import PARTS
from ledger.metrics.derive import derive
from ledger.traces.classes import CLASSES
from tests.factory import make_run
from tests.ledger.traces.builder import annotation, op, training, write


def rows(folder):
    return {row.metric: row for row in derive(folder)}


def packed(events, **top):
    return gzip.compress(json.dumps({**top, "traceEvents": events}).encode(), mtime=0)


def test_a_traced_run_has_every_part_and_they_add_up(tmp_path):
    found = rows(make_run(tmp_path, role="profiled", trace=packed(training())))
    assert found["traced_step_time"].value == pytest.approx(100e-6)
    assert found["compute"].value == pytest.approx(60e-6)
    assert found["compute.gemm"].value == pytest.approx(30e-6)
    assert sum(found[part].value for part in PARTS) == pytest.approx(found["traced_step_time"].value, abs=1e-15)
    assert sum(found[f"compute.{kind}"].value for kind in CLASSES) == pytest.approx(found["compute"].value, abs=1e-15)
    assert found["traced_flops"].value == 128
    assert found["traced_launches"].value == 5
    assert found["unclassified_share"].value == 0
    assert found["dominant_kernel_share"].value == pytest.approx(20 / 60)
    assert found["compute"].rank == 0
    assert list(found["compute"].inputs) == ["traces/rank-0.json.gz"]


def test_no_communication_is_absent_not_zero(tmp_path):
    found = rows(make_run(tmp_path, trace=packed(training())))
    assert found["overlap_share"].missing_reason == found["communication"].missing_reason
    assert found["communication"].value is None
    assert found["exposed_communication"].value == 0


def test_overlap_is_the_share_covered_by_compute(tmp_path):
    events = [annotation("ProfilerStep#1", 0, 100), op("aten::mm", 0, 40), annotation("gloo:all_reduce", 20, 80, 2)]
    found = rows(make_run(tmp_path, trace=packed(events)))
    assert found["communication"].value == pytest.approx(80e-6)
    assert found["overlap_share"].value == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("trace", "says"),
    [
        (None, "no trace"),
        (packed(training())[:-50], "rank-0.json.gz"),
        (packed([]), "no timed event"),
    ],
    ids=["none", "truncated", "empty"],
)
def test_without_a_usable_trace_the_reason_is_given(tmp_path, trace, says):
    found = rows(make_run(tmp_path, trace=trace))
    for name in ("traced_step_time", "compute", "compute.gemm", "traced_launches", "traced_flops", "overlap_share"):
        assert found[name].value is None
        assert says in found[name].missing_reason
    assert found["step_time"].value == pytest.approx(0.1)


def test_the_command_fits_80_columns_and_shows_the_parts(tmp_path):
    path = write(tmp_path / "rank-0.json", [*training(), op("x" * 200 + "\x1b[31m", 1050, 2)])
    result = CliRunner().invoke(command, [str(path), str(path)])
    assert result.exit_code == 0
    lines = result.output.replace(str(path), "").splitlines()
    assert max(map(len, lines)) <= 80
    assert "\x1b" not in result.output
    assert "compute" in result.output
    assert result.output.count("rank 0, host only, steps: 2 (0 to 1)") == 2


def test_the_command_gives_exact_numbers_as_json(tmp_path):
    path = write(tmp_path / "rank-0.json", training())
    (found,) = json.loads(CliRunner().invoke(command, [str(path), "--format", "json"]).output)
    assert sum(found["parts_ns"].values()) == found["duration_ns"] == 200_000
    assert sum(found["classes_ns"].values()) == found["parts_ns"]["compute"]
    assert found["top"][0]["name"] in {"aten::mm", "aten::mul_"}


def test_the_command_refuses_what_is_no_trace(tmp_path):
    (tmp_path / "package.json").write_text('{"name": "x"}')
    result = CliRunner().invoke(command, [str(tmp_path / "package.json")])
    assert isinstance(result.exception, InputError)
