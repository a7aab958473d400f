"""Judging an answer: the check that a workload or a task declares, filled with what is expected, applied to the text.

Nothing is guessed in the answer's favour: text around a number is allowed where the rule looks for one, text around
JSON is not, since no program that asks for JSON could read it.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from typing import Annotated, Any, Literal, NoReturn

import jsonschema
import referencing
from pydantic import Field, ValidationError

from ledger import benchmark_errors, quantity
from ledger.workloads import acceptance
from ledger.workloads.fields import Number, Part, Text

Verdict = tuple[bool, str | None]
"""(accepted, why not)."""

_NUMBER = re.compile(
    r"(?:(?<![\w.)])[-+\N{MINUS SIGN}])?(?<![\w.])(?:(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+)?"
)
_SHOWN = 200
"""Characters of an answer that a reason quotes."""


Expected = Annotated[Text | tuple[Text, ...], Field(union_mode="left_to_right")]


class ExactCheck(Part):
    """The whole answer, ends trimmed, is one of these texts."""

    kind: Literal["exact"] = "exact"
    expected: Expected
    ignore_case: bool = True

    def judge(self, text: str) -> Verdict:
        """Compare the whole answer."""
        found = _normal(text, self.ignore_case)
        if any(found == _normal(each, self.ignore_case) for each in _several(self.expected)):
            return True, None
        return False, f"expected {_quoted(self.expected)}, got {_shown(text)}"


class ContainsAnyCheck(Part):
    """One of these texts stands in the answer as whole words."""

    kind: Literal["contains_any"] = "contains_any"
    expected: Expected
    ignore_case: bool = True

    def judge(self, text: str) -> Verdict:
        """Look for each of the texts."""
        found = _normal(text, self.ignore_case)
        if any(_holds_words(found, _normal(each, self.ignore_case)) for each in _several(self.expected)):
            return True, None
        return False, f"{_quoted(self.expected)} is not in {_shown(text)}"


class RegexCheck(Part):
    """The answer holds a match."""

    kind: Literal["regex"] = "regex"
    pattern: acceptance.Pattern
    ignore_case: bool = False

    def judge(self, text: str) -> Verdict:
        """Search the answer."""
        if re.search(self.pattern, text, re.IGNORECASE if self.ignore_case else 0):
            return True, None
        return False, f"no match of {_quoted(self.pattern)} in {_shown(text)}"


class NumericCheck(Part):
    """The last number of the answer is this one, within a tolerance."""

    kind: Literal["numeric"] = "numeric"
    expected: Number
    tolerance: Annotated[Number, Field(ge=0)] = 0.0
    relative: Annotated[Number, Field(ge=0)] = 0.0

    def judge(self, text: str) -> Verdict:
        """Read the last number."""
        numbers = _NUMBER.findall(text)
        if not numbers:
            return False, f"no number in {_shown(text)}"
        found = float(numbers[-1].replace(",", "").replace("\N{MINUS SIGN}", "-"))
        allowed = max(self.tolerance, self.relative * abs(self.expected))
        # A sum such as 0.1 + 0.2 may miss its tolerance by a rounding; an answer is no worse for that.
        if abs(found - self.expected) <= allowed + 1e-12 * max(abs(self.expected), abs(found)):
            return True, None
        return False, f"expected {self.expected:g}{f' ± {allowed:g}' if allowed else ''}, got {found:g}"


class JsonCheck(Part):
    """The answer is JSON that a schema allows."""

    kind: Literal["json_schema"] = "json_schema"
    schema_: acceptance.Schema = Field(alias="schema")

    def judge(self, text: str) -> Verdict:
        """Parse the answer, and hold it against the schema; a reference to elsewhere is not followed."""
        try:
            value = json.loads(text, parse_constant=_refuse)
        except (ValueError, RecursionError) as error:
            return False, f"not JSON ({error}): {_shown(text)}"
        kind = jsonschema.validators.validator_for(self.schema_, default=jsonschema.Draft202012Validator)
        try:
            found = kind(self.schema_, registry=referencing.Registry()).iter_errors(value)
            worst = jsonschema.exceptions.best_match(found)
        except (referencing.exceptions.Unresolvable, RecursionError) as problem:
            return False, f"the schema cannot be applied: {problem}"
        return (True, None) if worst is None else (False, f"{worst.json_path}: {worst.message[:_SHOWN]}")


AnswerCheck = ExactCheck | ContainsAnyCheck | RegexCheck | NumericCheck | JsonCheck
"""Every check that needs nothing but the answer."""


def check_for(rule: acceptance.AnswerAcceptance, row: Mapping[str, Any]) -> AnswerCheck:
    """The workload's rule, filled from a row of its data set. Raises ValueError: what the row lacks, in one line."""
    expected = None
    if rule.field is not None:
        if rule.field not in row or row[rule.field] is None:
            raise ValueError(f"has no {rule.field!r}, which acceptance needs")
        expected = row[rule.field]
    try:
        return _filled(rule, expected)
    except ValidationError as error:
        _, what, _ = benchmark_errors.explain(error, type(rule), {})
        raise ValueError(f"{rule.field}: {what}") from None


def accepts(rule: acceptance.AnswerAcceptance, row: Mapping[str, Any], text: str) -> Verdict:
    """Whether an answer is an accepted one, and why not. Raises ValueError as check_for does."""
    return check_for(rule, row).judge(text)


def _filled(rule: acceptance.AnswerAcceptance, expected: Any) -> AnswerCheck:
    match rule:
        case acceptance.Exact():
            return ExactCheck(expected=_texts(expected), ignore_case=rule.ignore_case)
        case acceptance.ContainsAny():
            return ContainsAnyCheck(expected=_texts(expected), ignore_case=rule.ignore_case)
        case acceptance.Regex():
            pattern = rule.pattern if rule.pattern is not None else expected
            return RegexCheck(pattern=pattern, ignore_case=rule.ignore_case)
        case acceptance.Numeric():
            return NumericCheck(expected=expected, tolerance=rule.tolerance, relative=rule.relative)
        case acceptance.JsonSchema():
            return JsonCheck.model_validate({"schema": rule.schema_ if rule.schema_ is not None else expected})


def _texts(expected: Any) -> Any:
    """Numbers of a data set as the text that an answer would have."""
    if isinstance(expected, list | tuple):
        return tuple(_texts(each) for each in expected)
    return str(expected) if isinstance(expected, int | float) and not isinstance(expected, bool) else expected


def _several(expected: str | tuple[str, ...]) -> tuple[str, ...]:
    return (expected,) if isinstance(expected, str) else expected


def _normal(text: str, ignore_case: bool) -> str:
    text = unicodedata.normalize("NFC", text).strip()
    return text.casefold() if ignore_case else text


def _holds_words(text: str, words: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(words)}(?!\w)", text) is not None


def _quoted(expected: str | tuple[str, ...]) -> str:
    return " or ".join(quantity.shown(each) for each in _several(expected))


def _shown(text: str) -> str:
    text = text.strip()
    if not text:
        return "an empty answer"
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")
