"""Who waited for whom in collectives, on generated ranks with known waits and on real ones."""

import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger import traces
from ledger.traces.collectives import collectives, notes, unsplit
from tests.ledger.traces.collective_builder import collective, rank, rows, told

SHARED = Path(os.environ.get("STACKPROOF_SHARED", Path(__file__).parents[4] / "shared")) / "data"


def test_the_rank_that_comes_first_waits_and_both_transfer_as_long(tmp_path):
    args = told("allreduce", 1000, 1000)
    early = rank(tmp_path, 0, collective(100, 150, 1, **args))
    late = rank(tmp_path, 1, collective(130, 150, 1, **args))
    first, second = rows(early, late)
    assert (first["peer_wait_ns"], second["peer_wait_ns"]) == (30_000, 0)
    assert first["transfer_ns"] == second["transfer_ns"] == 20_000
    assert (first["operation"], first["bytes"], first["group_size"]) == ("all_reduce", 4000, 2)
    assert first["algorithm_bandwidth"] == pytest.approx(4000 / 20e-6)
    assert first["bus_bandwidth"] == pytest.approx(4000 / 20e-6)  # 2 (n - 1) / n is 1 for two ranks
    assert (first["step"], first["in_steps"], first["rank"], second["rank"]) == (1, True, 0, 1)


def test_one_rank_alone_is_one_value_and_says_so(tmp_path):
    table = collectives([rank(tmp_path, 0, collective(100, 150, 1, **told("allreduce", 10, 10)))])
    (row,) = table.to_pylist()
    assert (row["duration_ns"], row["peer_wait_ns"], row["transfer_ns"], row["bus_bandwidth"]) == (
        50_000, None, None, None,
    )  # fmt: skip
    assert unsplit(table) == "not every rank of the group has a trace"


def test_groups_are_split_apart(tmp_path):
    inner, outer = told("allreduce", 10, 10, group="1"), told("allreduce", 10, 10, ranks="[0, 1, 2]", group="2")
    found = rows(
        rank(tmp_path, 0, [*collective(100, 150, 1, **inner), *collective(200, 250, 2, **outer)], 3),
        rank(tmp_path, 1, [*collective(120, 150, 1, **inner), *collective(210, 250, 2, **outer)], 3),
    )
    assert [(row["group"], row["peer_wait_ns"]) for row in found] == [("1", 20_000), ("2", None), ("1", 0), ("2", None)]


def test_other_collectives_on_another_rank_are_not_matched(tmp_path):
    table = collectives(
        [
            rank(tmp_path, 0, collective(100, 150, 1, **told("allreduce", 10, 10))),
            rank(tmp_path, 1, collective(100, 150, 1, **told("allreduce", 20, 20))),
        ]
    )
    assert "same collectives" in unsplit(table)
    assert table["peer_wait_ns"].null_count == 2


@pytest.mark.parametrize("ahead", [(400, 800), (400, 400), (400, 900, 2000, 7000)])
def test_clocks_that_do_not_agree_split_nothing(tmp_path, ahead):
    """Differences that vary, or of too few collectives to know them by, are not estimated."""
    args = told("allreduce", 10, 10)
    places = list(enumerate(ahead, 1))
    here = [each for n, _ in places for each in collective(100 * n, 100 * n + 10, n, **args)]
    there = [each for n, by in places for each in collective(100 * n + by, 100 * n + by + 10, n, **args)]
    table = collectives([rank(tmp_path, 0, here), rank(tmp_path, 1, there)])
    assert unsplit(table) == "the clocks of the ranks do not agree"
    assert notes(table) == ()
    assert table["peer_wait_ns"].null_count == table["last_rank"].null_count == 2 * len(ahead)


def test_a_clock_that_is_ahead_is_aligned_and_that_is_noted(tmp_path):
    args = told("allreduce", 10, 10)
    ends = (150, 250, 350, 450)
    early = [each for n, end in enumerate(ends, 1) for each in collective(end - 30, end, n, **args)]
    late = [each for n, end in enumerate(ends, 1) for each in collective(480 + end, 500 + end, n, **args)]
    table = collectives([rank(tmp_path, 0, early), rank(tmp_path, 1, late)])
    assert table["peer_wait_ns"].to_pylist() == [10_000] * 4 + [0] * 4
    assert set(table["transfer_ns"].to_pylist()) == {20_000}
    (note,) = notes(table)
    assert note.startswith("the clock of rank 1 is 0.500 ms ahead of rank 0's, by the ends of 4 collectives")
    assert unsplit(table) is None


def test_clocks_that_agree_leave_no_note(tmp_path):
    args = told("allreduce", 10, 10)
    table = collectives([rank(tmp_path, each, collective(100 + each, 150, 1, **args)) for each in (0, 1)])
    assert (notes(table), unsplit(table)) == ((), None)


def test_sequence_numbers_match_what_both_ranks_have(tmp_path):
    def calls(*numbers: int, late: int = 0) -> list[dict[str, Any]]:
        args = told("allreduce", 10, 10)
        return [
            each
            for number in numbers
            for each in collective(100 * number + late, 100 * number + 50, number, **args, Seq=number)
        ]

    table = collectives([rank(tmp_path, 0, calls(1, 2, 3)), rank(tmp_path, 1, calls(2, 3, 4, late=5))])
    assert table["sequence"].to_pylist() == [1, 2, 3, 2, 3, 4]
    assert table["peer_wait_ns"].to_pylist() == [None, 5000, 5000, 0, 0, None]
    assert table["last_rank"].to_pylist() == [None, 1, 1, 1, 1, None]
    assert unsplit(table) == "some collectives are not in the trace of every rank"


