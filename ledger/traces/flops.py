"""Floating-point operations of host operators from the shapes that the profiler recorded.

Counts are those of the operation's definition (a multiply-add is two), as PyTorch's FLOP counter has them. Operators
that only call another counted one (linear, matmul) have no rule, so that nothing is counted twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

Shapes = Sequence[Sequence[int]]


def _mm(shapes: Shapes) -> int:
    (rows, inner), (_, columns) = shapes[0], shapes[1]
    return 2 * rows * inner * columns


def _bmm(shapes: Shapes) -> int:
    (batch, rows, inner), (_, _, columns) = shapes[0], shapes[1]
    return 2 * batch * rows * inner * columns


def _attention(query: Sequence[int], key: Sequence[int], value: Sequence[int], products: tuple[int, int]) -> int:
    """`products`: how many of the products have the depth of the keys, and how many that of the values."""
    return 2 * prod(query[:-1]) * key[-2] * (products[0] * key[-1] + products[1] * value[-1])


def _forward(shapes: Shapes) -> int:
    return _attention(shapes[0], shapes[1], shapes[2], (1, 1))


def _backward(shapes: Shapes) -> int:
    # The scores once more, then gradients of queries and keys; gradients of scores and values.
    return _attention(shapes[1], shapes[2], shapes[3], (3, 2))


_RULES: dict[str, Callable[[Shapes], int]] = {
    "aten::mm": _mm,
    "aten::addmm": lambda shapes: _mm(shapes[1:]),
    "aten::bmm": _bmm,
    "aten::baddbmm": lambda shapes: _bmm(shapes[1:]),
    "aten::_scaled_dot_product_flash_attention": _forward,
    "aten::_scaled_dot_product_efficient_attention": _forward,
    "aten::_scaled_dot_product_cudnn_attention": _forward,
    "aten::_scaled_dot_product_flash_attention_for_cpu": _forward,
    "aten::_scaled_dot_product_flash_attention_backward": _backward,
    "aten::_scaled_dot_product_efficient_attention_backward": _backward,
    "aten::_scaled_dot_product_cudnn_attention_backward": _backward,
    "aten::_scaled_dot_product_flash_attention_for_cpu_backward": _backward,
}


_BEYOND = frozenset(
    {
        "aten::convolution",  # stride, padding and dilation are not in the shapes
        "aten::convolution_backward",
        "aten::cudnn_convolution",
        "aten::_grouped_mm",
        "aten::_int_mm",
        "aten::_scaled_mm",
        "mkldnn::_linear_pointwise",
        "mkl::_mkl_linear",
        "_C::weight_packed_linear",
        "_C::onednn_mm",
    }
)


def has_rule(name: str) -> bool:
    """Whether operators of this name are counted."""
    return name in _RULES


def has_no_rule(name: str) -> bool:
    """Whether operators of this name do heavy arithmetic that shapes alone do not give, so that no total is true."""
    return name in _BEYOND


def count(name: str, shapes: Any) -> int | None:
    """Operations of one call, or None without a rule or with shapes that do not fit it."""
    try:
        found = _RULES[name](shapes)
    except (KeyError, TypeError, ValueError, IndexError):
        return None
    return found if isinstance(found, int) and 0 <= found < 2**62 else None
