"""Sends a load of requests to an OpenAI-compatible server, and keeps each of them. Needs aiohttp.

Usage: drive.py TRIAL_JSON ADDRESS PHASE. One JSON line a request goes to STACKPROOF_OUT/requests.jsonl as soon as it
has ended. Open loop: requests leave when they are due, whatever became of those before. Closed loop: each of N workers
sends its next request when its last one has ended. Order of prompts and gaps come from the seed, so that every stack
is asked the same in the same order. Times are nanoseconds of this process's monotonic clock since the phase's start.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

import aiohttp

MOST_TEXT = 100_000
"""Characters of an answer that are kept."""
MOST_LINE = 16 * 2**20
"""Bytes of one line of a stream."""


class BrokenAnswerError(Exception):
    """An answer that is not what the protocol says."""


@dataclass
class Answer:
    """What came back of one request so far."""

    texts: list[str] = field(default_factory=list)
    chunks_ns: list[int] = field(default_factory=list)
    finish_reason: str | None = None
    usage: dict[str, Any] = field(default_factory=dict)
    done: bool = False

    def take(self, chunk: dict[str, Any], now: int) -> None:
        """One chunk of the stream."""
        if chunk.get("error"):
            problem = chunk["error"]
            raise BrokenAnswerError(str(problem.get("message", problem) if isinstance(problem, dict) else problem))
        self.usage = chunk.get("usage") or self.usage
        for choice in chunk.get("choices") or []:
            piece = choice.get("text") or (choice.get("delta") or {}).get("content")
            if piece:
                self.texts.append(piece)
                self.chunks_ns.append(now)
            self.finish_reason = choice.get("finish_reason") or self.finish_reason

    def row(self) -> dict[str, Any]:
        """Columns of requests.jsonl."""
        tokens = self.usage.get("completion_tokens")
        cached = (self.usage.get("prompt_tokens_details") or {}).get("cached_tokens")
        return {
            "first_token_ns": self.chunks_ns[0] if self.chunks_ns else None,
            "chunk_gaps_ns": [after - before for before, after in zip(self.chunks_ns, self.chunks_ns[1:])],  # noqa: B905
            "one_token_a_chunk": None if tokens is None else len(self.chunks_ns) == tokens,
            "input_tokens": self.usage.get("prompt_tokens"),
            "cached_tokens": cached,
            "output_tokens": tokens,
            "text": "".join(self.texts)[:MOST_TEXT],
            "finish_reason": self.finish_reason,
        }


class Driver:
    """One phase at one level."""

    def __init__(self, config: dict[str, Any], phase: dict[str, Any], address: str, log: TextIO) -> None:
        self.config, self.phase, self.log = config, phase, log
        chat = config["endpoint"] == "chat"
        self.url = f"{address}/chat/completions" if chat else f"{address}/completions"
        self.prompts = prompts(config, phase["seed"])
        self.attempts: dict[str, int] = {}
        self.begin = 0

    async def run(self, session: aiohttp.ClientSession) -> None:
        """Send everything, and wait for the last answer."""
        self.begin = time.monotonic_ns()
        if "concurrency" in self.phase:
            waiting = iter(range(self.phase["requests"]))
            await asyncio.gather(*(self._worker(session, waiting) for _ in range(self.phase["concurrency"])))
            return
        sending = []
        for number, due in enumerate(arrivals(self.phase)):
            await asyncio.sleep(due - (time.monotonic_ns() - self.begin) / 1e9)
            sending.append(asyncio.create_task(self._send(session, number, due)))
        await asyncio.gather(*sending)

    async def _worker(self, session: aiohttp.ClientSession, waiting: Iterator[int]) -> None:
        for number in waiting:
            await self._send(session, number, None)

    async def _send(self, session: aiohttp.ClientSession, number: int, due: float | None) -> None:
        item, prompt = next(self.prompts)
        self.attempts[item] = self.attempts.get(item, 0) + 1
        row: dict[str, Any] = {
            "request": number,
            "item": item,
            "attempt": self.attempts[item],
            "phase": self.phase["phase"],
            "level": self.phase["level"],
            "scheduled_ns": None if due is None else round(due * 1e9),
        }
        answer = Answer()
        row["sent_ns"] = time.monotonic_ns() - self.begin
        error = await self._ask(session, self._body(number, prompt), answer)
        row["ended_ns"] = time.monotonic_ns() - self.begin
        if error is None and answer.chunks_ns:
            row["ended_ns"] = answer.chunks_ns[-1]
        self.log.write(json.dumps({**row, **answer.row(), "error": error}) + "\n")
        self.log.flush()

    async def _ask(self, session: aiohttp.ClientSession, body: dict[str, Any], answer: Answer) -> str | None:
        """Send one request and read its answer into `answer`; what went wrong in one line, or None."""
        try:
            async with session.post(self.url, json=body) as response:
                if response.status != 200:
                    return one_line(f"HTTP {response.status}: {(await response.text(errors='replace'))[:500]}")
                async for data in events(response):
                    if data == "[DONE]":
                        answer.done = True
                        break
                    answer.take(parsed(data), time.monotonic_ns() - self.begin)
        except TimeoutError:
            return f"no whole answer after {self.config['request_timeout']:g} s"
        except (aiohttp.ClientError, OSError, BrokenAnswerError, ValueError) as error:
            return one_line(f"{type(error).__name__}: {error}")
        if not answer.done and answer.finish_reason is None:
            return "the stream ended before the answer did"
        return None

    def _body(self, number: int, prompt: Any) -> dict[str, Any]:
        config = self.config
        limits = self.phase.get("output_lengths")
        body = {
            "model": config["model_name"].replace("{workspace}", os.environ["STACKPROOF_WORKSPACE"]),
            "max_tokens": limits[number % len(limits)] if limits else config["max_output_tokens"],
            "temperature": config["sampling"]["temperature"],
            "seed": config["sampling"]["seed"],
            "stream": True,
            "stream_options": {"include_usage": True},
            **config["extra_body"],
        }
        if config["endpoint"] == "completions":
            return {**body, "prompt": prompt}
        messages = prompt if isinstance(prompt, list) else [{"role": "user", "content": prompt}]
        system = [{"role": "system", "content": config["system"]}] if config["system"] else []
        return {**body, "messages": [*system, *messages]}


async def events(response: aiohttp.ClientResponse) -> AsyncIterator[str]:
    """The data of each server-sent event."""
    async for line in response.content:
        text = line.decode(errors="replace").strip()
        if text.startswith("data:"):
            yield text[5:].strip()


def parsed(data: str) -> dict[str, Any]:
    """One event as JSON."""
    try:
        found = json.loads(data)
    except ValueError:
        raise BrokenAnswerError(f"a chunk is not JSON: {data[:200]}") from None
    if not isinstance(found, dict):
        raise BrokenAnswerError(f"a chunk is no object: {data[:200]}")
    return found


def arrivals(phase: dict[str, Any]) -> list[float]:
    """When each request is due, in seconds from the start: the first at once, gaps of a gamma distribution."""
    if "arrivals_s" in phase:
        return list(phase["arrivals_s"])
    chance = random.Random(f"gaps {phase['seed']}")  # noqa: S311 (repeatable, not secret)
    shape, due, found = phase["burstiness"], 0.0, []
    for _ in range(phase["requests"]):
        found.append(due)
        due += chance.gammavariate(shape, 1 / (phase["rate"] * shape))
    return found


def prompts(config: dict[str, Any], seed: int) -> Iterator[tuple[str, Any]]:
    """(item, prompt) round and round, in an order that the seed decides."""
    wanted = config["dataset"]
    lines = (Path(os.environ["STACKPROOF_WORKSPACE"]) / wanted["path"]).read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines if line.strip()]
    found = [(str(row.get(wanted["id"], number)), row[wanted["prompt"]]) for number, row in enumerate(rows, 1)]
    random.Random(f"order {seed}").shuffle(found)  # noqa: S311
    while True:
        yield from found


def one_line(text: str) -> str:
    """Text without line breaks, not too long."""
    return " ".join(text.split())[:500]


async def main() -> None:
    """Run one phase of the trial."""
    config = json.loads(Path(sys.argv[1]).read_text())
    phase = config["phases"][int(sys.argv[3])]
    limit = aiohttp.ClientTimeout(total=config["request_timeout"])
    # A connection for each request, as from clients that know nothing of each other: some servers close theirs after an
    # answer without saying so, and the next request on it would fail.
    connector = aiohttp.TCPConnector(limit=0, force_close=True)
    key = os.environ.get(config["key_variable"] or "", "none")
    session = aiohttp.ClientSession(
        timeout=limit, connector=connector, headers={"Authorization": f"Bearer {key}"}, read_bufsize=MOST_LINE
    )
    with (Path(os.environ["STACKPROOF_OUT"]) / "requests.jsonl").open("a") as log:
        async with session:
            await Driver(config, phase, sys.argv[2], log).run(session)


if __name__ == "__main__":
    asyncio.run(main())
