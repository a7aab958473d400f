"""Whatever lies at a path: one line or a collection, never a traceback, a hang or half an import."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collector.importers import registry
from ledger import catalog
from ledger.errors import InputError
from ledger.public import LABEL
from tests.collector.conftest import run_cli
from tests.collector.importers import test_aiperf as aiperf
from tests.collector.importers import test_guidellm as guidellm
from tests.collector.importers import test_inferencemax as inferencemax
from tests.collector.importers import test_sglang_bench as sglang
from tests.collector.importers import test_training_logs as logs
from tests.collector.importers import test_vllm_bench as vllm
from tests.collector.importers.made import HISTORY, collection, refused, row, table

SAMPLES: dict[str, tuple[str, str]] = {
    "ccl-bench": ("benchmark_data.json", json.dumps(table(row("one", {"mfu": 1.0})))),
    "vllm-bench": ("serve.json", json.dumps(vllm.SERVE)),
    "sglang-bench": ("online.jsonl", json.dumps(sglang.RUN)),
    "guidellm": ("benchmarks.json", json.dumps(guidellm.report())),
    "aiperf": ("profile_export_aiperf.json", json.dumps(aiperf.SUMMARY)),
    "inferencemax": ("agg_a.json", json.dumps(inferencemax.SINGLE)),
    "torchtitan-log": ("titan.log", logs.TITAN),
    "megatron-log": ("megatron.log", logs.MEGATRON),
}
JSON_SAMPLES = [name for name, (file, _) in SAMPLES.items() if "json" in file]
ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def test_each_format_of_results_has_a_sample() -> None:
    assert {*registry.IMPORTERS} == {*SAMPLES, "trace"}  # a trace is no row: it becomes a run


@pytest.mark.parametrize("name", list(SAMPLES))
def test_each_format_is_recognised_and_no_other_claims_it(tmp_path: Path, name: str) -> None:
    file, text = SAMPLES[name]
    path = tmp_path / file
    path.write_text(text)
    assert [each.name for each in registry.IMPORTERS.values() if each.detect(path)] == [name]
    assert registry.recognise(path)[0].name == name
    assert registry.recognise(tmp_path)[0].name == name


@pytest.mark.parametrize("name", list(SAMPLES))
def test_each_format_is_imported_twice_without_a_change_and_asked(workspace: Path, name: str) -> None:
    file, text = SAMPLES[name]
    Path(file).write_text(text)
    assert run_cli("import", "auto", file)[0] == 0
    assert "was there already" in run_cli("import", name, file)[1]
    with catalog.open(workspace / "evidence") as opened:
        assert opened.problems == ()
        assert opened.query("SELECT DISTINCT source, label FROM shortlist").rows == [(name, LABEL)]
        assert opened.query("SELECT count(*) > 0 FROM shortlist_metrics WHERE value IS NOT NULL").rows == [(True,)]


@pytest.mark.parametrize("name", list(SAMPLES))
@pytest.mark.parametrize("other", list(SAMPLES))
def test_a_file_of_another_format_is_refused(workspace: Path, name: str, other: str) -> None:
    if name == other:
        return
    file, text = SAMPLES[other]
    Path(file).write_text(text)
    refused(name, file)


@pytest.mark.parametrize("name", list(SAMPLES))
@pytest.mark.parametrize("part", [0.0, 0.3, 0.9])
def test_half_a_file(workspace: Path, name: str, part: float) -> None:
    file, text = SAMPLES[name]
    Path(file).write_text(text[: int(len(text) * part)])
    if file.endswith(".log") and part:
        return  # a log that ends early is a log
    refused(name, file)


@pytest.mark.parametrize("name", JSON_SAMPLES)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_value_in_any_place_gives_a_collection_or_one_line(
    tmp_path_factory: pytest.TempPathFactory, name: str, data: st.DataObject
) -> None:
    file, text = SAMPLES[name]
    content = json.loads(text)
    places = list(_places(content))
    for _ in range(data.draw(st.integers(1, 4))):
        holder, key = data.draw(st.sampled_from(places))
        holder[key] = data.draw(ODD)
    path = tmp_path_factory.mktemp("odd") / file
    path.write_text(json.dumps(content))
    told = _told(name, path)
    assert told
    assert told.count("\n") == 0


def _told(name: str, path: Path) -> str:
    """The digest of what was made of it, or what is wrong and where."""
    try:
        return collection(name, path).digest
    except InputError as error:
        return error.diagnostics() if error.where else ""


def _places(value: Any) -> Any:
    for key, each in value.items() if isinstance(value, dict) else enumerate(value):
        yield value, key
        if isinstance(each, dict | list):
            yield from _places(each)


def test_half_a_character_and_endless_nesting(workspace: Path) -> None:
    Path("a.json").write_text(json.dumps({**vllm.SERVE, "model_id": "x\ud800"}))
    assert "half a character" in refused("auto", "a.json")
    Path("b.csv").write_text(HISTORY + '0,0,"' + '{""a"":' * 50_000 + "1" + "}" * 50_000 + '",{},1,success,,1,\n')
    assert "is not JSON" in refused("ccl-bench", "b.csv")
    Path("c.json").write_text('{"hw": ' + "[" * 100_000 + "]" * 100_000 + "}")
    refused("inferencemax", "c.json")


def test_numbers_beyond_all_counts_stay_out_of_the_catalogs_way(workspace: Path) -> None:
    Path("agg.json").write_text(json.dumps({**inferencemax.SINGLE, "conc": 10**30, "isl": 1e300, "tp": 10**4000}))
    assert run_cli("import", "auto", "agg.json")[0] == 0
    with catalog.open(workspace / "evidence") as opened:
        assert opened.problems == ()
        assert opened.query("SELECT concurrency, input_length, devices FROM shortlist").rows == [(None, None, None)]


def test_pipes_links_and_names_that_are_no_text(workspace: Path) -> None:
    os.mkfifo("pipe.json")
    assert "is a device or pipe" in refused("auto", "pipe.json")
    assert "is a device or pipe" in refused("vllm-bench", "pipe.json")
    Path("folder").mkdir()
    Path("folder/loop").symlink_to("..")
    (Path("folder") / os.fsdecode(b"\xff.json")).write_text("{}")
    assert "is not UTF-8 text" in refused("vllm-bench", "folder")


def test_text_that_a_terminal_would_act_on_is_spelled_out(workspace: Path) -> None:
    Path("a.json").write_text(json.dumps({**vllm.SERVE, "model_id": "x\x1b[31m\u202e", "request_rate": 1}))
    code, out, _ = run_cli("import", "auto", "a.json")
    assert code == 0
    assert "\x1b" not in out
