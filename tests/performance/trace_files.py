"""Profiler files of any number of events that say what is known beforehand: .json.gz and .json, a rank each.

    python tests/performance/trace_files.py FOLDER --events 1e6

Half of the file comes first: what the host did, then the runtime calls, the device's work and the arrows between them,
as the profiler orders them. The plan is made twice, so that no more than one step of it is ever in memory.
"""

from __future__ import annotations

import argparse
import io
import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from isal import igzip

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.performance import kineto_layout as layout
from tests.performance import workload
from tests.performance.kineto_layout import AUTOGRAD, MAIN, NCCL, microseconds
from tests.performance.workload import Op, Piece, Plan, Step, Totals

STEPS = 8
_START = 5_214_648_900_868_378
_FLUSH = 2**20


@dataclass(frozen=True)
class Shape:
    """What a file is to hold."""

    events: int
    """Entries of any kind."""
    ranks: int = 1
    seed: int = 0
    shapes: bool = True
    """Whether operators carry the shapes of their inputs."""
    python: bool = False
    """Whether there are Python frames."""

    @property
    def world_size(self) -> int:
        """Of the run: a trace of one rank is one of two."""
        return max(self.ranks, 2)


@dataclass(frozen=True)
class Promise:
    """What one rank's file says, by construction."""

    rank: int
    events: int
    timed: int
    """Entries with a duration."""
    memory: int
    """Allocations and frees."""
    characters: int
    """Of the file, unpacked."""
    steps: tuple[Totals, ...]


class _Texts:
    """Templates and how many entries they stand for."""

    def __init__(self, shape: Shape, rank: int) -> None:
        self.shape, self.device = shape, rank % 8
        self.host = {id(op): self._host(op) for op in _OPS}
        self.launch = {id(op): self._launch(op) for op in _OPS}
        self.allocation = layout.allocation(self.device)
        self.linked = {end: layout.flow(end, "fwdbwd", AUTOGRAD if end == "f" else MAIN) for end in "sf"}

    def _host(self, op: Op) -> str:
        tid = AUTOGRAD if op.backward else MAIN
        texts = []
        for name, dims in op.chain:
            noted = layout.recorded(dims) if self.shape.shapes and dims else ""
            if name == "record_param_comms":
                noted += layout.collective(workload.ELEMENTS, self.shape.world_size)[2:] + ", "
            marked = name.startswith(("nccl:", "enumerate("))
            texts.append(layout.operator(name, tid, noted, "user_annotation" if marked else "cpu_op"))
        return "".join(texts)

    def _launch(self, op: Op) -> str:
        tid = AUTOGRAD if op.backward else MAIN
        name = "cudaStreamIsCapturing" if op.device else "cudaStreamSynchronize"
        texts = [layout.runtime(name, 317 if op.device else 131, tid)] * op.queries
        if not op.device:
            return "".join(texts)
        stream = NCCL if op is workload.COLLECTIVE else layout.COMPUTE
        if op.kind == "copy":
            filled = op.device.startswith("Memset")
            texts.append(layout.copy("gpu_memset" if filled else "gpu_memcpy", op.device, self.device, 131_072))
            called = ("cudaMemsetAsync", 51) if filled else ("cudaMemcpyAsync", 41)
        else:
            noted = layout.collective(workload.ELEMENTS, self.shape.world_size) if stream == NCCL else ""
            texts.append(layout.kernel(op.device, self.device, stream, op.grid, op.block, noted))
            called = ("cudaLaunchKernelExC", 430)
        texts += [layout.flow("f", "ac2g", stream, self.device), layout.runtime(*called, tid)]
        texts.append(layout.flow("s", "ac2g", tid))
        if stream == NCCL:
            texts.append(layout.timed("gpu_user_annotation", "nccl:all_reduce", NCCL, '"External id": %d', self.device))
        return "".join(texts)


_OPS = tuple({id(op): op for op in (
    workload.INPUT, workload.UPLOAD, workload.CLEAR, *workload.FORWARD, workload.SUM, *workload.BACKWARD,
    workload.COLLECTIVE, workload.SYNC, *workload.OPTIMIZER,
)}.values())  # fmt: skip


