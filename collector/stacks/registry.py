"""Every adapter by the name that benchmark files use. A new stack is one file beside this one and one line here."""

from __future__ import annotations

import difflib

from collector.stacks.interface import Adapter
from collector.stacks.torch import TorchAdapter
from ledger.errors import InputError

ADAPTERS: dict[str, Adapter] = {adapter.name: adapter for adapter in (TorchAdapter(),)}


def get(name: str) -> Adapter:
    """The adapter of that name. Raises InputError with the nearest name."""
    if name in ADAPTERS:
        return ADAPTERS[name]
    close = difflib.get_close_matches(name, ADAPTERS, n=1, cutoff=0.5)
    todo = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(ADAPTERS)}"
    raise InputError(f"no adapter {name!r}", todo=todo)
