"""A harness around a model: shows it the file and its failing tests, and takes the file that it answers.

Asks the server at OPENAI_BASE_URL. Settings: `tries` (answers asked for at most, each hotter than the one before),
`max_output_tokens` (of one answer). An answer that the visible check refuses is put back.
"""

from __future__ import annotations

import json
import os
import re
import sys
import urllib.request
from pathlib import Path
from typing import Any

import workplace

CHECK_S = 10.0
MOST_OUTPUT = 1_500
"""Characters of the tests' output that the model is shown."""


def main() -> int:
    """Ask until the visible check passes, or the tries are used up."""
    task = workplace.task()
    path = workplace.named_file(task["prompt"])
    source = path.read_text()
    used = {"input_tokens": 0, "output_tokens": 0}
    tries = int(os.environ.get("STACKPROOF_SETTING_TRIES", "2"))
    for index in range(tries):
        _, output = workplace.check(task["visible_check"], CHECK_S)
        text, cost = ask(prompt(task["prompt"], path, source, output), index)
        used = {name: used[name] + cost[name] for name in used}
        Path(os.environ["STACKPROOF_USAGE"]).write_text(json.dumps(used))
        workplace.answer(text)
        path.write_text(code(text))
        if workplace.check(task["visible_check"], CHECK_S)[0]:
            return 0
        path.write_text(source)
    return 0


def prompt(task: str, path: Path, source: str, output: str) -> str:
    """What the model is asked."""
    return (
        f"{task}\nThe file {path}:\n```python\n{source}```\nIts tests say:\n```\n{output[-MOST_OUTPUT:]}\n```\n"
        f"Answer with the whole corrected file {path} in one Python code block, and nothing else."
    )


def ask(text: str, index: int) -> tuple[str, dict[str, int]]:
    """(answer, tokens used)."""
    asked = {
        "model": os.environ.get("STACKPROOF_SETTING_MODEL_NAME", "model"),
        "messages": [{"role": "user", "content": text}],
        "temperature": 0.4 * index,
        "seed": index,
        "max_tokens": int(os.environ.get("STACKPROOF_SETTING_MAX_OUTPUT_TOKENS", "600")),
    }
    answer = post(f"{os.environ['OPENAI_BASE_URL']}/chat/completions", asked)
    usage = answer.get("usage") or {}
    used = {"input_tokens": usage.get("prompt_tokens", 0), "output_tokens": usage.get("completion_tokens", 0)}
    return answer["choices"][0]["message"]["content"] or "", used


def post(url: str, asked: dict[str, Any]) -> dict[str, Any]:
    """One request; the answer's JSON."""
    request = urllib.request.Request(  # noqa: S310 (the address is the launch's own server)
        url, json.dumps(asked).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request) as answered:  # noqa: S310
        return dict(json.load(answered))


def code(text: str) -> str:
    """The first code block of an answer, or all of it."""
    found = re.search(r"```(?:python)?\n(.*?)(?:```|\Z)", text, re.DOTALL)
    return found.group(1) if found else text


if __name__ == "__main__":
    sys.exit(main())
