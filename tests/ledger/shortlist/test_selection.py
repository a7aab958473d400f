"""Which public rows fit, why, and in which order: never across definitions, unequal work or unequal loads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ledger import benchmark as benchmark_file
from ledger import catalog, shortlist
from ledger.shortlist import Asked, Shortlist, Standing, models
from tests import factory
from tests.public_rows import COLLECTION, imported, row, stored

WORK = {"samples_per_step": 32, "tokens_per_step": 32768}
TRAIN = Asked("train", "llama-3.1-8b", None, "step_time")
SERVE = Asked("serve", None, None, "ttft.p95", closed_loop=True, conditions=(("concurrency", 4.0),))


def load(concurrency: int, **more: Any) -> dict[str, Any]:
    return {"load": "closed loop", "concurrency": concurrency, "input_length": 1024, "output_length": 128, **more}


def served(name: str, values: dict[str, float], workload: dict[str, Any], **more: Any) -> shortlist.PublicRow:
    return row(name, values, kind="serve", workload=workload, **more)


def ranks(listed: Shortlist) -> list[tuple[str, int | None]]:
    return [(entry.row.row_id, entry.rank) for entry in listed.entries]


@pytest.mark.parametrize(
    ("name", "family", "size"),
    [
        ("meta-llama/Llama-3.1-8B", "llama", 8e9),
        ("Meta-Llama-3-8B-Instruct", "llama", 8e9),
        ("qwen3-4b", "qwen", 4e9),
        ("deepseek_v3_236b", "deepseek", 236e9),
        ("Mixtral-8x7B", "mixtral", 56e9),
        ("models/smollm2-135m-instruct", "smollm", 135e6),
        ("Qwen2.5-1.5B", "qwen", 1.5e9),
        ("deepseek-v2-lite", "deepseek", None),
        ("gpt2", "gpt", None),
        ("llama3-8bit", "llama", None),
        (None, None, None),
        ("", None, None),
    ],
)
def test_names_tell_family_and_size(name: str | None, family: str | None, size: float | None) -> None:
    assert (models.family(name), models.size(name)) == (family, size)


def test_a_row_is_in_unless_a_fact_that_both_tell_differs() -> None:
    listed = shortlist.select(
        [
            row("fits", model="Llama-3-8B"),
            row("another-phase", model="Llama-3-8B", kind="serve"),
            row("another-family", model="qwen3-8b"),
            row("another-size", model="Llama-3-70B"),
            row("tells-nothing", model=None, kind=None),
        ],
        TRAIN,
    )
    assert [entry.row.row_id for entry in listed.entries] == ["fits", "tells-nothing"]
    assert listed.left_out == {"phase": 1, "model family": 1, "model size": 1}
    fits, silent = listed.entries
    assert fits.named(Standing.SAME) == ("phase", "model family", "model size")
    assert fits.named(Standing.UNKNOWN) == ("hardware",)
    assert silent.named(Standing.UNKNOWN) == ("phase", "model family", "model size", "hardware")


@pytest.mark.parametrize("hardware", ["A100", "a100", "nvidia", "data centre"])
def test_hardware_is_a_class_a_device_or_a_vendor(hardware: str) -> None:
    ours = row("ours", model=None, device="A100", vendor="nvidia", device_class="data centre")
    other = row("other", model=None, device="MI300X", vendor="amd", device_class="accelerator")
    listed = shortlist.select([ours, other], Asked("train", hardware=hardware))
    assert [entry.row.row_id for entry in listed.entries] == ["ours"]
    assert listed.left_out == {"hardware": 1}


def test_another_definition_gives_no_order_and_is_named() -> None:
    rows = [row("a", {"step_time@made": 1.0}, model="llama-8b"), row("b", {"step_time@made": 2.0}, model="llama-8b")]
    listed = shortlist.select(rows, TRAIN)
    assert ranks(listed) == [("a", None), ("b", None)]
    assert listed.metrics == ()
    assert listed.unranked == (
        "no published value is step_time by its definition here; step_time@made is of another definition"
    )


def test_step_times_are_ranked_only_among_equal_known_work() -> None:
    rows = [
        row("slow", {"step_time": 2.0}, model="llama-8b", workload=WORK),
        row("fast", {"step_time": 1.0}, model="llama-8b", workload=WORK),
        row("tenth-of-the-work", {"step_time": 0.1}, model="llama-8b", workload={"samples_per_step": 1}),
        row("unknown-work", {"step_time": 0.01}, model="llama-8b"),
    ]
    listed = shortlist.select(rows, TRAIN)
    assert ranks(listed) == [("fast", 1), ("slow", 2), ("tenth-of-the-work", 1), ("unknown-work", None)]
    assert listed.entries[-1].unranked == "its work per step is not told"
    assert [entry.group.rows for entry in listed.entries[:3] if entry.group] == [2, 2, 1]


def test_latencies_are_ranked_only_among_equal_loads_and_ours_comes_first() -> None:
    rows = [
        served("heavy", {"ttft.p95": 9.0}, load(64)),
        served("heavy-too", {"ttft.p95": 8.0}, load(64)),
        served("heavy-again", {"ttft.p95": 7.0}, load(64)),
        served("ours-slow", {"ttft.p95": 2.0}, load(4)),
        served("ours-fast", {"ttft.p95": 1.0}, load(4)),
        served("longer", {"ttft.p95": 0.5}, load(4, input_length=8192)),
        served("no-load", {"ttft.p95": 0.1}, {"input_length": 1024}),
    ]
    listed = shortlist.select(rows, SERVE)
    found = dict(ranks(listed))
    assert found == {
        "ours-fast": 1, "ours-slow": 2, "longer": 1, "heavy-again": 1, "heavy-too": 2, "heavy": 3, "no-load": None,
    }  # fmt: skip
    assert [entry.row.row_id for entry in listed.entries[:2]] == ["ours-fast", "ours-slow"]
    assert listed.entries[0].group is not None
    assert listed.entries[0].group.asked


def test_a_time_from_sending_is_ours_only_where_both_loops_are_closed() -> None:
    closed = served("closed", {"ttft.p95@sent": 1.0}, load(4))
    opened = served("open", {"ttft.p95@sent": 1.0}, {"load": "open loop", "request_rate": 2.0})
    assert dict(ranks(shortlist.select([closed, opened], SERVE))) == {"closed": 1, "open": None}
    rate = Asked("serve", None, None, "ttft.p95", closed_loop=False, conditions=(("request_rate", 2.0),))
    assert dict(ranks(shortlist.select([closed, opened], rate))) == {"closed": None, "open": None}


def test_more_is_better_where_the_objective_is_maximised_and_equal_values_share_a_place() -> None:
    wanted = Asked("serve", None, None, "output_token_throughput", lower_is_better=False)
    rows = [
        served(name, {"output_token_throughput": value}, load(4)) for name, value in zip("abc", (5, 9, 9), strict=True)
    ]
    listed = shortlist.select(rows, wanted)
    assert ranks(listed) == [("b", 1), ("c", 1), ("a", 3)]
    assert [entry.value for entry in listed.entries] == [9, 9, 5]


def test_one_result_in_two_collections_is_listed_once_by_the_one_that_tells_more() -> None:
    bare = row("one", {"step_time@made": 1.0}, collection="a" * 16)
    told = row("one", {"step_time@made": 1.0}, collection="b" * 16, shows={"trace": "there"})
    other = row("one", {"step_time@made": 3.0}, collection="c" * 16)
    listed = shortlist.select([bare, told, other], Asked("train"))
    assert [entry.row.collection for entry in listed.entries] == ["b" * 16, "c" * 16]
    assert listed.doubles == 1


def test_without_a_benchmark_all_rows_are_there_and_failed_ones_last() -> None:
    listed = shortlist.select([row("failed", state="failed"), row("good"), row("odd", problems=(("x", "y"),))], None)
    assert [entry.row.row_id for entry in listed.entries] == ["good", "odd", "failed"]
    assert listed.unranked == "no benchmark is asked about"


def test_a_benchmark_asks_for_its_own_phase_model_objective_and_work() -> None:
    file = benchmark_file.parse(factory.benchmark_text(), Path("tiny.yaml"))
    found = shortlist.asked(file.benchmark)
    assert (found.kind, found.model, found.objective, found.lower_is_better) == (
        "train",
        "tiny-llama",
        "step_time",
        True,
    )
    assert found.conditions == (("samples_per_step", 2), ("tokens_per_step", 32))


def test_rows_come_from_the_catalog_whole(tmp_path: Path) -> None:
    (tmp_path / "mkdocs.yml").write_text("site_name: test\n")
    (tmp_path / "evidence").mkdir()
    digest = imported(
        tmp_path,
        stored("one", {"step_time@made": 1.5}, problems=(("odd", "a problem"),), settings={"compile": True}),
    )
    with catalog.open(tmp_path / "evidence") as index:
        (found,) = shortlist.read(index)
    assert found.link == f"{digest}/one"
    assert digest != COLLECTION
    assert found.file == f"public/made/{digest}.json"
    assert (found.value("step_time@made"), found.value("step_time")) == (1.5, None)
    assert (found.settings, found.problems) == ({"compile": True}, (("odd", "a problem"),))
    assert found.shows == {"trace": "beside it"}
    assert set(found.cannot_show) == {"quality", "cost", "repeats", "work_per_step", "requests"}
