"""The sentences of a Markdown page, each with its line: what people read as prose, and nothing else.

Front matter, code blocks, inline code that is no name, HTML comments, link targets and quotations in the running text
are no prose. A table's cell is read as `METRIC of STACK is CELL`, by its row and column.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser

from markdown_it import MarkdownIt
from markdown_it.token import Token

from sitegen.prose.amounts import PATTERN

OPAQUE = "\ufffc"
"""Stands for what is no prose, so that nothing is read across it."""
MARK = re.compile(r"<!--\s*stackproof:\s*(.*?)\s*-->", re.DOTALL)
_NOT_CHECKED = re.compile(r"not checked(?:\s*:\s*(.*))?", re.DOTALL)
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n.*?\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_QUOTED = re.compile(r"(?<!\w)[\"“„«](?=\S)[^\"“”„«»]*\s[^\"“”„«»]*(?<=\S)[\"”“»](?!\w)")
_ABBREVIATED = re.compile(r"(?:\b(?:vs|e\.g|i\.e|ca|approx|cf|resp|no|fig|incl|etc)|(?-i:\b[A-Z]))\.$", re.IGNORECASE)
_END = re.compile(r"[.!?…]+[)\]”’\"']*(?=\s|$)")
_BLOCKS = ("p", "div", "li", "td", "th", "h1", "h2", "h3", "h4", "h5", "h6", "summary", "figcaption")
_SILENT = ("script", "style", "code", "pre", "del", "s", "svg", "template")


@dataclass(frozen=True)
class Sentence:
    """One sentence, or one cell of a table."""

    line: int
    text: str
    around: str
    """The paragraph that it stands in, with the targets of its links."""
    section: str
    """The headings above it, and everything under the last of them."""


@dataclass(frozen=True)
class WrongMark:
    """A mark that exempts nothing, and why."""

    line: int
    what: str


@dataclass(frozen=True)
class Extract:
    """What is to be checked, and the marks that are wrong."""

    sentences: tuple[Sentence, ...]
    wrong_marks: tuple[WrongMark, ...]
    text: str
    """All prose of the page, with the targets of its links."""


@dataclass
class _Block:
    """A paragraph, a heading or a cell while it is read."""

    line: int
    text: str = ""
    breaks: list[tuple[int, int]] = field(default_factory=list)
    """(offset, line) where a new line begins."""
    links: list[str] = field(default_factory=list)
    heading: int | None = None
    """Its level."""
    exempt: bool = False

    def line_at(self, offset: int) -> int:
        """The line of the page at an offset of the text."""
        return max([self.line, *(line for start, line in self.breaks if start <= offset)])

    @property
    def whole(self) -> str:
        """Text and targets."""
        return " ".join([self.text, *self.links])


def extract(page: str, is_name: Callable[[str], bool]) -> Extract:
    """The prose of a page; `is_name` says which inline code is a name (or a value) and belongs to the sentence."""
    front = _FRONT_MATTER.match(page)
    blank = re.sub(r"[^\n]", "", front[0]) if front else ""
    source = blank + (page[front.end() :] if front else page)
    reader = _Reader(is_name)
    reader.read(MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(source))
    sections = _sections(reader.blocks)
    sentences = tuple(
        sentence
        for block, section in zip(reader.blocks, sections, strict=True)
        if not block.exempt
        for sentence in _sentences(block, section)
    )
    return Extract(sentences, tuple(reader.wrong), " ".join(block.whole for block in reader.blocks))


def split(text: str) -> list[tuple[int, str]]:
    """(offset, sentence) of a running text."""
    found, start = [], 0
    for end in _END.finditer(text):
        head = text[start : end.end()]
        if _ABBREVIATED.search(head) and not text[end.end() :].lstrip()[:1].isupper():
            continue
        found.append((start, head))
        start = end.end()
    whole = [(at, each.rstrip()) for at, each in [*found, (start, text[start:])]]
    bare = [(at, each, each.lstrip(f"{OPAQUE} \n")) for at, each in whole]
    return [(at + len(each) - len(kept), kept) for at, each, kept in bare if kept]


def _sentences(block: _Block, section: str) -> Iterator[Sentence]:
    text = _QUOTED.sub(lambda found: OPAQUE * len(found[0]), block.text)
    for offset, sentence in split(text):
        yield Sentence(block.line_at(offset), sentence, block.whole, section)


def _sections(blocks: list[_Block]) -> list[str]:
    """For each block: the headings above it, and all blocks under the last one."""
    path: dict[int, str] = {}
    keys: list[tuple[str, ...]] = []
    together: dict[tuple[str, ...], list[str]] = {}
    for block in blocks:
        if block.heading is not None:
            path = {level: text for level, text in path.items() if level < block.heading} | {block.heading: block.whole}
        keys.append(tuple(path.values()))
        together.setdefault(keys[-1], []).append(block.whole)
    return [" ".join((*key, *together[key])) for key in keys]


class _Reader:
    """Goes through the tokens of a page."""

    def __init__(self, is_name: Callable[[str], bool]) -> None:
        self.is_name = is_name
        self.blocks: list[_Block] = []
        self.wrong: list[WrongMark] = []
        self._exempt_level: int | None = None
        """Level of the block that a mark before it exempts, while that block is open."""
        self._marked = False

    def read(self, tokens: list[Token]) -> None:
        """Take in every block."""
        position = 0
        while position < len(tokens):
            token = tokens[position]
            if token.type == "html_block":
                self._html(token)
            elif token.type == "table_open":
                end = next(i for i in range(position, len(tokens)) if tokens[i].type == "table_close")
                self._table(tokens[position:end])
                self._marked = False
                position = end
            elif token.nesting == 1 and self._marked and self._exempt_level is None:
                self._exempt_level, self._marked = token.level, False
            elif token.nesting == -1 and token.level == self._exempt_level:
                self._exempt_level = None
            elif token.type == "inline":
                block = self._inline(token, exempt=self._exempt_level is not None)
                if position and tokens[position - 1].type == "heading_open":
                    block.heading = int(tokens[position - 1].tag[1:])
                self.blocks.append(block)
            elif token.type in {"fence", "code_block", "hr"}:
                self._marked = False
            position += 1

    def _inline(self, token: Token, *, exempt: bool) -> _Block:
        """The text of a paragraph or a cell. A mark inside of it exempts what follows."""
        line = (token.map or [0])[0] + 1
        block = _Block(line, exempt=exempt)
        silent = 0
        for child in token.children or []:
            if child.type in {"softbreak", "hardbreak"}:
                line += 1
                block.text += " "
                block.breaks.append((len(block.text), line))
            elif child.type == "html_inline":
                silent += _silences(child.content)
                if MARK.fullmatch(child.content) and self._mark(child.content, line):
                    return block
            elif child.type == "text":
                block.text += child.content if not silent else OPAQUE
            elif child.type == "code_inline":
                block.text += child.content if self.is_name(child.content.strip()) and not silent else OPAQUE
            elif child.type == "image":
                block.text += OPAQUE
            elif child.type == "link_open":
                block.links.append(str(child.attrGet("href") or ""))
            elif child.type in {"s_open", "s_close"}:
                silent += child.nesting
        return block

    def _html(self, token: Token) -> None:
        """Text between tags, and marks."""
        line = (token.map or [0])[0] + 1
        marks = [self._mark(found[0], line) for found in MARK.finditer(token.content)]
        block = _Block(line, exempt=self._exempt_level is not None or self._marked or any(marks))
        parser = _Text(block)
        parser.feed(token.content)
        parser.close()
        if block.text.strip(f" {OPAQUE}"):
            self.blocks.append(block)
            self._marked = False
        else:
            self._marked = self._marked or any(marks)

    def _mark(self, comment: str, line: int) -> bool:
        """Whether a comment exempts something; one that is meant to and does not is kept as wrong."""
        found = MARK.fullmatch(comment)
        said = _NOT_CHECKED.fullmatch(found[1]) if found else None
        if said is None:
            what = f"the mark “{' '.join((found[1] if found else comment).split())}” is not known"
            self.wrong.append(WrongMark(line, what))
        elif not (said[1] or "").strip():
            self.wrong.append(WrongMark(line, "a sentence is marked as not checked, without a reason"))
        return said is not None and bool((said[1] or "").strip())

    def _table(self, tokens: list[Token]) -> None:
        """A cell by itself, and with what its row and its column name."""
        exempt = self._marked or self._exempt_level is not None
        rows: list[list[_Block]] = []
        for token in tokens:
            if token.type == "tr_open":
                rows.append([])
            elif token.type == "inline":
                rows[-1].append(self._inline(token, exempt=exempt))
        self.blocks += [cell for row in rows for cell in row]
        head = rows[0] if rows else []
        for row in rows[1:]:
            for title, cell in zip(head[1:], row[1:], strict=False):
                if PATTERN.fullmatch(cell.text.strip()):
                    named = f"{title.text.strip()} of {row[0].text.strip()} is {cell.text.strip()}"
                    self.blocks.append(replace(cell, text=named, breaks=[]))


class _Text(HTMLParser):
    """Writes what a reader sees of HTML into a block."""

    def __init__(self, block: _Block) -> None:
        super().__init__()
        self._block = block
        self._first = block.line
        self._silent = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Count what is not read; keep where links lead."""
        self._silent += tag in _SILENT
        self._block.links += [value for name, value in attrs if name == "href" and value]

    def handle_endtag(self, tag: str) -> None:
        """The other end; nothing is read from one block into the next."""
        self._silent = max(0, self._silent - (tag in _SILENT))
        self._block.text += OPAQUE if tag in _BLOCKS else ""

    def handle_data(self, data: str) -> None:
        """Text, line by line."""
        for number, part in enumerate(data.split("\n"), self._first + self.getpos()[0] - 1):
            self._block.breaks.append((len(self._block.text), number))
            self._block.text += OPAQUE if self._silent else f"{' '.join(part.split())} "


def _silences(tag: str) -> int:
    """1 where an inline tag begins something that is not read, -1 where it ends it."""
    name = re.match(r"<(/?)([a-zA-Z]+)", tag)
    if name is None or name[2].lower() not in _SILENT:
        return 0
    return -1 if name[1] else 1
