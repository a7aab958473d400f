"""How many bytes of weights a decode iteration reads, from the shapes and types in a model's own files.

Formats: safetensors (https://huggingface.co/docs/safetensors) and GGUF
(https://github.com/ggml-org/ggml/blob/master/docs/gguf.md). No weight is read, only what the files say about them.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

PRECISIONS = {"float32": 4, "float16": 2, "half": 2, "bfloat16": 2}
"""Bytes of a weight that a server holds in a precision, however the file stores it."""
FLOATS = frozenset({"F64", "F32", "F16", "BF16"})
"""Stored types that are converted to the served precision; others are packed, and stay as they are."""
EMBEDDINGS = ("embed_tokens.weight", "wte.weight", "word_embeddings.weight", "token_embd.weight")
HEADS = frozenset({"lm_head.weight", "embed_out.weight", "output.weight"})
"""An output head of its own, by its whole name: `blk.0.attn_output.weight` is none."""
EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts", "expert_count")
MOST_HEADER = 512 * 2**20
"""Bytes of a header that are read."""

_GGUF_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_GGUF_STRING, _GGUF_ARRAY = 8, 9


def bytes_read(path: Path, precision: str) -> int | None:
    """Bytes of the weights of a folder in Hugging Face's layout, or of a GGUF file, that an iteration reads.

    None where the files do not say, and for a mixture of experts, which reads some of its weights only.
    """
    try:
        return _of_folder(path, precision) if path.is_dir() else _of_gguf(path)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, struct.error, MemoryError):
        return None


def _of_folder(path: Path, precision: str) -> int | None:
    config = json.loads((path / "config.json").read_bytes())
    if any((config.get(name) or 0) > 1 for name in EXPERTS):
        return None
    sizes: dict[str, int] = {}
    for file in sorted(path.glob("*.safetensors")):
        sizes |= _of_safetensors(file, PRECISIONS.get(precision))
    return _read_each_time(sizes)


def _of_safetensors(path: Path, served: int | None) -> dict[str, int]:
    """{tensor: bytes}, of floats in the served precision."""
    with path.open("rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        if length > MOST_HEADER:
            raise ValueError("the header is too long")
        header = json.loads(file.read(length))
    found = {}
    for name, tensor in header.items():
        if name == "__metadata__":
            continue
        first, last = tensor["data_offsets"]
        is_float = tensor["dtype"] in FLOATS and served is not None
        found[name] = math.prod(tensor["shape"]) * served if is_float and served else last - first
    return found


def _read_each_time(sizes: Mapping[str, int]) -> int | None:
    """All but an input embedding beside an output head of its own: of that a token looks up one row."""
    has_head = any(name in HEADS or name.endswith((".lm_head.weight", ".embed_out.weight")) for name in sizes)
    kept = [size for name, size in sizes.items() if not (has_head and name.endswith(EMBEDDINGS))]
    return sum(kept) or None


def _of_gguf(path: Path) -> int | None:
    with path.open("rb") as file:
        magic, version, tensors, keys = struct.unpack("<4sIQQ", file.read(24))
        if magic != b"GGUF" or version < 2:
            return None
        values = dict(_gguf_pair(file) for _ in range(keys))
        if any(name.endswith(EXPERTS) and isinstance(value, int) and value > 1 for name, value in values.items()):
            return None
        begins = dict(_gguf_tensor(file) for _ in range(tensors))
        alignment = int(values.get("general.alignment") or 32)
        data = -(-file.tell() // alignment) * alignment
        end = path.stat().st_size - data
    # Tensors lie one after another, each begun on a multiple of the alignment.
    order = sorted(begins, key=lambda name: begins[name])
    ends = [*(begins[name] for name in order[1:]), end]
    return _read_each_time({name: last - begins[name] for name, last in zip(order, ends, strict=True)})


def _gguf_pair(file: BinaryIO) -> tuple[str, Any]:
    name = _gguf_text(file)
    return name, _gguf_value(file, _number(file, "I"))


def _gguf_value(file: BinaryIO, kind: int) -> Any:
    """A number or a text; None for a list, which is passed over."""
    if kind == _GGUF_STRING:
        return _gguf_text(file)
    if kind != _GGUF_ARRAY:
        return _number(file, _GGUF_NUMBERS[kind])
    inner, count = _number(file, "I"), _number(file, "Q")
    if inner in _GGUF_NUMBERS:
        file.seek(count * struct.calcsize(f"<{_GGUF_NUMBERS[inner]}"), 1)
    else:
        for _ in range(count):
            _gguf_value(file, inner)
    return None


def _gguf_tensor(file: BinaryIO) -> tuple[str, int]:
    """(name, where its data begins)."""
    name = _gguf_text(file)
    file.seek(8 * _number(file, "I") + 4, 1)
    return name, _number(file, "Q")


def _gguf_text(file: BinaryIO) -> str:
    length = _number(file, "Q")
    if length > MOST_HEADER:
        raise ValueError("a text is too long")
    return file.read(length).decode(errors="replace")


def _number(file: BinaryIO, form: str) -> Any:
    return struct.unpack(f"<{form}", file.read(struct.calcsize(f"<{form}")))[0]
