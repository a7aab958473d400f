"""A `stackproof collect` whose stacks are small scripts, as a process that tests can kill.

python collect_once.py ARGUMENTS-OF-COLLECT
"""

import sys

import stackproof
from collector.stacks.registry import ADAPTERS
from tests.collector.conftest import ScriptAdapter

if __name__ == "__main__":
    ADAPTERS["script"] = ScriptAdapter()
    sys.argv[1:1] = ["collect"]
    stackproof.main()
