"""A harness without a model: tries small changes to the file that a task names until its tests pass.

Deterministic: one change at a time, in the order of the source, each judged by the task's visible check. What needs two
changes, or a line more, is beyond it.
"""

from __future__ import annotations

import ast
import itertools
import sys
from collections.abc import Iterator

import workplace

COMPARISONS = {"<": ("<=", ">", "=="), "<=": ("<", ">=", "=="), ">": (">=", "<", "=="), ">=": (">", "<=", "=="),
               "==": ("!=", "<=", ">="), "!=": ("==",)}  # fmt: skip
ARITHMETIC = {"+": ("-",), "-": ("+",), "*": ("//",), "//": ("*", "%"), "/": ("*",), "%": ("//",)}
SYMBOLS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=", ast.Add: "+",
           ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Div: "/", ast.Mod: "%"}  # fmt: skip
CHECK_S = 5.0


def main() -> int:
    """Repair the file in the place to work; what is left unsolved stays as it was."""
    task = workplace.task()
    path = workplace.named_file(task["prompt"])
    source = path.read_text()
    tried = 0
    for changed in mutations(source):
        tried += 1
        path.write_text(changed)
        if workplace.check(task["visible_check"], CHECK_S)[0]:
            workplace.answer(f"change {tried} passes the visible check\n")
            return 0
    path.write_text(source)
    workplace.answer(f"none of {tried} changes passes the visible check\n")
    return 0


def mutations(source: str) -> Iterator[str]:
    """The source with one small change, for every place and change that is known."""
    lines = source.encode().splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    data = b"".join(lines)
    seen = {source}
    for first, last, new in sorted(changes(ast.parse(source), starts, data)):
        changed = (data[:first] + new.encode() + data[last:]).decode()
        if changed not in seen:
            seen.add(changed)
            yield changed


def changes(tree: ast.AST, starts: list[int], data: bytes) -> Iterator[tuple[int, int, str]]:
    """(first byte, byte after the last, new text) of every change."""

    def span(node: ast.AST) -> tuple[int, int]:
        return (
            starts[node.lineno - 1] + node.col_offset,  # type: ignore[attr-defined]
            starts[node.end_lineno - 1] + node.end_col_offset,  # type: ignore[attr-defined]
        )

    for node in ast.walk(tree):
        match node:
            case ast.Compare(left=left, ops=[operator], comparators=[right]):
                yield from swaps(data, span(left)[1], span(right)[0], operator, COMPARISONS)
            case ast.BinOp(left=left, op=operator, right=right):
                yield from swaps(data, span(left)[1], span(right)[0], operator, ARITHMETIC)
                yield (*span(node), data[slice(*span(left))].decode())
            case ast.BoolOp(op=operator, values=values):
                old, new = ("and", "or") if isinstance(operator, ast.And) else ("or", "and")
                for before, after in itertools.pairwise(values):
                    first, last = span(before)[1], span(after)[0]
                    yield first, last, data[first:last].decode().replace(old, new)
            case ast.UnaryOp(op=ast.USub() | ast.Not(), operand=operand):
                yield (*span(node), data[slice(*span(operand))].decode())
            case ast.Constant(value=bool(value)):
                yield (*span(node), str(not value))
            case ast.Constant(value=int(value)):
                for other in (value + 1, value - 1):
                    yield (*span(node), str(other))
            case ast.Name(ctx=ast.Load()) | ast.Call() | ast.Subscript(ctx=ast.Load()):
                text = data[slice(*span(node))].decode()
                for wrapped in (f"{text} + 1", f"{text} - 1", f"-{text}", f"abs({text})"):
                    yield (*span(node), f"({wrapped})")
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "sorted":
                    yield span(node)[1] - 1, span(node)[1] - 1, ", reverse=True"


def swaps(
    data: bytes, first: int, last: int, operator: ast.AST, known: dict[str, tuple[str, ...]]
) -> Iterator[tuple[int, int, str]]:
    """An operator between two places, and what could stand there instead."""
    symbol = SYMBOLS.get(type(operator), "")
    between = data[first:last].decode()
    for other in known.get(symbol, ()):
        yield first, last, between.replace(symbol, other, 1)


if __name__ == "__main__":
    sys.exit(main())
