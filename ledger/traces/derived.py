"""What was made from traces before, kept beside their tables for as long as the code that made it is the same."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

from ledger.canonical import bytes_digest, short_digest

HERE = Path(__file__).parent


def kept(folder: Path, inputs: Any, make: Callable[[], Any], sources: Iterable[Path] = ()) -> Any:
    """The JSON value that `make` gives for `inputs` (JSON too), from `folder` where the same code made it before.

    The code is this package and `sources`, further files. Raises OSError when `folder` cannot be written.
    """
    path = folder / f"{short_digest([inputs, _code((*sorted(HERE.iterdir()), *sources))])}.json"
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError):
        value = make()
    folder.mkdir(parents=True, exist_ok=True)
    aside = folder / f".{path.name}.{os.getpid()}"
    aside.write_text(json.dumps(value, ensure_ascii=False, allow_nan=False), encoding="utf-8")
    aside.replace(path)
    return value


@cache
def _code(files: tuple[Path, ...]) -> list[str]:
    return [bytes_digest(path.read_bytes()) for path in files if path.suffix in {".py", ".yaml", ".jinja"}]
