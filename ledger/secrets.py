"""Secrets are taken out of logs, cards and launch files before they are hashed (rule 10 of the run folder).

First go the exact values of environment variables whose names look secret, then known token shapes; `secrets.yaml`
beside this file says which. `[redacted:NAME]` marks each place. Files are read in pieces, whatever their size,
compressed traces too, and a match that lies across two pieces is found as if they were one.
"""

from __future__ import annotations

import base64
import io
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

import yaml

from ledger.durable import storage_errors
from ledger.errors import EvidenceError
from ledger.redaction import Hit, Rule, pump
from ledger.text_stream import reading, writing

SHORTEST = 6
"""A secret value of fewer characters cannot be told from ordinary text, and is left."""

_PASSES = 8
"""What one pass leaves behind can become a match only beside a marker; so passes go on until one finds nothing."""


class Redactor:
    """Takes secrets out of texts and files. `environ` is the environment that the trial and the collector saw."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        forms = _secret_forms(environ)
        values = [
            Rule(forms[form], (form.lower(),), re.compile(re.escape(form)))
            for form in sorted(forms, key=len, reverse=True)
            if not form.isdigit()
        ]
        digits = [form for form in forms if form.isdigit()]
        numbers = [Rule(forms[form], (form,), _number(form)) for form in digits]
        # A bare number in JSON or YAML cannot become a marker: there only numbers inside of text are taken out.
        inside_text = [Rule(forms[form], (form,), _number(form, rb"(?<![\s:,\[-])")) for form in digits]
        self._stages = [rules for rules in (values + numbers, _shapes()) if rules]
        self._data_stages = [rules for rules in (values + inside_text, _shapes()) if rules]

    def text(self, text: str) -> tuple[str, tuple[str, ...]]:
        """`text` without its secrets, and the name of each one taken out. Doing it again changes nothing."""
        data, names = text.encode(errors="surrogatepass"), []
        for _ in range(_PASSES):
            out = io.BytesIO()
            found = [hit.name for hit in pump(io.BytesIO(data).read, self._stages, out.write)]
            data = out.getvalue()
            names += found
            if not found:
                break
        return data.decode(errors="surrogatepass"), tuple(names)

    def file(self, path: Path) -> bool:
        """Take the secrets out of a file, in place; True when there were any, else its bytes are untouched.

        gzip and zstd files stay compressed. Of one that ends early and holds a secret, what can be read is kept.
        Raises StorageError.
        """
        for done in range(_PASSES):
            with storage_errors(path):
                if not any(True for _ in self._scan(path)):
                    return done > 0
                self._rewrite(path)
        return True

    def scan(self, path: Path) -> Iterator[Hit]:
        """Every secret in a file, which is left as it is. Raises EvidenceError when it cannot be read."""
        try:
            yield from self._scan(path)
        except OSError as error:
            raise EvidenceError(
                f"cannot be read ({error.strerror or error})", where=str(path), todo="check its permissions"
            ) from None

    def _scan(self, path: Path) -> Iterator[Hit]:
        with reading(path) as read:
            yield from pump(read, self._stages_for(path), lambda _: None)

    def _rewrite(self, path: Path) -> None:
        aside = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            with reading(path) as read, writing(aside, like=path) as write:
                for _ in pump(read, self._stages_for(path), write):
                    pass
            shutil.copymode(path, aside)
            aside.replace(path)
        finally:
            aside.unlink(missing_ok=True)

    def _stages_for(self, path: Path) -> list[list[Rule]]:
        return self._data_stages if {".json", ".yaml"} & set(path.suffixes) else self._stages


def scan(path: Path, environ: Mapping[str, str] | None = None) -> Iterator[Hit]:
    """Every secret in a file: token shapes, and the values of `environ`'s secret variables where it is given."""
    return Redactor(environ or {}).scan(path)


def looks_secret(variable: str) -> bool:
    """Whether an environment variable's name says that its value is a secret."""
    data = _data()
    return any(re.search(each, variable) for each in data["variables"]) and not any(
        re.search(each, variable) for each in data["not_variables"]
    )


@cache
def _data() -> dict[str, Any]:
    return cast(dict[str, Any], yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")))


@cache
def _shapes() -> list[Rule]:
    return [
        Rule(each["name"], tuple(hint.encode() for hint in each["hints"]), re.compile(each["pattern"].encode()))
        for each in _data()["shapes"]
    ]


def _number(digits: bytes, condition: bytes = b"") -> re.Pattern[bytes]:
    """A secret made of digits alone must be the whole number."""
    return re.compile(condition + rb"(?<!\d)(?<!\d\.)" + digits + rb"(?!\d|\.\d)")


def _secret_forms(environ: Mapping[str, str]) -> dict[bytes, str]:
    """{bytes to look for: the variable's name as the marker writes it}."""
    forms: dict[bytes, str] = {}
    for name in sorted(environ):
        for secret in _secrets(name, environ[name]):
            for form in _spellings(secret):
                forms.setdefault(form, re.sub(r"\W", "_", name, flags=re.ASCII)[:128] or "unnamed")
    return forms


def _secrets(name: str, value: str) -> list[str]:
    """The secrets in a variable: all of it, each long line of it, or the password of an address in it."""
    if looks_secret(name):
        plain = value.strip()
        lines = [line.strip() for line in plain.splitlines()]
        found = [plain, *(line for line in lines if len(line) >= 2 * SHORTEST)]
    else:
        address = next(rule for rule in _shapes() if rule.name == "url_password").pattern.search(os.fsencode(value))
        found = [os.fsdecode(address["secret"])] if address else []
    return [each for each in found if len(each) >= SHORTEST and not _is_ordinary(name, each)]


def _is_ordinary(name: str, value: str) -> bool:
    counts_tokens = value.isdigit() and name.upper().endswith("TOKENS")
    return counts_tokens or value.lower() in _data()["ordinary_values"]


def _spellings(secret: str) -> Iterator[bytes]:
    """How a secret may be written in a file: plain, as JSON, in an address, in base 64."""
    plain = os.fsencode(secret)
    yield plain
    yield json.dumps(secret)[1:-1].encode()
    yield os.fsencode(json.dumps(secret, ensure_ascii=False)[1:-1])
    yield quote(plain, safe="").encode()
    yield base64.b64encode(plain).rstrip(b"=")
