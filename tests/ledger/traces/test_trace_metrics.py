"""Trace metrics of a run folder, and what they say where there is no trace."""

import gzip
import json

import pytest

from ledger.metrics.definitions.trace import PARTS
from ledger.metrics.derive import derive
from ledger.traces.classes import CLASSES
from tests.factory import make_run
from tests.ledger.traces.builder import annotation, op, training


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
