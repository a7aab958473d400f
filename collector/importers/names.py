"""One name for what published results spell in many ways. What is not known keeps its own name."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from collector.importers.values import text
from ledger.yaml_file import read_yaml

_WITH_VERSION = re.compile(r"(?P<name>[A-Za-z][\w.+]*?(?:-[A-Za-z]\w*)*)[-=]+v?(?P<version>\d[\w.+]*)")


def hardware(published: Any) -> dict[str, Any]:
    """`vendor`, `device` and `class` of a device by its published name; only `device` when it is not known."""
    name = text(published)
    if name is None:
        return {}
    for each in _tables()["devices"]:
        if re.search(each["pattern"], key(name)):
            return {"device": name, **{part: each[part] for part in ("vendor", "device", "class") if part in each}}
    return {"device": name}


def precision(published: Any) -> str | None:
    """A number format: `bf16` is `bfloat16`."""
    name = text(published)
    return None if name is None else str(_tables()["precisions"].get(key(name), name))


def library(published: Any) -> str | None:
    """A communication library: `nccl` is `NCCL`, `mscclpp` is `MSCCL++`."""
    name = text(published)
    return None if name is None else str(_tables()["libraries"].get(key(name.replace("++", "pp")), name))


def framework(published: Any) -> tuple[str | None, str | None]:
    """(name, version) of a framework; some sources write both in one, such as `torchtitan-0.1.0`."""
    name = text(published)
    if name is None:
        return None, None
    match = _WITH_VERSION.fullmatch(name)
    bare, version = (match["name"], match["version"]) if match else (name, None)
    return str(_tables()["frameworks"].get(key(bare), bare.lower())), version


def key(name: str) -> str:
    """A name as it is looked up: lower case, each run of other characters one `_`."""
    return re.sub(r"[^a-z0-9]+", "_", str(name).lower()).strip("_")


@cache
def _tables() -> dict[str, Any]:
    tables: dict[str, Any] = read_yaml(Path(__file__).with_suffix(".yaml")).data
    return tables
