"""A process that seals one prepared folder, for tests that kill it or make its system calls fail.

    python seal_once.py PREPARED EVIDENCE

It asks for two paths that do not exist, so that a trace of its system calls shows where sealing begins and ends.
"""

import json
import os
import sys
from pathlib import Path

from ledger.errors import StackproofError
from ledger.run import Run
from ledger.seal import seal

BEGIN = "/sealing-begins-here"
END = "/sealing-ends-here"


def main(prepared: Path, evidence: Path) -> int:
    run = Run.from_json(json.loads((prepared / "run.json").read_text()), "run.json")
    os.access(BEGIN, os.F_OK)
    try:
        seal(prepared, evidence, run)
    except StackproofError as error:
        print(f"error: {error.diagnostics()}", file=sys.stderr)
        return error.exit_code
    os.access(END, os.F_OK)
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
