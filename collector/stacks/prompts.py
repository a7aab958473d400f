"""A JSONL data set of prompts, one a line, checked for all that driving and judging need."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from collector.stacks.interface import WorkloadError
from ledger import answers
from ledger.errors import InputError
from ledger.workloads.serve import ServeWorkload

MOST_BYTES = 2**30


def read_prompts(path: Path, workload: ServeWorkload) -> dict[str, dict[str, Any]]:
    """{item: its row}, in the file's order.

    Raises WorkloadError where there is no such file, InputError (file and line) where it is empty, is not JSON lines,
    names an item twice, or a row lacks its prompt or what acceptance needs.
    """
    if not path.is_file():
        raise WorkloadError(("dataset", "path"), f"no such data set {workload.dataset.path}", "put it there")
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        raise InputError("is not UTF-8 text", where=str(path), todo="write it as JSON lines in UTF-8") from None
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", where=str(path), todo="check its permissions") from None
    found: dict[str, dict[str, Any]] = {}
    for number, line in enumerate((line for line in lines if line.strip()), 1):
        row = _row(line, f"{path}:{number}", workload)
        item = str(row.get(workload.dataset.id, number))
        if item in found:
            raise InputError(
                f"names the item {item!r} a second time", where=f"{path}:{number}", todo="give it another id"
            )
        found[item] = row
    if not found:
        raise InputError("is empty", where=str(path), todo="write one JSON object with a prompt on each line")
    return found


def _row(line: str, where: str, workload: ServeWorkload) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"is not JSON ({error})", where=where, todo="write one JSON object on each line") from None
    if not isinstance(row, dict):
        raise InputError("is no JSON object", where=where, todo='write {"prompt": …} on each line')
    key = workload.dataset.prompt
    if key not in row:
        todo = f"add it, or name the key with workload.dataset.prompt; it has: {', '.join(map(str, row)) or 'nothing'}"
        raise InputError(f"has no {key!r}", where=where, todo=todo)
    problem = _prompt_problem(row[key], workload.endpoint)
    if problem:
        raise InputError(f"{key}: {problem}", where=where, todo="mend the row")
    try:
        answers.check_for(workload.acceptance, row)
    except ValueError as error:
        raise InputError(str(error), where=where, todo="add it, or mend workload.acceptance") from None
    return row


def _prompt_problem(prompt: Any, endpoint: str) -> str | None:
    if isinstance(prompt, str):
        return None if prompt.strip() else "must say something"
    messages = isinstance(prompt, list) and prompt and all(isinstance(m, Mapping) and "role" in m for m in prompt)
    if messages and endpoint == "chat":
        return None
    return "must be text" if endpoint != "chat" else "must be text, or a list of messages with role and content"
