"""YAML files that remember where each key stands, so that an error can name its line."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from ledger.errors import InputError

Location = tuple[str | int, ...]

_DEEPEST = 50
_MOST_VALUES = 100_000
"""Far beyond any file that people write: what nests deeper, or repeats itself into more, is made to do harm."""
_NO_TEXT = re.compile("[\x00\ud800-\udfff]")
_KINDS = frozenset(f"tag:yaml.org,2002:{kind}" for kind in ("null", "bool", "int", "float", "str", "seq", "map"))
"""What a value may be: the kinds that JSON knows too."""


class _Loader(yaml.SafeLoader):
    """SafeLoader that keeps dates as text and refuses what no file here needs.

    That is a key that stands twice or is no plain text, a tag such as `!!set`, and nesting without an end.
    """

    _depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self._depth == _DEEPEST:
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise yaml.composer.ComposerError(None, None, f"nests deeper than {_DEEPEST} levels", mark)
        self._depth += 1
        try:
            return super().compose_node(parent, index)
        finally:
            self._depth -= 1

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.constructor.ConstructorError(
                    None, None, "a key must be plain text, not a list or mapping", key.start_mark
                )
            if key.value in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key.value!r} stands twice", key.start_mark
                )
            seen.add(key.value)
        return super().construct_mapping(node, deep)

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        if node.tag not in _KINDS:
            kind = node.tag.replace("tag:yaml.org,2002:", "!!")
            raise yaml.constructor.ConstructorError(None, None, f"the tag {kind} has no meaning here", node.start_mark)
        try:
            value = super().construct_object(node, deep)
        except (ValueError, KeyError, IndexError, AttributeError) as error:
            # PyYAML's own constructors break on text that its tag does not fit, such as `!!bool foo`.
            kind = node.tag.replace("tag:yaml.org,2002:", "!!")
            what = f"{str(node.value)[:60]!r} is no {kind}"
            raise yaml.constructor.ConstructorError(None, None, what, node.start_mark) from error
        if isinstance(value, str) and _NO_TEXT.search(value):
            what = f"{value[:60]!r} holds a NUL or half a character, which neither a file name nor a program can take"
            raise yaml.constructor.ConstructorError(None, None, what, node.start_mark)
        return value


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


@dataclass(frozen=True)
class YamlFile:
    """A parsed file: its path, exact text (line ends too), plain data, and the line of every key and list item."""

    path: Path
    text: str
    data: Any
    lines: dict[Location, int] = field(repr=False)

    def where(self, location: Location = ()) -> str:
        """`file:line` of the nearest part of `location` that the file holds."""
        for length in range(len(location), -1, -1):
            if location[:length] in self.lines:
                return f"{self.path}:{self.lines[location[:length]]}"
        return str(self.path)


def read_yaml(path: Path) -> YamlFile:
    """Read one YAML file whose top level is a mapping. Raises InputError with the line."""
    try:
        text = path.read_bytes().decode()
    except FileNotFoundError:
        raise InputError("no such file", where=str(path), todo="check the path") from None
    except IsADirectoryError:
        raise InputError("is a folder, not a file", where=str(path), todo="name the YAML file itself") from None
    except UnicodeDecodeError:
        raise InputError("is not UTF-8 text", where=str(path), todo="save it as UTF-8") from None
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", where=str(path), todo="check its permissions") from None
    return parse_yaml(text, path)


def parse_yaml(text: str, path: Path) -> YamlFile:
    """Parse `text` that came from `path`. Raises InputError with the line."""
    try:
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
            data = loader.construct_document(node) if node is not None else None
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{path}:{mark.line + 1}" if mark else str(path)
        raise InputError(f"is not valid YAML ({error.problem})", where=where, todo="correct the line") from None
    except (yaml.YAMLError, ValueError) as error:
        raise InputError(f"is not valid YAML ({error})", where=str(path), todo="correct the file") from None
    if node is None or not isinstance(data, dict):
        kind = "empty" if data is None else f"a {type(data).__name__}"
        raise InputError(
            f"must be a mapping of keys to values, got {kind}", where=str(path), todo="write 'key: value' lines"
        )
    lines: dict[Location, int] = {}
    _note_lines(node, (), lines, set())
    if len(lines) > _MOST_VALUES:
        raise InputError(
            f"holds more than {_MOST_VALUES:,} values, its anchors repeated", where=str(path), todo="write less in it"
        )
    return YamlFile(path, text, data, lines)


def _note_lines(node: yaml.Node, location: Location, lines: dict[Location, int], above: set[int]) -> None:
    lines.setdefault(location, node.start_mark.line + 1)
    if id(node) in above or len(lines) > _MOST_VALUES:
        return
    above = above | {id(node)}
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            lines[(*location, key.value)] = key.start_mark.line + 1
            _note_lines(value, (*location, key.value), lines, above)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            _note_lines(value, (*location, index), lines, above)
