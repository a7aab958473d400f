"""Whether ours and Holistic Trace Analysis say the same of the same GPU traces, where they mean the same.

    python tests/performance/trace_agreement.py [FOLDER …] [--hta PYTHON] [--json FILE]

FOLDER holds traces (.json or .json.gz), at any depth; without one, `$STACKPROOF_SHARED/data/traces` is read, if that is
there, and in any case traces that are made here. Each trace goes to a process that has HTA, once as HTA is by default
and once with HTA_DISABLE_NS_ROUNDING=1, and to our reader. A quantity is compared where its definition is the same:
over the same pieces of work, from the first's start to the last's end. Ends with 1 where one differs by more than HTA's
own rounding accounts for, or where ours cannot read what HTA can.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT))

from tests.performance.hta_environment import hta_python  # noqa: E402

NAMES = {
    "pieces": "pieces of device work",
    "kernels": "of these kernels",
    "copies": "of these copies",
    "fills": "of these fills",
    "span": "first start to last end",
    "busy": "any work",
    "compute": "compute",
    "not_compute": "work without compute",
    "communication": "communication",
    "copy": "copies and fills",
    "idle": "no work",
    "overlap": "communication covered",
}
PATIENCE = 600
"""Seconds for one reader and one trace."""
COUNTS = ("pieces", "kernels", "copies", "fills")


@dataclass(frozen=True)
class Row:
    """One quantity of one trace: counts, or nanoseconds; `overlap` is a share."""

    name: str
    ours: float
    exact: float | None
    """What HTA says without rounding; None where it says nothing."""
    rounded: float | None
    """What it says by default."""
    tolerance: float
    """By how much HTA's floating point can be off, without rounding."""
    rounding: float
    """By how much it can be off by default: each start is up to a microsecond late, each end as much early."""
    reason: str
    """Why they differ by definition; empty where they mean the same."""
    note: str
    """Why HTA by default says nothing; empty where it does."""

    @property
    def agrees(self) -> bool:
        """Whether the differences are no more than these account for, or are of definition."""
        told = ((self.exact, self.tolerance), (self.rounded, self.rounding))
        return bool(self.reason) or all(value is None or abs(value - self.ours) <= off for value, off in told)


def main() -> int:
    """Print a table for each trace."""
    asked = _arguments()
    python = asked.hta or hta_python(asked.folder / "hta")
    results, problems = {}, []
    for path in _files(asked):
        try:
            rows = compared(path, python)
        except OursFailsError as error:
            problems.append(f"{path.name}: {error}")
            continue
        except subprocess.TimeoutExpired:
            print(f"\n{path.name}: left out, for it takes longer than {PATIENCE} s")
            continue
        results[str(path)] = [vars(row) for row in rows]
        print(f"\n{path.parent.name}/{path.name}")
        for line in _table(rows):
            print(f"  {line}")
        problems += [f"{path.name}: {NAMES[row.name]} differs: {row}" for row in rows if not row.agrees]
    if asked.json:
        asked.json.write_text(json.dumps(results, indent=1) + "\n")
    print()
    for problem in problems:
        print(f"wrong: {problem}", file=sys.stderr)
    print("By default HTA rounds each start up and each end down to whole microseconds, so that it finds less work,")
    print(
        "less of it covered, and more time without any. Its own default also leaves out the last step, not done here."
    )
    print(f"{len(results)} traces, {len(problems)} disagreements")
    return 1 if problems or not results else 0


class OursFailsError(Exception):
    """Ours fails on what HTA reads."""


def compared(path: Path, python: str) -> list[Row]:
    """Every quantity of a trace."""
    exact, rounded = (_peer(python, "hta", path, rounding) for rounding in (False, True))
    mine = _peer(sys.executable, "ours", path, False)
    if "failed" in mine:
        raise OursFailsError(f"ours fails: {mine['failed']}")
    return [row for name in NAMES for row in _row(name, mine, exact, rounded)]


def _row(name: str, mine: dict[str, Any], exact: dict[str, Any], rounded: dict[str, Any]) -> Iterator[Row]:
    said = [found.get(name) for found in (exact, rounded)]
    if name not in mine and said == [None, None]:
        return
    reason, note = mine["named"].get(name, "") if said[0] is not None else "", ""
    if "failed" in exact:
        reason = f"HTA fails: {exact['failed']}"
    elif said[0] is None:
        reason = f"HTA does not say: {exact.get('why', 'it has none')}"
    elif said[1] is None:
        note = f"by default {rounded.get('why') or rounded.get('failed', '')}"
    edges = 0 if name in COUNTS else 2 * mine["pieces"]
    tolerance = edges * exact.get("resolution", 0.0)
    rounding = edges * 1000.0 + tolerance
    if name == "overlap":  # of which HTA says 12.34 %
        tolerance, rounding = (
            2 * each / max(mine.get("communication", 0), 1) + 0.5e-4 for each in (tolerance, rounding)
        )
    yield Row(name, mine.get(name, 0), said[0], said[1], tolerance, rounding, reason, note)


def _table(rows: list[Row]) -> Iterator[str]:
    yield f"{'':<26}{'ours':>15}{'HTA exact':>15}{'HTA default':>15}{'difference':>13}"
    for row in rows:
        off = "" if row.exact is None else _number(row, row.exact - row.ours, "+")
        cells = "".join(f"{_number(row, value):>15}" for value in (row.ours, row.exact, row.rounded))
        why = row.reason or row.note if row.agrees else "WRONG"
        yield f"{NAMES[row.name]:<26}{cells}{off:>13}  {why}".rstrip()


def _number(row: Row, value: float | None, sign: str = "") -> str:
    if value is None:
        return "–"
    if row.name in COUNTS:
        return f"{value:{sign},.0f}"
    return f"{100 * value:{sign}.2f} %" if row.name == "overlap" else f"{value / 1000:{sign},.3f} us"


def _peer(python: str, name: str, path: Path, rounding: bool) -> dict[str, Any]:
    environment = {**os.environ, "HTA_DISABLE_NS_ROUNDING": "0" if rounding else "1"}
    command = [python, str(HERE / "agreeing_peers.py"), name, str(path)]
    ran = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=PATIENCE)
    if ran.returncode:
        return {"failed": ran.stderr.strip().rpartition("\n")[2][:120] or f"ended with {ran.returncode}"}
    found: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return found


def _files(asked: argparse.Namespace) -> Iterator[Path]:
    shared = os.environ.get("STACKPROOF_SHARED")
    folders = asked.traces or ([Path(shared) / "data/traces"] if shared else [])
    for folder in folders:
        yield from sorted(path for ending in ("json", "json.gz") for path in folder.rglob(f"*.{ending}"))
    yield from made(asked.folder / "agreement")


def made(folder: Path) -> list[Path]:
    """Traces that are made here: kernels that overlap on streams, absolute clocks, nanoseconds."""
    found = []
    for events in (4000, 20_000):
        target = folder / str(events)
        command = [sys.executable, str(HERE / "trace_files.py"), str(target), f"--events={events}", "--ranks=2"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        found += sorted(target.glob("packed/*.json.gz"))
    return found


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("traces", nargs="*", type=Path, metavar="FOLDER", help="traces, at any depth")
    parser.add_argument("--hta", metavar="PYTHON", help="of an environment that has HTA; else one is made")
    parser.add_argument("--folder", type=Path, default=ROOT / ".stackproof" / "performance", help="for what is made")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
