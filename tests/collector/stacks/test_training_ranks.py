"""From what each rank measured to the steps of the whole job."""

from hypothesis import given
from hypothesis import strategies as st

from collector.stacks import training_ranks


def row(step, start, duration, loss=1.0, phase="measured"):
    return {"step": step, "phase": phase, "start_ns": start, "duration_ns": duration, "loss": loss}


def test_a_step_lasts_from_the_first_rank_to_the_last():
    first = [row(0, 100, 50, 1.0), row(1, 155, 20, 3.0)]
    second = [row(0, 110, 60, 2.0), row(1, 172, 30, 5.0)]
    found = training_ranks.together([first, second])
    # The second step begins when the slower rank has ended the first one (170), not when the faster one goes on (155).
    assert [(each["start_ns"], each["duration_ns"], each["loss"]) for each in found] == [(0, 70, 1.5), (70, 32, 4.0)]


def test_only_steps_that_all_ranks_finished_count():
    assert len(training_ranks.together([[row(0, 0, 5), row(1, 5, 5)], [row(0, 0, 5)]])) == 1
    assert training_ranks.together([[row(0, 0, 5)], []]) == []


def test_a_gap_ends_the_steps_that_can_be_put_together():
    gap = [row(0, 0, 5), row(1, 5, 5), row(1, 5, 5), row(3, 20, 5)]
    assert len(training_ranks.together([gap, [row(step, step * 5, 5) for step in range(4)]])) == 2


def test_a_loss_that_one_rank_lacks_is_none():
    assert training_ranks.together([[row(0, 0, 5, None)], [row(0, 0, 5, 2.0)]])[0]["loss"] is None


def test_each_ranks_own_rows_are_kept():
    found = training_ranks.rows([[row(0, 7, 5), row(1, 12, 5)], [row(0, 9, 4)]])
    assert [(each["step"], each["rank"], each["start_ns"]) for each in found] == [(0, 0, 0), (0, 1, 2), (1, 0, 5)]


TIMES = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=8)


def timeline(times, start=1000):
    """Rows of one rank from (pause, duration) pairs."""
    rows = []
    for step, (pause, duration) in enumerate(times):
        start += pause
        rows.append(row(step, start, duration))
        start += duration
    return rows


@given(TIMES)
def test_one_rank_alone_keeps_its_own_times(times):
    own = timeline(times)
    found = training_ranks.together([own])
    assert [each["duration_ns"] for each in found] == [each["duration_ns"] for each in own]
    assert [each["start_ns"] for each in found] == [each["start_ns"] - own[0]["start_ns"] for each in own]


@given(st.lists(TIMES, min_size=1, max_size=4))
def test_steps_never_overlap_and_add_up_to_no_more_than_the_job_took(ranks):
    by_rank = [timeline(times) for times in ranks]
    found = training_ranks.together(by_rank)
    ends = [each["start_ns"] + each["duration_ns"] for each in found]
    assert all(each["duration_ns"] >= 0 for each in found)
    assert all(later["start_ns"] >= end for end, later in zip(ends, found[1:], strict=False))
    last = max(own[len(found) - 1]["start_ns"] + own[len(found) - 1]["duration_ns"] for own in by_rank)
    assert ends[-1] == last - min(own[0]["start_ns"] for own in by_rank)
    assert sum(each["duration_ns"] for each in found) <= ends[-1]
