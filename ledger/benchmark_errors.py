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
    r"^[a-z][a-z0-9_]{0,62}$": (
        "must be a metric's name: lower-case letters, digits and underscores, a letter first (at most 63)"
    ),
    r"^[0-9a-f]{16}/\S": "must be a row of `stackproof query 'FROM shortlist'`, written COLLECTION/ROW_ID",
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

_TAGS = frozenset({"union_tag_invalid", "union_tag_not_found"})
"""Problems with the key that tells the members of a union apart."""


def explain(error: ValidationError, model: type[BaseModel], data: Any) -> tuple[Location, str, str | None]:
    """(where, what, todo) of one problem with `data`.

    A key nobody knows comes first: a misspelt key is also a missing one, and the misspelling is the cause.
    """
    problems = error.errors()
    problem = next((each for each in problems if each["type"] == "extra_forbidden"), problems[0])
    location = _written_location(problem, data)
    if problem["type"] == "extra_forbidden":
        return location, "unknown key", nearest(str(location[-1]), known_keys(model, location[:-1], data))
    return location, words(problem), _hint(problem)


def _written_location(problem: Mapping[str, Any], data: Any) -> Location:
    """Where in the file a problem is: without what pydantic adds of its own, such as the kind of a union's member."""
    place: list[str | int] = []
    here = data
    parts = [part for part in problem["loc"] if part != "[key]"]
    for index, part in enumerate(parts):
        if isinstance(here, Mapping) and part in here:
            place.append(part)
            here = here[part]
        elif isinstance(here, list | tuple) and isinstance(part, int):
            place.append(part)
            here = here[part] if part < len(here) else None
        elif index == len(parts) - 1 and problem["type"] == "missing":
            place.append(part)
    if problem["type"] in _TAGS:
        place.append(_discriminator(problem))
    return tuple(place)


def _discriminator(problem: Mapping[str, Any]) -> str:
    """The key by which a union tells its members apart."""
    return str(problem["ctx"]["discriminator"]).strip("'")


def words(problem: Mapping[str, Any]) -> str:
    """One of pydantic's problems in plain words."""
    kind, context = problem["type"], problem.get("ctx", {})
    if kind in _KINDS:
        return f"{_KINDS[kind]}, got {shown(problem['input'])}"
    if kind in _BOUNDS:
        return f"must be {_BOUNDS[kind]} {_plain(next(iter(context.values())))}, got {shown(problem['input'])}"
    if kind == "union_tag_invalid":
        return f"must be {_one_of(context['expected_tags'])}, got {shown(context['tag'])}"
    if kind == "literal_error":
        return f"must be {context['expected']}, got {shown(problem['input'])}"
    if kind == "string_pattern_mismatch":
        pattern = context["pattern"]
        return f"{PATTERNS.get(pattern, f'must match {pattern}')}, got {shown(problem['input'])}"
    fixed = {
        "missing": "is missing",
        "union_tag_not_found": "is missing",
        "too_short": "must have at least one entry",
        "invalid_key": "a key must be text; put it in quotes",
    }
    return fixed.get(kind) or (str(context["error"]) if kind == "value_error" else _told(problem))


def known_keys(model: type[BaseModel], location: Sequence[str | int], data: Any) -> list[str]:
    """The keys that may stand at `location` of `data`, read off the models."""
    here: Any = model
    for part in location:
        data = _step(data, part)
        if isinstance(part, int):
            continue
        field = _field(here, str(part))
        here = _inner_model(field.annotation, data) if field else here
    return [field.alias or name for name, field in here.model_fields.items()] if _is_model(here) else []


def _step(data: Any, part: str | int) -> Any:
    try:
        return data[part]
    except (KeyError, IndexError, TypeError):
        return None


def _field(model: Any, key: str) -> Any:
    fields = model.model_fields if _is_model(model) else {}
    return next((field for name, field in fields.items() if key == (field.alias or name)), None)


def _told(problem: Mapping[str, Any]) -> str:
    """What pydantic says of a problem that has no words of ours."""
    said = str(problem["msg"]).removeprefix("Input ").replace("should", "must", 1)
    return f"{said[0].lower()}{said[1:]}, got {shown(problem['input'])}"


def _hint(problem: Mapping[str, Any]) -> str | None:
    """The nearest of the values that may stand there."""
    context = problem.get("ctx", {})
    written = context.get("tag") if problem["type"] == "union_tag_invalid" else problem["input"]
    expected = context.get("expected_tags") or (context.get("expected") if problem["type"] == "literal_error" else None)
    if expected is None or not isinstance(written, str):
        return None
    near = nearest(written, str(expected).replace(" or ", ", ").replace("'", "").split(", "))
    return near if near.startswith("did you mean") else None


def _plain(bound: Any) -> str:
    if isinstance(bound, float):
        return f"{bound:g}"
    return f"{bound:,}".replace(",", " ") if isinstance(bound, int) and bound >= 10_000 else str(bound)


def _one_of(tags: str) -> str:
    """`'a', 'b', 'c'` as a sentence has it."""
    *most, last = tags.split(", ")
    return f"{', '.join(most)} or {last}" if most else last


def _is_model(found: Any) -> bool:
    return hasattr(found, "model_fields")


def _inner_model(annotation: Any, data: Any) -> Any:
    """The model inside an annotation; of several, the one whose `kind` the data names."""
    if _is_model(annotation):
        return annotation
    inner = [found for found in (_inner_model(each, data) for each in get_args(annotation)) if found is not None]
    kind = data.get("kind") if isinstance(data, Mapping) else None
    named = [
        each for each in inner if "kind" in each.model_fields and kind in get_args(each.model_fields["kind"].annotation)
    ]
    return (named or inner or [None])[-1]
