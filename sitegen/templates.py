"""The Jinja environment of the site. All text from evidence is hostile: what no template wrote is escaped.

Two rules keep hostile text harmless in Markdown pages: it stands only inside HTML blocks that a template opened, and
the few words that stand in Markdown itself pass through `markdown`, which leaves nothing for Markdown to act on.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup, escape

import sitegen
from sitegen import format as people

FOLDER = Path(sitegen.__file__).resolve().parent.parent / "site_templates"
"""Beside the package, in a checkout and in an installed wheel alike."""

ASSETS = FOLDER / "assets"

_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+\-.!|~^$:=<>&\"'@/])")
_ISLAND = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def render(template: str, **values: Any) -> str:
    """Render `template` (a path below site_templates) to text."""
    return _environment().get_template(template).render(**values).lstrip()


def markdown(text: object) -> Markup:
    """`text` as one line of Markdown that means only itself."""
    line = " ".join(str(text).split())
    return Markup(_MARKDOWN.sub(lambda match: f"&#{ord(match[1])};", line))  # noqa: S704 (every special one is escaped)


def island(data: object) -> Markup:
    """`data` as JSON that is safe inside a script element."""
    text = json.dumps(data, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return Markup("".join(_ISLAND.get(character, character) for character in text))  # noqa: S704 (escaped above)


def front_matter(text: object) -> Markup:
    """`text` as a YAML string (a JSON string is one), escaped for HTML: MkDocs puts it into pages as it is."""
    return Markup(json.dumps(str(escape(" ".join(str(text).split())))))  # noqa: S704 (escaped, and front matter is not HTML)


def anchor(text: object) -> str:
    """`text` as a fragment or id: lower-case letters, digits and dashes; other characters become their code."""
    return "".join(c if c.isascii() and c.isalnum() else "-" if c in "._-" else f"-{ord(c):x}-" for c in str(text))


def words(text: object) -> str:
    """A code for people: `out_of_memory` becomes `out of memory`."""
    return str(text).replace("_", " ")


def lines(text: object) -> Markup:
    """Escaped text that keeps its line ends even where Markdown would reflow them."""
    return Markup("&#10;").join(escape(line) for line in str(text).split("\n"))


def plain(text: object) -> str:
    """A leaf of the catalog, which is JSON text, as people write it: strings without quotes."""
    try:
        value = json.loads(str(text))
    except ValueError:
        return str(text)
    return value if isinstance(value, str) else str(text)


def breakable(path: object) -> Markup:
    """A dotted path or id that may break after its dots and dashes, so that a narrow column holds it."""
    return Markup(re.sub(r"([._-])", r"\1<wbr>", str(escape(path))))  # noqa: S704 (escaped)


def command(text: object) -> Markup:
    """A command that may break between its words, but not at the dashes of an option."""
    return Markup(re.sub(r"(?<= )(--[a-z-]+)", r'<span class="sp-word">\1</span>', str(lines(text))))  # noqa: S704 (escaped)


def moment(when: datetime | str) -> str:
    """A time in UTC to the second."""
    return when if isinstance(when, str) else when.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "value": people.value,
        "share": people.share,
        "size": people.bytes_,
        "seconds": people.seconds,
        "ratio": people.ratio,
        "ratios": people.ratios,
        "difference": people.difference,
        "interval": people.interval,
        "markdown": markdown,
        "island": island,
        "front_matter": front_matter,
        "anchor": anchor,
        "words": words,
        "lines": lines,
        "moment": moment,
        "plain": plain,
        "breakable": breakable,
        "command": command,
    }
    return environment
