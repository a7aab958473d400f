"""What may differ, what must not, and what is unknown: fields of the two sides lined up."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sitegen.comparison.verdict import Decision, Sameness, Treatment
from tests.factory import BENCHMARK
from tests.sitegen.comparison.made import interleaved, verdict
from tests.sitegen.comparison.test_judging import EXPLAINED, FAST, SLOW, codes


def test_a_held_field_that_differs_is_not_a_comparison():
    fields = {"card.workload.data.batch_size": "1"}
    runs = interleaved(SLOW, FAST, slow_changes={"fields": fields})
    found = verdict(runs)
    assert found.decision is Decision.NOT_COMPARABLE
    assert found.winner is None
    assert found.sentence == "slow and fast cannot be compared: batch size differs, 1 against same."
    assert found.fields[0].field == "card.workload.data.batch_size"
    assert found.fields[0].sameness is Sameness.DIFFERENT
    assert "held_field_differs" in codes(found)


def test_a_comparison_may_hold_more_fields_than_its_kind_does():
    """The sides' threads differ, as settings may; a comparison that holds them is none."""
    held = [{**BENCHMARK["comparisons"][0], "held": ["setting.threads"]}]
    found = verdict(interleaved(SLOW, FAST), comparisons=held)
    assert found.sentence == "slow and fast cannot be compared: threads differs, slow against fast."
    assert "held_field_differs" in codes(found)
    alike = {"fields": {"setting.threads": "2"}}
    assert verdict(interleaved(SLOW, FAST, fast_changes=alike, slow_changes=alike), comparisons=held).winner == "fast"


def test_what_may_differ_by_a_pattern_can_be_held_by_its_name():
    fields = {"intended": ["card.workload.model.*"], "held": ["card.workload.model.precision"]}
    other = {"fields": {"card.workload.model.precision": "bfloat16", "card.workload.model.digest": "other"}}
    found = verdict(
        interleaved(SLOW, FAST, fast_changes=other), comparisons=[{**BENCHMARK["comparisons"][0], **fields}]
    )
    differing = [
        line.field for line in found.fields if line.treatment is Treatment.HELD and line.sameness.value != "same"
    ]
    assert differing == ["card.workload.model.precision"]


@pytest.mark.parametrize("nothing", ["null", "", "N/A", "TBD"])
def test_a_held_field_unknown_on_one_side_is_not_ready(nothing: str):
    fields = {"card.workload.model.precision": nothing}
    found = verdict(interleaved(SLOW, FAST, fast_changes={"fields": fields}) + EXPLAINED)
    assert found.decision is Decision.WINS
    assert codes(found) == {"held_field_unknown"}
    assert found.fields[0].sameness is Sameness.UNKNOWN
    assert found.fields[0].candidate is None


def test_a_setting_that_is_null_is_known():
    runs = interleaved(
        SLOW,
        FAST,
        slow_changes={"fields": {"setting.mode": "null", "card.nothing": "null"}},
        fast_changes={"fields": {"setting.mode": "max", "card.nothing": "null"}},
    )
    lines = {line.field: line for line in verdict(runs).fields}
    assert (lines["setting.mode"].sameness, lines["setting.mode"].baseline) == (Sameness.DIFFERENT, "null")
    assert "card.nothing" not in lines


def test_differences_come_first_and_noise_is_not_listed():
    runs = interleaved(
        SLOW, FAST, fast_changes={"fields": {"environment.fast_only": "2.0", "environment.packages.numpy": "2.0"}}
    )
    runs = [
        replace(each, fields={**each.fields, "environment.fan": str(index), "environment.pressure.some": str(index)})
        for index, each in enumerate(runs)
    ]
    listed = [(line.field, line.treatment, line.sameness) for line in verdict(runs).fields]
    assert listed[:2] == [
        ("setting.threads", Treatment.INTENDED, Sameness.DIFFERENT),
        ("environment.fast_only", Treatment.RECORDED, Sameness.UNKNOWN),
    ]
    assert all(sameness is Sameness.SAME for _, _, sameness in listed[2:])


def test_a_field_that_varies_on_one_side_shows_how_many_values():
    runs = interleaved(SLOW, FAST)
    runs = [
        replace(each, fields={**each.fields, "environment.clock": str(each.repeat) if each.stack == "slow" else "1"})
        for each in runs
    ]
    line = next(line for line in verdict(runs).fields if line.field == "environment.clock")
    assert (line.baseline, line.candidate) == ("5 values: 1 to 5", "1")
