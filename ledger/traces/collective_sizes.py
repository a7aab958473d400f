"""What a collective moves, from the arguments and tensor shapes that its profiler recorded.

Counted is the full buffer, as nccl-tests has it: of an all-gather or a gather what all ranks together end up with, of a
reduce-scatter or a scatter what is there before it is shared out, of everything else what the rank gives.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ledger.traces.interface import ABSENT, Int64

_FLAT = ("gloo:", "nccl:", "mpi:", "ucc:", "xccl:")
"""Annotations of process groups: their inputs are the tensors, one after another."""
_PAIRED = ("gather", "scatter", "alltoall", "all_to_all")
"""In the names of c10d's operators whose arguments are (outputs, inputs, …)."""
_NO_TENSOR = ("", "Scalar", "ScalarList", "GenericList", "None", "Device")
_BETWEEN = "\0"
_ABSURD = 2**48
"""Elements that no tensor has."""
_SHARED_OUT = ("reduce_scatter", "scatter")
_COLLECTED = ("all_gather", "gather")


def mapped(column: pa.ChunkedArray, convert: Callable[[str], Any], kind: pa.DataType) -> pa.ChunkedArray:
    """`convert` of each text, called once for each different one; null stays null."""
    if isinstance(column.type, pa.DictionaryType):
        column = column.cast(pa.string())
    codes = column.combine_chunks().dictionary_encode()
    values = pa.array([convert(text) for text in codes.dictionary.to_pylist()], kind)
    return pa.chunked_array([values.take(codes.indices)])


def integers(column: pa.ChunkedArray) -> Int64:
    """Numbers, ABSENT where there are none."""
    return np.asarray(pc.fill_null(column.cast(pa.int64()), ABSENT).to_numpy(), dtype=np.int64)


def nullable(values: Int64) -> pa.Array:
    """Numbers, null where they are negative."""
    return pa.array(values, mask=values < 0)


def first_type(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The data type of the first tensor."""
    return mapped(column, _first_type, pa.string())


def shaped(calls: pa.Table) -> tuple[Int64, Int64]:
    """Elements that each call takes in and gives out by the shapes of its arguments, ABSENT where they do not tell."""
    texts = [calls[name].cast(pa.string()) for name in ("name", "shapes", "types")]
    key = pc.binary_join_element_wise(*(pc.fill_null(each, "") for each in texts), _BETWEEN)
    return integers(mapped(key, lambda text: _given(text)[0], pa.int64())), integers(
        mapped(key, lambda text: _given(text)[1], pa.int64())
    )


def full(operation: pa.ChunkedArray, taken: Int64, given: Int64, size: Int64) -> Int64:
    """Elements of the full buffer of collectives that take and give so many in a group of that size, or ABSENT."""
    collected, shared_out, received = (
        pc.is_in(operation, pa.array(names)).to_numpy() for names in (_COLLECTED, _SHARED_OUT, ("recv",))
    )
    whole = np.where(collected, given, taken)
    whole = np.where(received, np.maximum(taken, given), whole)
    whole = np.where((whole == ABSENT) & ~(collected | shared_out), given, whole)
    share = np.where(collected, taken, np.where(shared_out, given, ABSENT))
    counted = np.where((share >= 0) & (size > 0), share * size, ABSENT)
    rooted = pc.is_in(operation, pa.array(["gather", "scatter"])).to_numpy()  # one rank alone has the whole
    return np.asarray(np.where(rooted, np.maximum(whole, counted), np.where(whole < 0, counted, whole)), dtype=np.int64)


def _given(key: str) -> tuple[int | None, int | None]:
    """Elements in and out of a call by its name, shapes and types."""
    name, shapes, types = key.rsplit(_BETWEEN, 2)
    sizes = _sizes(_list(shapes), _list(types))
    if not sizes:
        return None, None
    if name.startswith(_FLAT):
        return (None if None in sizes else sum(each or 0 for each in sizes)), None
    if name.startswith("c10d::") and any(word in name for word in _PAIRED):
        return (sizes[1] if len(sizes) > 1 else None), sizes[0]
    return sizes[0], None


def _list(text: str) -> list[Any]:
    try:
        found = json.loads(text or "[]")
    except (ValueError, RecursionError):
        return []
    return found if isinstance(found, list) else []


def _sizes(shapes: list[Any], types: list[Any]) -> list[int | None]:
    """Elements of each argument; None of what is no tensor or whose shape is not recorded."""
    told = types if len(types) == len(shapes) else [None] * len(shapes)
    return [None if kind in _NO_TENSOR else _size(shape, kind) for shape, kind in zip(shapes, told, strict=True)]


def _size(shape: Any, kind: Any) -> int | None:
    """Elements of a tensor, or of a list of them together; an empty shape is a scalar's, or not recorded."""
    if not isinstance(shape, list) or (not shape and (kind is None or kind == "TensorList")):
        return None
    if shape and isinstance(shape[0], list):
        sizes = [_size(each, "") for each in shape]
        return None if None in sizes else sum(each or 0 for each in sizes)
    if not all(isinstance(each, int) and each >= 0 for each in shape):
        return None
    count = prod(shape)
    return count if count < _ABSURD else None


def _first_type(types: str) -> str | None:
    tensors = [each for each in _list(types) if isinstance(each, str) and each not in (*_NO_TENSOR, "TensorList")]
    return tensors[0] if tensors else None
