"""Answers judged: known right verdicts of each rule, and rows of a data set that lack what the rule needs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from ledger import answers
from ledger.workloads.acceptance import AnswerAcceptance


def rule(**keys):
    return TypeAdapter(AnswerAcceptance).validate_python(keys)


@pytest.mark.parametrize(
    ("kind", "more", "expected", "text", "accepted"),
    [
        ("exact", {}, "Paris", "  paris\n", True),
        ("exact", {}, "Paris", "Paris.", False),
        ("exact", {"ignore_case": False}, "Paris", "paris", False),
        ("exact", {}, ["Paris", "the city of Paris"], "The City of Paris", True),
        ("exact", {}, 4, "4", True),
        ("exact", {}, "é", "e\N{COMBINING ACUTE ACCENT}", True),
        ("exact", {}, "straße", "STRASSE", True),
        ("contains_any", {}, "rat", "separate", False),
        ("contains_any", {}, "rat", "a rat!", True),
        ("contains_any", {}, ["C++", "Rust"], "It is C++.", True),
        ("contains_any", {}, "C++", "C+", False),
        ("contains_any", {}, "a.b", "axb", False),
        ("contains_any", {}, "Tokyo", "", False),
        ("regex", {}, r"^\d{4}$", "1989", True),
        ("regex", {}, r"^\d{4}$", "in 1989", False),
        ("regex", {"ignore_case": True}, "yes", "YES", True),
        ("numeric", {}, 4, "2 + 2 = 4.", True),
        ("numeric", {}, 4, "4 is what 2 and 2 make", False),
        ("numeric", {}, 1234.5, "about 1,234.5 kg", True),
        ("numeric", {}, -3, "minus: \N{MINUS SIGN}3", True),
        ("numeric", {}, 5, "between 3-5", True),
        ("numeric", {}, 5, "x5", False),
        ("numeric", {}, 0.5, "it is .5", True),
        ("numeric", {}, 1e6, "1e6", True),
        ("numeric", {"tolerance": 0.1}, 3.14, "3.2", True),
        ("numeric", {"tolerance": 0.1}, 3.14, "3.25", False),
        ("numeric", {"tolerance": 0.1}, 0.2, "0.3", True),
        ("numeric", {"relative": 0.01}, 200, "202", True),
        ("numeric", {"relative": 0.01}, 200, "203", False),
        ("numeric", {}, 7, "seven", False),
        ("json_schema", {}, {"type": "object", "required": ["a"]}, '{"a": 1}', True),
        ("json_schema", {}, {"type": "object", "required": ["a"]}, '{"b": 1}', False),
        ("json_schema", {}, {"type": "object"}, '```json\n{"a": 1}\n```', False),
        ("json_schema", {}, {"type": "number"}, "NaN", False),
        ("json_schema", {}, {"type": "array"}, "[" * 100_000, False),
        ("json_schema", {}, {"$ref": "http://127.0.0.1:9/none.json"}, "1", False),
    ],
)
def test_an_answer_is_accepted_or_not(kind, more, expected, text, accepted):
    found, why = answers.accepts(rule(kind=kind, field="answer", **more), {"answer": expected}, text)
    assert found is accepted
    assert (why is None) is accepted


@pytest.mark.parametrize(
    ("kind", "row", "said"),
    [
        ("exact", {}, "has no 'answer'"),
        ("exact", {"answer": None}, "has no 'answer'"),
        ("exact", {"answer": ""}, "must say something"),
        ("exact", {"answer": {"a": 1}}, "answer: "),
        ("contains_any", {"answer": ["x", 3.5, None]}, "answer: "),
        ("numeric", {"answer": "many"}, "answer: "),
        ("regex", {"answer": "("}, "must be a regular expression"),
        ("json_schema", {"answer": {"type": "thing"}}, "must be a JSON Schema"),
    ],
)
def test_a_row_without_what_the_rule_needs_is_told_in_one_line(kind, row, said):
    with pytest.raises(ValueError, match=r"^[^\n]+$") as error:
        answers.check_for(rule(kind=kind, field="answer"), row)
    assert said in str(error.value)


def test_a_rule_for_all_rows_needs_nothing_of_a_row():
    assert answers.accepts(rule(kind="regex", pattern="a+"), {}, "caat") == (True, None)
    assert answers.accepts(rule(kind="json_schema", schema={"type": "null"}), {}, "null") == (True, None)


def test_a_reason_quotes_no_more_than_the_beginning():
    _, why = answers.accepts(rule(kind="exact", field="a"), {"a": "x"}, "y" * 100_000)
    assert len(why) < 400


@given(number=st.floats(allow_nan=False, allow_infinity=False, width=32), words=st.text("ab .:", max_size=8))
def test_a_number_is_found_at_the_end_of_any_words(number, words):
    accepted, _ = answers.accepts(rule(kind="numeric", field="a"), {"a": number}, f"{words} = {number!r}")
    assert accepted


@given(text=st.text(), kind=st.sampled_from(["exact", "contains_any", "numeric"]))
def test_no_answer_breaks_a_rule(text, kind):
    answers.accepts(rule(kind=kind, field="a"), {"a": "1" if kind != "numeric" else 1}, text)
