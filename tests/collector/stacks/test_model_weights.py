"""Bytes of weights from models' own files, written here with known sizes."""

from __future__ import annotations

import json
import math
import struct
from pathlib import Path
from typing import Any

import pytest

from collector.stacks.model_weights import bytes_read

SIZES = {"F32": 4, "BF16": 2, "I32": 4}
TENSORS = {"model.embed_tokens.weight": ("BF16", [100, 8]), "model.layers.0.up.weight": ("BF16", [16, 8])}
HEAD = {"lm_head.weight": ("BF16", [100, 8])}


def folder(path: Path, tensors: dict[str, tuple[str, list[int]]], **config: Any) -> Path:
    """A folder in Hugging Face's layout with one safetensors file."""
    path.mkdir(parents=True, exist_ok=True)
    (path / "config.json").write_text(json.dumps(config))
    header, place = {"__metadata__": {"format": "pt"}}, 0
    for name, (dtype, shape) in tensors.items():
        size = math.prod(shape) * SIZES[dtype]
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [place, place + size]}
        place += size
    text = json.dumps(header).encode()
    (path / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + bytes(place))
    return path


def text(words: str) -> bytes:
    return struct.pack("<Q", len(words)) + words.encode()


def gguf(path: Path, tensors: dict[str, int], **numbers: int) -> Path:
    """A GGUF file of tensors of these sizes, with a list and a text among its keys."""
    keys = [
        text("general.name") + struct.pack("<I", 8) + text("tiny"),
        text("tokens") + struct.pack("<IIQ", 9, 8, 2) + text("a") + text("bc"),
        text("scores") + struct.pack("<IIQ", 9, 6, 3) + bytes(12),
        *(text(name.replace("__", ".")) + struct.pack("<II", 4, value) for name, value in numbers.items()),
    ]
    infos, data = b"", b""
    for name, size in tensors.items():
        infos += text(name) + struct.pack("<IQQIQ", 2, size, 1, 0, len(data))
        data += bytes(size + -size % 32)
    head = struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), len(keys)) + b"".join(keys) + infos
    path.write_bytes(head + bytes(-len(head) % 32) + data)
    return path


@pytest.mark.parametrize(("precision", "size"), [("bfloat16", 2), ("float32", 4), ("float16", 2), ("as it is", 2)])
def test_floats_are_served_in_the_precision_that_is_asked_for(tmp_path: Path, precision: str, size: int) -> None:
    assert bytes_read(folder(tmp_path, TENSORS), precision) == (800 + 128) * size


def test_an_embedding_beside_a_head_is_only_looked_up(tmp_path: Path) -> None:
    assert bytes_read(folder(tmp_path, {**TENSORS, **HEAD}), "bfloat16") == (800 + 128) * 2


def test_packed_weights_stay_as_they_are(tmp_path: Path) -> None:
    packed = {"model.layers.0.up.qweight": ("I32", [4, 8]), "model.layers.0.up.scales": ("BF16", [4, 8])}
    assert bytes_read(folder(tmp_path, packed), "float32") == 4 * 8 * 4 + 4 * 8 * 4


def test_a_gguf_file_tells_where_each_tensor_begins(tmp_path: Path) -> None:
    tied = gguf(tmp_path / "tied.gguf", {"token_embd.weight": 640, "blk.0.ffn_up.weight": 320})
    assert bytes_read(tied, "Q4_1") == 960
    own = gguf(tmp_path / "own.gguf", {"output.weight": 640, "token_embd.weight": 640, "blk.0.ffn_up.weight": 320})
    assert bytes_read(own, "Q4_1") == 960


@pytest.mark.parametrize("other", ["output_norm.weight", "blk.0.attn_output.weight"])
def test_what_only_ends_alike_is_no_head(tmp_path: Path, other: str) -> None:
    found = gguf(tmp_path / "m.gguf", {"token_embd.weight": 640, other: 64})
    assert bytes_read(found, "Q4_1") == 704


def test_a_mixture_of_experts_has_no_such_number(tmp_path: Path) -> None:
    assert bytes_read(folder(tmp_path / "moe", TENSORS, num_local_experts=8), "bfloat16") is None
    assert bytes_read(gguf(tmp_path / "m.gguf", {"blk.0.weight": 64}, llama__expert_count=8), "Q4_1") is None
    assert bytes_read(gguf(tmp_path / "d.gguf", {"blk.0.weight": 64}, llama__expert_count=0), "Q4_1") == 64


@pytest.mark.parametrize("content", [b"", b"GGUF", b"not a model", struct.pack("<4sIQQ", b"GGUF", 3, 1, 2**60)])
def test_what_is_no_model_has_no_weights(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(content)
    assert bytes_read(path, "Q4_1") is None
    assert bytes_read(tmp_path / "nowhere.gguf", "Q4_1") is None
    broken = folder(tmp_path / "broken", TENSORS)
    (broken / "model.safetensors").write_bytes(content)
    assert bytes_read(broken, "float32") is None
