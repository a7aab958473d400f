"""The lists of single requests that vLLM's and SGLang's clients add under detail; a failed one holds 0.0."""

from __future__ import annotations

import statistics
from typing import Any

from collector.importers.draft import Draft
from ledger.errors import InputError

NAMES = ("input_lens", "output_lens", "ttfts", "itls", "errors")
_CLOSE = 0.01
Lists = dict[str, list[Any]]


def read(record: dict[str, Any], where: str) -> Lists:
    """The lists that a run has. Raises InputError when they are not of one length."""
    lists: Lists = {name: record[name] for name in NAMES if isinstance(record.get(name), list)}
    if len({len(each) for each in lists.values()}) > 1:
        raise InputError("its lists of requests differ in length", where=where, todo="get the original file")
    return lists


def failed(lists: Lists) -> int | None:
    """Requests that ended with an error; None without detail."""
    return sum(bool(error) for error in lists["errors"]) if "errors" in lists else None


def single_tokens(lists: Lists) -> bool:
    """Whether every answered request has one gap less than tokens, so that each chunk held one."""
    if not {"itls", "output_lens", "errors"} <= lists.keys():
        return False
    answered = [
        (gaps, tokens)
        for gaps, tokens, error in zip(lists["itls"], lists["output_lens"], lists["errors"], strict=True)
        if not error
    ]
    return bool(answered) and all(isinstance(gaps, list) and len(gaps) + 1 == tokens for gaps, tokens in answered)


def check(made: Draft, lists: Lists) -> None:
    """Say that there are single requests, and whether those answered give the mean that is stated."""
    if not {"ttfts", "errors"} <= lists.keys():
        return
    made.cannot_show.pop("requests", None)
    made.shows["requests"] = (
        f"{len(lists['ttfts']):,} requests with {', '.join(name for name in NAMES if name in lists)}"
    )
    times = [time for time, error in zip(lists["ttfts"], lists["errors"], strict=True) if not error]
    stated = made.values.get("ttft.mean@sent")
    if stated and times and all(isinstance(time, int | float) for time in times):
        mean = statistics.fmean(times)
        if abs(mean - stated) > _CLOSE * stated:
            what = f"mean time to first token: stated {stated:g} s, its own answered requests give {mean:g} s"
            made.problem("disagrees_with_its_requests", what)