def test_groups_of_one_name_and_different_ranks_are_different_groups(tmp_path):
    pairs = {0: "[0, 1]", 1: "[0, 1]", 2: "[2, 3]", 3: "[2, 3]"}
    found = rows(
        *(
            rank(tmp_path, each, collective(100 + 10 * each, 180, 1, **told("allreduce", 10, 10, ranks=pair)), 4)
            for each, pair in pairs.items()
        )
    )
    assert [row["peer_wait_ns"] for row in found] == [10_000, 0, 10_000, 0]
    assert [row["last_rank"] for row in found] == [1, 1, 3, 3]


def test_a_send_waits_for_its_receive_and_more_ranks_do_not_tell_which(tmp_path):
    sends = [collective(100 + 20 * each, 150, 1, **told(name, 8, 8)) for each, name in enumerate(("send", "recv"))]
    found = rows(*(rank(tmp_path, each, events) for each, events in enumerate(sends)))
    assert [(row["operation"], row["bytes"], row["peer_wait_ns"]) for row in found] == [
        ("send", 32, 20_000),
        ("recv", 32, 0),
    ]
    assert found[0]["bus_bandwidth"] == pytest.approx(32 / 30e-6)
    three = "[0, 1, 2]"
    table = collectives(
        [
            rank(
                tmp_path,
                each,
                [
                    *collective(100 + each, 150, 1, **told("allreduce", 8, 8, ranks=three)),
                    *(collective(200, 250, 2, **told("send", 8, 8, ranks=three)) if each else []),
                ],
                3,
            )
            for each in range(3)
        ]
    )
    assert table["peer_wait_ns"].to_pylist() == [2000, 1000, None, 0, None]
    assert unsplit(table) == "sends and receives do not tell the other rank"


def test_a_group_of_one_waits_for_nobody_and_has_no_bandwidth(tmp_path):
    table = collectives([rank(tmp_path, 0, collective(100, 150, 1, **told("allreduce", 10, 10, ranks="[0]")))])
    (row,) = table.to_pylist()
    assert (row["peer_wait_ns"], row["transfer_ns"]) == (0, 50_000)
    assert (row["algorithm_bandwidth"], row["bus_bandwidth"]) == (None, None)
    assert unsplit(table) is None


def test_groups_of_one_on_each_rank_are_not_one_group(tmp_path):
    args = told("allreduce", 10, 10, ranks="[0]") | {"Process Group Ranks": "[]"}
    table = collectives([rank(tmp_path, each, collective(100 + 20 * each, 150, 1, **args)) for each in (0, 1)])
    assert table["peer_wait_ns"].to_pylist() == [0, 0]
    assert table["last_rank"].to_pylist() == [0, 1]


def test_an_all_to_all_may_move_another_size_on_each_rank(tmp_path):
    found = rows(
        *(rank(tmp_path, each, collective(100, 150, 1, **told("all_to_allv", 10 + each, 21))) for each in (0, 1))
    )
    assert [(row["bytes"], row["peer_wait_ns"]) for row in found] == [(40, 0), (44, 0)]


def test_two_traces_of_one_rank_are_not_matched(tmp_path):
    table = collectives([rank(tmp_path, 0, collective(100, 150, 1, **told("allreduce", 1, 1)))] * 2)
    assert unsplit(table) == "the traces do not tell their ranks apart"
    assert table["trace"].to_pylist() == [0, 1]


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=8))
@settings(max_examples=25, deadline=None)
def test_waiting_and_transfer_add_up_and_the_last_rank_does_not_wait(late):
    args = told("allreduce", 10, 10)
    with tempfile.TemporaryDirectory() as folder:
        ranks = [
            rank(
                Path(folder),
                each,
                [
                    one
                    for number, starts in enumerate(late)
                    for one in collective(100 * number + starts[each], 100 * number + 60, number + 1, **args)
                ],
            )
            for each in (0, 1)
        ]
        found = rows(*ranks)
    assert all(row["peer_wait_ns"] + row["transfer_ns"] == row["duration_ns"] for row in found)
    assert all(row["peer_wait_ns"] == 0 for row in found if row["last_rank"] == row["rank"])
    expected = [1000 * (max(starts) - starts[each]) for each in (0, 1) for starts in late]
    assert [row["peer_wait_ns"] for row in found] == expected


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared traces are not here")
@pytest.mark.parametrize("name", ["torch-ddp", "torch-fsdp2", "torch-tp", "deepspeed-zero1"])
def test_real_gloo_ranks_are_split(name):
    table = collectives([traces.read(SHARED / f"cpu/traces/{name}-rank{each}.json.gz") for each in (0, 1)])
    found = table.to_pylist()
    assert unsplit(table) is None
    assert all(row["peer_wait_ns"] + row["transfer_ns"] == row["duration_ns"] for row in found)
    assert all(row["bytes"] for row in found)
    assert max(row["bus_bandwidth"] or 0 for row in found) < 1e12
    assert sum(row["peer_wait_ns"] for row in found) > 0
    assert notes(table) == ()
    operations = {
        "torch-ddp": {"all_reduce", "broadcast"},
        "torch-fsdp2": {"all_gather", "reduce_scatter"},
        "torch-tp": {"all_reduce"},
        "deepspeed-zero1": {"all_reduce", "all_gather"},
    }
    assert {row["operation"] for row in found} == operations[name]
