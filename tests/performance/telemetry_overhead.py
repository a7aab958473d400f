"""What telemetry costs a job: the same work with and without a sampler beside it, in turns, on every core at once.

    python tests/performance/telemetry_overhead.py [--repeats 7] [--seconds 4] [--smoke]

Printed are the ratio of wall times (which on a busy machine scatters by more than the answer) and the CPU time that the
sampler's thread took as a share of what the machine had to give meanwhile, which is exact. No figure fails the script;
it ends with 1 where the sampler gave no samples.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time

from collector.telemetry.sampler import INTERVAL_S, Sampler

_WORK = """
import hashlib, sys
block = bytes(2**20)
for _ in range(int(sys.argv[1])):
    hashlib.sha256(block).digest()
"""


def work(blocks: int, sampler: Sampler | None) -> float:
    """Seconds that one process a core takes to hash `blocks` MiB each."""
    command = [sys.executable, "-c", _WORK, str(blocks)]
    begins = time.perf_counter()
    jobs = [subprocess.Popen(command) for _ in range(os.cpu_count() or 1)]
    if sampler is not None:
        sampler.start(os.getpid())
    if any(job.wait() for job in jobs):
        raise SystemExit("the job failed")
    wall = time.perf_counter() - begins
    if sampler is not None:
        sampler.stop()
    return wall


def blocks_for(seconds: float) -> int:
    """How many blocks take about `seconds`."""
    probe = 200
    return max(1, round(probe * seconds / work(probe, None)))


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=7, help="pairs of a job without and one with a sampler")
    parser.add_argument("--seconds", type=float, default=4, help="about how long one job takes")
    parser.add_argument("--smoke", action="store_true", help="two short pairs: does it run")
    asked = parser.parse_args()
    repeats, seconds = (2, 1.2) if asked.smoke else (asked.repeats, asked.seconds)
    blocks = blocks_for(seconds)
    ratios, shares, rounds = [], [], []
    for pair in range(repeats):
        sampler, walls = Sampler(), {}
        for beside in (None, sampler) if pair % 2 else (sampler, None):
            walls[beside is not None] = work(blocks, beside)
        ratios.append(walls[True] / walls[False])
        shares.append(sampler.cost["cpu_s"] / walls[True] / (os.cpu_count() or 1))
        rounds.append(sampler.cost["cpu_s"] / sampler.cost["rounds"])
        if not sampler.rows:
            print("the sampler gave no samples", file=sys.stderr)
            return 1
    devices = sorted({str(row["device"]) for row in sampler.rows})
    print(f"{repeats} pairs of {os.cpu_count()} processes, about {seconds:g} s each; a round every {INTERVAL_S:g} s")
    print(f"sampled: {', '.join(devices)}")
    low, high = min(ratios), max(ratios)
    print(f"wall time with / without: median {statistics.median(ratios):.4f} ({low:.4f} to {high:.4f})")
    print(f"CPU time of the sampler / of the machine: median {statistics.median(shares):.3%}, most {max(shares):.3%}")
    print(f"CPU time of one round: median {statistics.median(rounds) * 1e3:.2f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
