"""How fast and in how much memory traces are read and explained, beside other readers of the same files.

    python tests/performance/trace_reading.py --events 1e5 1e6 4e6 --repeats 3 --peers hta,json

Every measurement is a fresh process; the readers take turns, so that whatever else the machine does meets them alike.
Figures are medians. Nothing here fails for being slow: the script ends with 1 only where an answer is wrong or a
reader breaks down. See README.md beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT))

from tests.performance import measuring  # noqa: E402 (run as a script, too)
from tests.performance.hta_environment import hta_python  # noqa: E402
from tests.performance.measuring import Measured  # noqa: E402

OURS = "ours"
SMALL = 4_000
"""Events of the trace that shows what it costs to start: about 1 MB."""
MIB = 2**20


def main() -> int:
    """Measure what the arguments ask for; returns the exit status."""
    asked = _arguments()
    measured = _Session(asked)
    for events in asked.events:
        measured.size(events)
    if not asked.smoke:
        measured.start_up()
    measured.stages(asked.events[-1] if asked.smoke else min(max(asked.events), 1_000_000))
    if asked.memory_limit:
        measured.limited(max(asked.events), asked.memory_limit)
    if asked.json:
        asked.json.write_text(json.dumps(measured.results, indent=1))
    for problem in measured.problems:
        print(f"wrong: {problem}", file=sys.stderr)
    return 1 if measured.problems else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=_count, nargs="+", default=[100_000, 1_000_000, 4_000_000])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--peers", type=lambda text: [name for name in text.split(",") if name], default=["hta", "json"]
    )
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--memory-limit", type=_size, help="also read the largest file within this, such as 1GiB")
    parser.add_argument("--folder", type=Path, default=ROOT / ".stackproof" / "performance", help="for files made")
    parser.add_argument("--smoke", action="store_true", help="one repeat, no start-up cost: does it run, is it right")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures")
    asked = parser.parse_args()
    asked.repeats = 1 if asked.smoke else asked.repeats
    return asked


def _names(text: str) -> list[str]:
    return [name for name in text.split(",") if name]


def _count(text: str) -> int:
    return int(float(text))


def _size(text: str) -> int:
    units = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
    number, unit = text[:-3], text[-3:]
    return int(float(number) * units[unit]) if unit in units else int(text)


class _Session:
    """All measurements of one run, printed as they come."""

    def __init__(self, asked: argparse.Namespace) -> None:
        self._asked = asked
        self.problems: list[str] = []
        self.results: dict[str, Any] = {"load_average": os.getloadavg(), "cpus": os.cpu_count(), "sizes": {}}
        self._python = dict.fromkeys((OURS, "json", "import"), sys.executable)
        if "hta" in asked.peers:
            self._python["hta"] = hta_python(asked.folder / "hta")
        print(f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f} before the first run")

    def size(self, events: int) -> None:
        """All readers on one file, in turns."""
        folder = self._files(events, plain="json" in self._asked.peers)
        promise = json.loads((folder / "promise.json").read_text())
        runs: dict[str, list[Measured]] = {}
        for _ in range(self._asked.repeats):
            for name in (OURS, *self._asked.peers):
                runs.setdefault(name, []).append(self._run(name, folder))
        packed = sum(path.stat().st_size for path in (folder / "packed").iterdir())
        characters = sum(each["characters"] for each in promise)
        ranks = f" on each of {len(promise)} ranks" if len(promise) > 1 else ""
        print(f"\n{events:,} events{ranks}: {packed / MIB:,.0f} MiB packed, {characters / MIB:,.0f} MiB unpacked")
        middle = {name: _middle(found) for name, found in runs.items()}
        _print_table(middle)
        self._check(events, promise, runs)
        self.results["sizes"][str(events)] = {
            "packed_bytes": packed,
            "characters": characters,
            "runs": {name: [_figures(each) for each in found] for name, found in runs.items()},
        }

    def start_up(self) -> None:
        """What a small trace costs, and what of it is importing."""
        folder = self._files(SMALL)
        found = {
            name: [self._run(name, folder) for _ in range(max(3, self._asked.repeats))] for name in ("import", OURS)
        }
        walls = {name: median(each.wall for each in runs) for name, runs in found.items()}
        size = (folder / "packed/rank-0.json.gz").stat().st_size
        print(f"\nstart-up: a trace of {SMALL:,} events ({size / 1e3:,.0f} kB packed) takes {walls[OURS]:.2f} s;")
        print(f"  starting Python and importing the engine are {walls['import']:.2f} s of it")
        self.results["start_up"] = walls

    def stages(self, events: int) -> None:
        """Where our time goes."""
        ran = measuring.run([sys.executable, str(HERE / "stages.py"), str(self._files(events) / "packed")])
        if not self._went_well("the profile", ran):
            return
        found = json.loads(ran.output)
        total = sum(found["stages"].values())
        print(f"\nwhere our time goes, {events:,} events in one process, profiled (shares of CPU time)")
        for stage, seconds in sorted(found["stages"].items(), key=lambda each: -each[1]):
            if seconds > total / 200:
                print(f"  {seconds / total:6.1%}  {stage}")
        self.results["stages"] = found

    def limited(self, events: int, limit: int) -> None:
        """Our reader within a control group that holds so many bytes."""
        folder = self._files(events)
        with measuring.limited(limit) as group:
            if group is None:
                print("\nno control group can be made here (it takes root): the memory limit was not tried")
                return
            ran = self._run(OURS, folder, group)
            charged = measuring.most(group)
        end = "read and explained" if ran.status == 0 else f"ended by {-ran.status}" if ran.status < 0 else "failed"
        print(f"\n{events:,} events within {limit / MIB:,.0f} MiB, without swap: {end} in {ran.wall:.1f} s")
        print(f"  {charged / MIB:,.0f} MiB charged by the system at most, page cache new to it included")
        print(f"  {ran.pss / MIB:,.0f} MiB held by its processes at most, {ran.anonymous / MIB:,.0f} MiB not of files")
        self.results["limited"] = {"limit": limit, "charged": charged, **_figures(ran)}
        if self._went_well("ours, limited", ran):
            promise = json.loads((folder / "promise.json").read_text())
            self._compare(events, promise, json.loads(ran.output))

    def _files(self, events: int, plain: bool = False) -> Path:
        """The files of a size, made where they are not there; a change of what makes them makes them again."""
        makers = [(HERE / f"{name}.py").read_bytes() for name in ("trace_files", "kineto_layout", "workload")]
        mark = sha256(b"".join(makers)).hexdigest()[:8]
        ranks = self._asked.ranks
        folder: Path = self._asked.folder / f"{events}-{ranks}-{mark}"
        wanted = [folder / "promise.json"] + [folder / f"plain/rank-{rank}.json" for rank in range(ranks) if plain]
        if not all(path.exists() for path in wanted):
            print(f"making {events:,} events …", file=sys.stderr)
            command = [sys.executable, str(HERE / "trace_files.py"), str(folder), f"--events={events}"]
            command += [f"--ranks={ranks}", *["--plain"] * plain]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return folder

    def _run(self, name: str, folder: Path, group: Path | None = None) -> Measured:
        inputs = folder / ("plain" if name == "json" else "packed")
        return measuring.run([self._python[name], str(HERE / "peers.py"), name, str(inputs)], group)

    def _check(self, events: int, promise: list[dict[str, Any]], runs: dict[str, list[Measured]]) -> None:
        for name, found in runs.items():
            for each in found:
                if not self._went_well(f"{name} on {events:,} events", each):
                    continue
                said = json.loads(each.output.splitlines()[-1])
                if name == OURS:
                    self._compare(events, promise, said)
                elif name == "json" and said != [one["events"] for one in promise]:
                    self.problems.append(f"json counts {said} events of {events:,}")
                elif name == "hta" and each is found[0]:
                    _print_hta(promise, said)

    def _compare(self, events: int, promise: list[dict[str, Any]], said: list[dict[str, Any]]) -> None:
        """Every nanosecond of every step, and the counts."""
        for expected, found in zip(promise, said, strict=True):
            place = f"{events:,} events, rank {expected['rank']}"
            counts = {name: expected[name] for name in ("events", "timed", "memory")}
            if counts != {name: found[name] for name in counts}:
                self.problems.append(f"{place}: {counts} expected, found {found}")
            for wanted, step in zip(expected["steps"], found["steps"], strict=True):
                wrong = {name: value for name, value in step.items() if wanted[name] != value}
                if wrong:
                    self.problems.append(f"{place}, step {wanted['number']}: {wrong} is not as {wanted}")

    def _went_well(self, what: str, ran: Measured) -> bool:
        if ran.status:
            last = ran.errors.strip().rpartition("\n")[2]
            self.problems.append(f"{what} ended with {ran.status}: {last}")
        return not ran.status


def _middle(runs: list[Measured]) -> Measured:
    """The median of each figure."""
    names = ("wall", "cpu", "pss", "anonymous", "largest")
    return replace(runs[0], **{name: median(getattr(each, name) for each in runs) for name in names})


def _figures(ran: Measured) -> dict[str, Any]:
    return {name: value for name, value in asdict(ran).items() if name not in ("output", "errors")}


def _print_table(middle: dict[str, Measured]) -> None:
    print(f"  {'':6}{'wall':>10}{'CPU':>10}{'memory':>12}{'not files':>12}{'largest':>12}   as a multiple of ours")
    ours = middle[OURS]
    for name, each in middle.items():
        sizes = "".join(f"{size / MIB:>8,.0f} MiB" for size in (each.pss, each.anonymous, each.largest))
        print(f"  {name:6}{each.wall:>8.2f} s{each.cpu:>8.2f} s{sizes}", end="" if each is not ours else "\n")
        if each is not ours:
            memory = each.pss / max(1, ours.pss)
            print(f"   wall {each.wall / ours.wall:.1f}, CPU {each.cpu / ours.cpu:.1f}, memory {memory:.1f}")


def _print_hta(promise: list[dict[str, Any]], said: dict[str, Any]) -> None:
    """How far HTA's answer lies from what the file holds: it rounds every event to whole microseconds."""
    for expected, found in zip(promise, said["times"], strict=True):
        compute = sum(step["parts"]["compute"] for step in expected["steps"]) / 1000
        away = found["compute_time(us)"] / compute - 1
        print(f"  hta's compute time on rank {found['rank']} is {away:+.2%} off what the file holds")


if __name__ == "__main__":
    sys.exit(main())
