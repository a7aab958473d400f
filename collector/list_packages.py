"""Prints what the Python that runs it has installed, as JSON. Standard library alone: it runs in stacks' environments.

{"packages": {distribution: version}, "needs": {distribution: [distribution, …]}}, canonical names; needs under a marker
count where the needed distribution is installed.
"""

import json
import re
from importlib import metadata

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def canonical(name: str) -> str:
    """A distribution's name as the index compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def wanted(distribution: metadata.Distribution) -> set[str]:
    """The distributions that one needs without any of its extras."""
    lines = [line for line in distribution.requires or [] if "extra ==" not in line]
    return {canonical(match[0]) for line in lines if (match := NAME.match(line))}


def main() -> None:
    """Print the list."""
    found = {canonical(each.metadata["Name"]): each for each in metadata.distributions() if each.metadata["Name"]}
    needs = {}
    for name, each in found.items():
        wanted = {
            canonical(match[0])
            for line in each.requires or []
            if "extra ==" not in line and (match := NAME.match(line))
        }
        needs[name] = sorted(wanted & found.keys())
    packages = {name: each.version for name, each in sorted(found.items())}
    print(json.dumps({"packages": packages, "needs": needs}))


if __name__ == "__main__":
    main()
