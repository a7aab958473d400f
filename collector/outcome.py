"""From how a launch ended to its outcome: completed, or failed with one reason of the closed list."""

from __future__ import annotations

from collections.abc import Sequence

from collector.stacks.interface import Adapter, Ending, Observed
from ledger.run import Outcome, Reason, State

TAIL_LINES = 20
CANNOT_RUN = frozenset({126, 127})
"""Exit codes of a shell that could not run the command at all."""


def judge(adapter: Adapter, ending: Ending, observed: Observed, accepted: bool | None, timeout_s: float) -> Outcome:
    """The outcome of a trial whose process has ended."""
    reason, detail = _failure(adapter, ending, observed, accepted, timeout_s)
    return Outcome(
        State.FAILED if reason else State.COMPLETED,
        reason,
        detail=detail,
        exit_code=ending.exit_code,
        signal=ending.signal,
        last_log_lines=ending.log_tail if reason else (),
    )


def _failure(
    adapter: Adapter, ending: Ending, observed: Observed, accepted: bool | None, timeout_s: float
) -> tuple[Reason | None, str | None]:
    if ending.cancelled:
        return Reason.CANCELLED, "the collector was told to stop"
    if ending.timed_out:
        return Reason.TIMED_OUT, f"still running after its limit of {timeout_s:g} s"
    if ending.exit_code != 0:
        return _crash(adapter, ending)
    if not observed.complete:
        reason = Reason.PARTIAL_OUTPUT if observed.anything else Reason.NO_OUTPUT
        return reason, observed.detail
    if accepted is False:
        return Reason.NOT_ACCEPTED, "the result does not hold the workload's acceptance rule"
    return None, None


def _crash(adapter: Adapter, ending: Ending) -> tuple[Reason, str]:
    how = f"ended by {ending.signal}" if ending.signal else f"exit code {ending.exit_code}"
    last = last_words(ending.log_tail)
    detail = f"{how}: {last}" if last else how
    known = adapter.failure_reason(ending)
    if known:
        return known, detail
    if ending.exit_code in CANNOT_RUN:
        return Reason.LAUNCH_FAILED, detail
    return Reason.CRASHED, detail


def last_words(lines: Sequence[str]) -> str | None:
    """The last line that says something."""
    return next((line.strip() for line in reversed(lines) if line.strip()), None)
