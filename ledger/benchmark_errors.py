"""What the models say is wrong with a file, in the words of who wrote it: key, what was expected, nearest known key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from ledger.quantity import shown
from ledger.suggestion import nearest
from ledger.yaml_file import Location

PATTERNS = {
    r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$": (
        "must be a name of lower-case letters, digits and hyphens (at most 63, a letter or digit at both ends)"
    ),
    r"^[A-Z]{3}$": "must be a currency's three letters, such as USD",
    r"^[A-Za-z_][A-Za-z0-9_]*$": "must be a variable's name: letters, digits and underscores, no digit first",
}
"""{a field's pattern: what it asks for, in words}."""

_BOUNDS = {
    "greater_than_equal": "at least",
    "greater_than": "more than",
    "less_than": "less than",
    "less_than_equal": "at most",
}
_KINDS = {
    "string_type": "must be text; put it in quotes",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "tuple_type": "must be a list",
    "list_type": "must be a list",
    "dict_type": "must be a mapping of keys to values",
    "model_type": "must be a mapping of keys to values",
    "model_attributes_type": "must be a mapping of keys to values",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
}
"""{pydantic's type of a problem: what the value must be}."""


def explain(error: ValidationError, model: type[BaseModel]) -> tuple[Location, str, str | None]:
    """(where, what, todo) of one problem.

    A key nobody knows comes first: a misspelt key is also a missing one, and the misspelling is the cause.
    """
    problems = error.errors()
    problem = next((each for each in problems if each["type"] == "extra_forbidden"), problems[0])
    location = tuple(part for part in problem["loc"] if part != "[key]")
    if problem["type"] == "extra_forbidden":
        return location, "unknown key", nearest(str(location[-1]), known_keys(model, location[:-1]))
    return location, words(problem), _hint(problem)


def words(problem: Mapping[str, Any]) -> str:
    """One of pydantic's problems in plain words."""
    kind, context = problem["type"], problem.get("ctx", {})
    if kind in _KINDS:
        return f"{_KINDS[kind]}, got {shown(problem['input'])}"
    if kind in _BOUNDS:
        return f"must be {_BOUNDS[kind]} {_plain(next(iter(context.values())))}, got {shown(problem['input'])}"
    if kind == "literal_error":
        return f"must be {context['expected']}, got {shown(problem['input'])}"
    if kind == "string_pattern_mismatch":
        pattern = context["pattern"]
        return f"{PATTERNS.get(pattern, f'must match {pattern}')}, got {shown(problem['input'])}"
    fixed = {
        "missing": "is missing",
        "too_short": "must have at least one entry",
        "invalid_key": "a key must be text; put it in quotes",
    }
    return fixed.get(kind) or (str(context["error"]) if kind == "value_error" else _told(problem))


def known_keys(model: type[BaseModel], location: Sequence[str | int]) -> list[str]:
    """The keys that may stand at `location`, read off the models."""
    here: Any = model
    for part in location:
        if isinstance(part, int):
            continue
        field = here.model_fields.get(part) if hasattr(here, "model_fields") else None
        here = _inner_model(field.annotation) if field else here
    return list(here.model_fields) if hasattr(here, "model_fields") else []


def _told(problem: Mapping[str, Any]) -> str:
    """What pydantic says of a problem that has no words of ours."""
    said = str(problem["msg"]).removeprefix("Input ").replace("should", "must", 1)
    return f"{said[0].lower()}{said[1:]}, got {shown(problem['input'])}"


def _hint(problem: Mapping[str, Any]) -> str | None:
    """The nearest of the values that may stand there."""
    if problem["type"] != "literal_error" or not isinstance(problem["input"], str):
        return None
    known = str(problem["ctx"]["expected"]).replace(" or ", ", ").replace("'", "").split(", ")
    near = nearest(problem["input"], known)
    return near if near.startswith("did you mean") else None


def _plain(bound: Any) -> str:
    return f"{bound:,}".replace(",", " ") if isinstance(bound, int) and bound >= 10_000 else str(bound)


def _inner_model(annotation: Any) -> Any:
    if hasattr(annotation, "model_fields"):
        return annotation
    inner = [found for found in map(_inner_model, get_args(annotation)) if found is not None]
    return inner[-1] if inner else None
