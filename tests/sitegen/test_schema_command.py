"""`stackproof schema`: what it prints is a JSON Schema, and what is written keeps to it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner

from ledger.run import Role
from sitegen.commands.schema import command
from sitegen.comparison.report import to_json
from tests.sitegen.comparison import test_flips_by_load
from tests.sitegen.comparison.made import interleaved, profiled, run, verdict
from tests.sitegen.comparison.test_interventions import EXPLAINED, FAST, PRESENT, SLOW, comparisons, rounds


def schema(name: str) -> dict[str, Any]:
    found = CliRunner().invoke(command, [name])
    assert found.exit_code == 0
    data: dict[str, Any] = json.loads(found.stdout)
    return data


@pytest.mark.parametrize(("name", "field"), [("benchmark", "workload"), ("run", "trial_key"), ("verdict", "verdicts")])
def test_it_is_json_schema(name: str, field: str) -> None:
    found = schema(name)
    jsonschema.Draft202012Validator.check_schema(found)
    assert found["$schema"].startswith("https://json-schema.org/")
    assert field in found["properties"]


def test_verdicts_keep_to_theirs() -> None:
    failed = [run("fast", 6, 20, None), run("slow", 6, 21, None, role=Role.PROFILED)]
    whole = verdict(
        interleaved(SLOW, FAST) + failed + profiled(*EXPLAINED) + rounds(PRESENT), comparisons=comparisons()
    )
    found = json.loads(json.dumps(to_json([whole, verdict([])]), allow_nan=False))
    jsonschema.validate(found, schema("verdict"))
    del found["verdicts"][0]["effect"]["ratio"]
    with pytest.raises(jsonschema.ValidationError, match="'ratio' is a required property"):
        jsonschema.validate(found, schema("verdict"))


def test_where_it_flips_keeps_to_it(tmp_path: Path) -> None:
    crossed = test_flips_by_load.verdict(tmp_path, [test_flips_by_load.SLOW] * 3, [test_flips_by_load.FAST] * 3, of=20)
    found = json.loads(json.dumps(to_json([crossed]), allow_nan=False))
    jsonschema.validate(found, schema("verdict"))
    del found["verdicts"][0]["flips"]["load"][0]["crossings"][0]["at"]
    with pytest.raises(jsonschema.ValidationError, match="'at' is a required property"):
        jsonschema.validate(found, schema("verdict"))


def test_it_is_written_to_a_file(tmp_path: Path) -> None:
    target = tmp_path / "verdict.schema.json"
    assert CliRunner().invoke(command, ["verdict", "--output", str(target)]).exit_code == 0
    assert json.loads(target.read_text()) == schema("verdict")