class _Rank:
    """One rank's file on its way."""

    def __init__(self, shape: Shape, rank: int) -> None:
        self.shape, self.rank = shape, rank
        self.texts = _Texts(shape, rank)
        self.timed = self.memory = 0
        self.totals: list[Totals] = []
        layers, self._padding = self._layers()
        self._plan = Plan(shape.seed, rank, layers, _START + 100_000)
        self._event = 0
        self._in_use = 2**31
        self._frames = 0

    def _layers(self) -> tuple[list[int], int]:
        """How many layers each step has, and how many entries are then still to be written."""
        layer = sum(map(self._entries, (*workload.FORWARD, *workload.BACKWARD)))
        layer += len(workload.COVERING) * self._entries(workload.COLLECTIVE)
        once = (workload.INPUT, workload.UPLOAD, workload.CLEAR, *(workload.SUM,) * 2, workload.SYNC)
        rest = self.shape.events - len(layout.metadata("0", 0)) - 4
        rest -= STEPS * (2 + sum(map(self._entries, (*once, *workload.OPTIMIZER))))
        count, rest = divmod(rest, layer)
        if count < STEPS:
            least = self.shape.events + (STEPS - count) * layer
            raise ValueError(f"{self.shape.events} events are too few for {STEPS} steps; about {least} are enough")
        each, more = divmod(count, STEPS)
        return [each + (number < more) for number in range(STEPS)], rest

    def _entries(self, op: Op) -> int:
        host = len(op.chain) + bool(op.memory) + _linked(op)
        frames = 2 * bool(self.shape.python and op.frame)
        return host + frames + op.queries + 4 * bool(op.device) + (op is workload.COLLECTIVE)

    def text(self) -> Iterator[str]:
        """The file, some lines at a time."""
        yield layout.head(self.rank, self.shape.world_size, self.shape.shapes)
        yield from layout.metadata(microseconds(_START), self.texts.device)
        ends = _START
        for step in self._plan:
            self.totals.append(step.totals)
            ends = step.totals.annotated[1]
            yield from self._host_side(step)
        at = microseconds(ends)
        for _ in range(self._padding):
            yield self._allocated(at, 512)
        for step in self._plan:
            for piece in step.pieces:
                yield self._device_side(piece)
        events, after = layout.tail(
            microseconds(_START), microseconds(ends - _START), microseconds(ends + 10**6), f"rank{self.rank}.json"
        )
        self.timed += 1
        yield from events
        yield after

    def promise(self, characters: int) -> Promise:
        """What the text said, once it is all made."""
        return Promise(self.rank, self.shape.events, self.timed, self.memory, characters, tuple(self.totals))

    def _host_side(self, step: Step) -> Iterator[str]:
        begins, ends = step.totals.annotated
        yield self._annotation(f"ProfilerStep#{step.totals.number}", begins, ends)
        optimizer = self._annotation("Optimizer.step#AdamW.step", *step.optimizer)
        links: list[int] = []
        for piece in step.pieces:
            if piece.op is workload.ADAM and optimizer:
                yield optimizer
                optimizer = ""
            yield self._called(piece, links)

    def _annotation(self, name: str, begins: int, ends: int) -> str:
        self.timed += 1
        self._event += 1
        text = layout.operator(name, MAIN, "", "user_annotation")
        return text % (microseconds(begins), microseconds(ends - begins), 2**30 + self._event, 0, self._event)

    def _called(self, piece: Piece, links: list[int]) -> str:
        """An operator with what it calls, its Python frames, memory and link between forward and backward."""
        op, event = piece.op, self._event
        begins, lasts = _on_host(piece)
        values: list[Any] = []
        for depth, (name, _) in enumerate(op.chain):
            values += (microseconds(begins + 50 * depth), microseconds(lasts - 100 * depth))
            values += (piece.external + depth, event + depth)
            if name == "record_param_comms":
                values.append(piece.correlation + op.queries)  # its sequence number
            values.append(event + depth)
        self._event += len(op.chain)
        self.timed += len(op.chain)
        text = self.texts.host[id(op)] % tuple(values)
        if self.shape.python and op.frame:
            text += self._framed(op, begins - 20, lasts + 40)
        if _linked(op):
            if op.frame:
                links.append(piece.external)
            link = piece.external if op.frame else links.pop()
            text += self.texts.linked["s" if op.frame else "f"] % (link, microseconds(begins))
        return text + self._allocated(microseconds(begins + 200), op.memory) if op.memory else text

    def _framed(self, op: Op, begins: int, lasts: int) -> str:
        first = self._frames + 1
        self._frames += 2
        self.timed += 2
        texts = []
        for depth, name in enumerate((op.frame, "torch/nn/modules/module.py(1780): _wrapped_call_impl")):
            self._event += 1
            times = microseconds(begins + 5 * depth), microseconds(lasts - 10 * depth)
            texts.append(layout.frame(name) % (*times, first + depth - 1, first + depth, self._event))
        return "".join(texts)

    def _allocated(self, at: str, size: int) -> str:
        self._in_use += size
        self.memory += 1
        self._event += 1
        return self.texts.allocation % (at, self._in_use, size, 2**47 + self._in_use, self._event)

    def _device_side(self, piece: Piece) -> str:
        """The runtime calls of an operator, and what they launched."""
        op, external, correlation = piece.op, piece.external + len(piece.op.chain) - 1, piece.correlation
        begins, lasts = _on_host(piece)
        values: list[Any] = []
        for query in range(op.queries):
            asks = begins + 300 + 200 * query if op.device else begins + 200
            values += (microseconds(asks), "0.190" if op.device else microseconds(lasts - 400), external, correlation)
            correlation += 1
        self.timed += op.queries
        if op.device:
            start, at = microseconds(piece.start), microseconds(piece.start - workload.LAUNCH)
            work = (start, microseconds(piece.duration), external)
            beside = op is workload.COLLECTIVE
            values += (*work, correlation, *[correlation] * beside)  # its sequence number
            values += (correlation, start, at, "0.700", external, correlation, correlation, at)
            values += work * beside  # the annotation over it
            self.timed += 2 + beside
        return self.texts.launch[id(op)] % tuple(values)


