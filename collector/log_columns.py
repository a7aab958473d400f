"""Which columns of a request log mean what: named by the user, or known by the log's first rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

from pydantic import ConfigDict, Field, ValidationError, model_validator

from ledger import benchmark_errors
from ledger.errors import InputError
from ledger.workloads.fields import Part, Text, Whole
from ledger.yaml_file import read_yaml

KNOWN = Path(__file__).with_suffix(".yaml")


class Columns(Part):
    """The columns file. A dot leads into a JSON object: `usage.prompt_tokens`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Text = "named columns"
    time: Text
    time_unit: Literal["auto", "iso", "s", "ms", "us", "ns"] = "auto"
    input_tokens: Text | None = None
    output_tokens: Text | None = None
    prompt: Text | None = None
    """Text, or a list of chat messages."""
    prefix_blocks: Text | None = None
    """A list of ids, each of which stands for the input up to its block's end."""
    block_tokens: Whole | None = Field(ge=1, default=None)
    keep: dict[str, tuple[str | int | float | bool, ...]] = Field(default_factory=dict)
    """{column: values}: only rows whose column holds one of them count."""

    @model_validator(mode="after")
    def _says_enough(self) -> Columns:
        if self.input_tokens is None and self.prompt is None:
            raise ValueError("must name input_tokens or prompt, else nothing is known of the requests")
        if (self.prefix_blocks is None) != (self.block_tokens is None):
            raise ValueError("prefix_blocks and block_tokens go together")
        return self


def read(path: Path) -> Columns:
    """A columns file. Raises InputError: file, line and key."""
    source = read_yaml(path)
    try:
        return Columns.model_validate(source.data)
    except ValidationError as error:
        location, what, todo = benchmark_errors.explain(error, Columns, source.data)
        key = ".".join(str(part) for part in location)
        raise InputError(f"{key}: {what}" if key else what, where=source.where(location), todo=todo) from None


def recognise(rows: Sequence[Mapping[str, Any]], log: Path) -> Columns:
    """The known layout of a log by its first rows. Raises InputError naming the columns that it has."""
    for layout in _layouts():
        if any(_fits(layout, row) for row in rows):
            return layout
    found = ", ".join(dict.fromkeys(name for row in rows for name in names(row)))
    what = f"its columns are not known ({found[:300] or 'none'})"
    raise InputError(what, where=str(log), todo="say which is which in a file and name it with --columns FILE")


def value(row: Mapping[str, Any], column: str | None) -> Any:
    """What a row holds under a column's name as it stands, or else under the path that its dots make, or None."""
    if column is None:
        return None
    if column in row:
        return row[column]
    here: Any = row
    for part in column.split("."):
        here = here.get(part) if isinstance(here, Mapping) else None
    return here


def names(row: Mapping[str, Any], above: str = "") -> list[str]:
    """A row's columns, those inside of objects with their path."""
    found: list[str] = []
    for key, each in row.items():
        path = f"{above}{key}"
        found += names(each, f"{path}.") if isinstance(each, Mapping) and each and above.count(".") < 3 else [path]
    return found


@cache
def _layouts() -> tuple[Columns, ...]:
    return tuple(Columns.model_validate(each) for each in read_yaml(KNOWN).data["layouts"])


def _fits(layout: Columns, row: Mapping[str, Any]) -> bool:
    told = [value(row, column) for column in (layout.input_tokens, layout.prompt)]
    return value(row, layout.time) is not None and any(each is not None for each in told)
