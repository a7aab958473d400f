"""Mangled C++ names as far as a kernel needs: its qualified name, and the names in its template arguments.

The Itanium ABI, https://itanium-cxx-abi.github.io/cxx-abi/abi.html#mangling. This is no demangler: types, substitutions
and literals are passed over, so that what is left is `namespace::kernel<namespace::Functor, …>` without parameters.
"""

from __future__ import annotations

import re

_TOKEN = re.compile(
    r"(?P<length>\d+)|(?P<passed>L[a-z]n?\d*E|S[0-9A-Z]*_|S[absiodt]|T[0-9A-Z]*_|DF\d+[_bx]?|Dv\d+_|A\d+_)"
    r"|(?P<nested>N[rVK]*)|(?P<arguments>[IJ])|(?P<held>[FXL]|Ul)|(?P<end>E)|(?P<other>.)",
    re.DOTALL,
)
_MANGLED = re.compile(r"_?_Z[NK\dL]")
_ANONYMOUS = re.compile(r"_GLOBAL__N_|_INTERNAL_")


def readable(name: str) -> str:
    """The qualified name behind a mangled one, with the names among its template arguments in <>. A name that is not
    mangled, or broken before its first word, is given back as it is."""
    if not _MANGLED.match(name):
        return name
    return _Reader(name[name.index("_Z") + 2 :]).read() or name


class _Reader:
    """The state of `readable`, a token at a time."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._found: list[str] = []
        self._open: list[str] = []
        """What each E to come closes: N a qualified name, I arguments, else something without a name."""
        self._joined = False
        """Whether the next word continues a qualified name."""

    def read(self) -> str:
        place = 0
        while token := _TOKEN.match(self._text, place):
            place = token.end()
            kind = str(token.lastgroup)
            if kind == "length" and self._inside() != "L":
                place = self._word(place, int(token["length"][:6]))
            elif kind == "arguments":
                if not self._found:
                    break
                self._opens("I", "<")
            elif kind == "nested":
                self._opens("N", "," if self._open else "")
            elif kind == "held" and self._open:
                self._opens(token["held"], "")
            elif kind == "end":
                self._closes()
            if not self._open and kind not in {"length", "passed"}:
                break
        return re.sub(r"(?<=<),+|,+(?=>)|^,+|,+$|(?<=,),+", "", "".join(self._found)).replace("<>", "")

    def _inside(self) -> str:
        return self._open[-1] if self._open else ""

    def _word(self, place: int, length: int) -> int:
        word = self._text[place : place + length]
        if word and not _ANONYMOUS.match(word):
            self._found.append(f"::{word}" if self._joined else f",{word}" if self._open else word)
            self._joined = self._inside() == "N"
        return place + len(word)

    def _opens(self, what: str, written: str) -> None:
        self._open.append(what)
        self._found.append(written)
        self._joined = False

    def _closes(self) -> None:
        self._joined = False
        if self._open and self._open.pop() == "I":
            self._found.append(">")
            self._joined = self._inside() == "N"
