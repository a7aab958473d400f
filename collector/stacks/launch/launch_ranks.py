"""Starts a script once a rank through torchrun: `python launch_ranks.py RANKS SCRIPT [ARGUMENT...]`.

When a rank fails torchrun ends the others. Its own report is long and names no cause that was printed, so this says at
the very end how each failed rank ended, with its last words; what lost a peer comes before what was the cause.
"""

from __future__ import annotations

import os
import re
import signal
import sys
from pathlib import Path

from torch.distributed import run
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError, ProcessFailure

LOST_PEER = re.compile(
    r"(Connection|Socket) (was )?(closed|reset)|Connection refused|Broken pipe|recvValue failed|ncclRemoteError"
)
"""What a rank says when another is gone."""
PREFIX = re.compile(r"^\[rank\d+\]: ?")
"""What PyTorch puts before each line of a rank's traceback."""
ABORT = re.compile(r"terminate called |Fatal Python error: |Exception raised from ")
"""Where a C++ library or Python itself begins to tell that the process aborts."""
MOST_LINES = 16
"""Of the end, in all: a failed trial keeps its last 20."""


def main() -> None:
    """Run all ranks to their end."""
    count, script, *arguments = sys.argv[1:]
    logs = Path(os.environ["STACKPROOF_OUT"]) / "ranks"
    os.environ["TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE"] = "[rank ${rank}] "
    options = ["--standalone", "--nproc-per-node", count, "--max-restarts", "0", "--log-dir", str(logs), "--tee", "3"]
    try:
        run.main([*options, script, *arguments])
    except ChildFailedError as error:
        sys.stdout.flush()
        for line in ending(logs, dict(error.failures)):
            print(line, file=sys.stderr)
        sys.exit(1)


def ending(logs: Path, failures: dict[int, ProcessFailure]) -> list[str]:
    """How every failed rank ended, the likely cause last."""
    told = [(rank, how(failure), last_lines(logs, rank)) for rank, failure in sorted(failures.items())]
    told.sort(key=lambda each: any(LOST_PEER.search(line) for line in each[2]), reverse=True)
    each = max(2, MOST_LINES // max(1, len(told)))
    lines = [line for rank, end, tail in told for line in (*tail[1 - each :], f"rank {rank} {end}{said(tail)}")]
    return lines[-MOST_LINES:]


def how(failure: ProcessFailure) -> str:
    """`ended with exit code 1`, `was ended by SIGKILL`."""
    code = failure.exitcode
    return f"ended with exit code {code}" if code >= 0 else f"was ended by {signal.Signals(-code).name}"


def said(tail: list[str]) -> str:
    """The last thing that a rank wrote, behind a colon."""
    return f": {tail[-1].strip()}" if tail else ""


def last_lines(logs: Path, rank: int) -> list[str]:
    """The last lines of a rank's standard error that say something."""
    files = sorted(logs.glob(f"*/attempt_0/{rank}/stderr.log"))
    text = files[-1].read_text(errors="replace") if files else ""
    lines = [PREFIX.sub("", line) for line in text.splitlines() if line.strip()]
    return before_abort(lines)[-MOST_LINES:]


def before_abort(lines: list[str]) -> list[str]:
    """What was written before a process aborted on its way out: that is the cause, not the dump of its threads."""
    fell = next((place for place, line in enumerate(lines) if ABORT.match(line)), len(lines))
    return lines[:fell] or lines


if __name__ == "__main__":
    main()
