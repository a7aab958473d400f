"""What makes a unit of work an accepted result: a bound on a launch's own metric, or a check of each answer."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

import jsonschema
from pydantic import AfterValidator, Field, model_validator

from ledger import quantity
from ledger.workloads.fields import Limit, Number, Part, Text


class Threshold(Part):
    """One launch is one result: it is accepted when one of its metrics holds a bound."""

    kind: Literal["threshold"]
    field: str
    """The metric that is judged."""
    rule: Limit
    """The bound that the field must hold, such as `<= 3.0`."""


def _a_pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"must be a regular expression ({error}), got {quantity.shown(text)}") from None
    return text


Pattern = Annotated[str, AfterValidator(_a_pattern)]


def _a_schema(schema: dict[str, Any]) -> dict[str, Any]:
    try:
        jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator).check_schema(schema)
    except jsonschema.SchemaError as error:
        raise ValueError(f"must be a JSON Schema ({error.message})") from None
    return schema


Schema = Annotated[dict[str, Any], AfterValidator(_a_schema)]


class Exact(Part):
    """The whole answer, ends trimmed, is one of the expected texts."""

    kind: Literal["exact"]
    field: Text
    """Key of the data set's row that holds the expected text, or a list of texts."""
    ignore_case: bool = True


class ContainsAny(Part):
    """One of the expected texts stands in the answer as whole words."""

    kind: Literal["contains_any"]
    field: Text
    """Key of the data set's row that holds the expected text, or a list of texts."""
    ignore_case: bool = True


class Regex(Part):
    """The answer holds a match of a regular expression."""

    kind: Literal["regex"]
    field: Text | None = None
    """Key of the data set's row that holds the expression."""
    pattern: Pattern | None = None
    """One expression for all rows."""
    ignore_case: bool = False

    @model_validator(mode="after")
    def _exactly_one(self) -> Regex:
        if (self.field is None) == (self.pattern is None):
            raise ValueError("must have exactly one of field and pattern")
        return self


class Numeric(Part):
    """The last number of the answer is the expected one, within a tolerance."""

    kind: Literal["numeric"]
    field: Text
    """Key of the data set's row that holds the expected number."""
    tolerance: Annotated[Number, Field(ge=0)] = 0.0
    """Largest difference, in the number's own unit."""
    relative: Annotated[Number, Field(ge=0)] = 0.0
    """Largest difference as a share of the expected number; the larger of the two counts."""


class JsonSchema(Part):
    """The answer is JSON that a JSON Schema allows."""

    kind: Literal["json_schema"]
    field: Text | None = None
    """Key of the data set's row that holds the schema."""
    schema_: Schema | None = Field(default=None, alias="schema")
    """One schema for all rows."""

    @model_validator(mode="after")
    def _exactly_one(self) -> JsonSchema:
        if (self.field is None) == (self.schema_ is None):
            raise ValueError("must have exactly one of field and schema")
        return self


AnswerAcceptance = Annotated[Exact | ContainsAny | Regex | Numeric | JsonSchema, Field(discriminator="kind")]
"""A check of one answer against its row of the data set."""