def _linked(op: Op) -> bool:
    """Whether an arrow links it with its other half, forward or backward."""
    return bool(op.frame) or (op.backward and op is not workload.COLLECTIVE)


def _on_host(piece: Piece) -> tuple[int, int]:
    """When an operator begins on the host, and how long it lasts."""
    if not piece.op.device:
        return piece.start, piece.duration
    if piece.op is workload.COLLECTIVE:
        return piece.start - workload.COMMUNICATION_AFTER + 100, 2000
    return piece.start - workload.HOST, workload.HOST - workload.ENDS


def write(folder: Path, shape: Shape, plain: bool = False) -> list[Promise]:
    """packed/rank-N.json.gz a rank, with `plain` also plain/rank-N.json, and last of all promise.json.

    Returns a promise each. Raises ValueError when there are too few events for the steps.
    """
    for name in ("packed", "plain"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    promises = [_write_rank(folder, _Rank(shape, rank), plain) for rank in range(shape.ranks)]
    (folder / "promise.json").write_text(json.dumps([asdict(promise) for promise in promises]))
    return promises


def _write_rank(folder: Path, rank: _Rank, plain: bool) -> Promise:
    name, characters = f"rank-{rank.rank}.json", 0
    with ExitStack() as stack:
        packed = folder / "packed" / f"{name}.gz"
        files: list[Any] = [stack.enter_context(igzip.open(packed, "wb", compresslevel=1))]
        if plain:
            files.append(stack.enter_context((folder / "plain" / name).open("wb")))
        for block in _blocks(rank.text()):
            characters += len(block)
            for file in files:
                file.write(block)
    return rank.promise(characters)


def _blocks(texts: Iterable[str]) -> Iterator[bytes]:
    held = io.StringIO()
    for text in texts:
        held.write(text)
        if held.tell() > _FLUSH:
            yield held.getvalue().encode()
            held = io.StringIO()
    yield held.getvalue().encode()


def main() -> None:
    """Write the files that the arguments name."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--events", type=lambda text: int(float(text)), default=100_000)
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-shapes", action="store_true", help="without the shapes of the operators' inputs")
    parser.add_argument("--python", action="store_true", help="with Python frames")
    parser.add_argument("--plain", action="store_true", help="unpacked files, too")
    asked = parser.parse_args()
    shape = Shape(asked.events, asked.ranks, asked.seed, not asked.no_shapes, asked.python)
    for promise in write(asked.folder, shape, asked.plain):
        size = promise.characters / promise.events
        print(f"rank {promise.rank}: {promise.events:,} events, {promise.characters:,} characters, {size:.0f} an event")


if __name__ == "__main__":
    main()
