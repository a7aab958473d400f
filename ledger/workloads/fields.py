"""What the parts of a benchmark file are made of: a strict base, and fields that read what people write."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from ledger import quantity

NAME = r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$"
MOST_REPEATS = 1_000
"""Launches of one stack in one role."""
LONGEST_S = 30 * 86_400
LEAST_BYTES, MOST_BYTES = 2**20, 2**60
"""No process starts with less, and no machine has more."""
MOST_SEED = 2**63 - 1


def _says_something(text: str) -> str:
    if not text.strip():
        raise ValueError("must say something, got nothing")
    return text


def _as_date(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        if date.fromisoformat(value).isoformat() == value:
            return value
    except ValueError:
        pass
    raise ValueError(f"must be a day such as 2026-11-30, got {quantity.shown(value)}")


def different(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Values of which none stands twice. Raises ValueError."""
    twice = next((value for place, value in enumerate(values) if value in values[:place]), None)
    if twice is not None:
        raise ValueError(f"must hold each value once, got {twice} twice")
    return values


def _a_wait(seconds: float) -> float:
    if not 0 < seconds <= LONGEST_S:
        raise ValueError(f"must be more than 0 s and at most {LONGEST_S // 86_400} days, got {seconds:g} s")
    return seconds


def _a_size(size: int) -> int:
    if not LEAST_BYTES <= size <= MOST_BYTES:
        raise ValueError(f"must be from {LEAST_BYTES >> 20} MiB to {MOST_BYTES >> 40} TiB, got {size:.4g} B")
    return size


def _as_limit(value: Any) -> quantity.Limit:
    return value if isinstance(value, quantity.Limit) else quantity.limit(value)


Name = Annotated[str, Field(pattern=NAME)]
Text = Annotated[str, AfterValidator(_says_something)]
Day = Annotated[str, BeforeValidator(_as_date), Field(json_schema_extra={"format": "date"})]
Whole = Annotated[int, BeforeValidator(quantity.whole)]
Launches = Annotated[int, Field(ge=1, le=MOST_REPEATS), BeforeValidator(quantity.whole)]
Seed = Annotated[int, Field(ge=0, le=MOST_SEED), BeforeValidator(quantity.whole)]
Number = Annotated[float, BeforeValidator(quantity.number)]
Positive = Annotated[float, Field(gt=0), BeforeValidator(quantity.number)]
Seconds = Annotated[float, BeforeValidator(quantity.duration, float | str), AfterValidator(_a_wait)]
Bytes = Annotated[int, BeforeValidator(quantity.size, int | str), AfterValidator(_a_size)]
Share = Annotated[float, Field(gt=0, lt=1), BeforeValidator(quantity.share, float | str)]
Limit = Annotated[quantity.Limit, BeforeValidator(_as_limit, json_schema_input_type=str)]


class Part(BaseModel):
    """A part of the file: frozen, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)
