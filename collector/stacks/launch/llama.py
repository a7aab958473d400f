"""A Llama-style decoder: RMS norms, rotary positions, causal attention, SwiGLU; no biases, input and output untied."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional


def rotary_tables(length: int, head_dim: int, base: float = 10_000.0) -> tuple[Tensor, Tensor]:
    """Cosines and sines of the rotary angles, each (length, head_dim)."""
    frequencies = base ** (-torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim)
    angles = torch.outer(torch.arange(length, dtype=torch.float64), frequencies).repeat(1, 2)
    return angles.cos().float(), angles.sin().float()


def rotate(states: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """Rotate (batch, heads, length, head_dim) by position."""
    first, second = states.chunk(2, dim=-1)
    return states * cosine + torch.cat((-second, first), dim=-1) * sine


def explicit_attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Causal attention as written in the textbook: the whole length x length matrix is held in memory."""
    length = query.shape[-2]
    mask = torch.ones(length, length, dtype=torch.bool, device=query.device).triu(1)
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    return scores.masked_fill(mask, -math.inf).softmax(dim=-1) @ value


def fused_attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Causal attention by PyTorch's fused kernel, which never holds the whole matrix."""
    return functional.scaled_dot_product_attention(query, key, value, is_causal=True)


ATTENTION = {"sdpa": fused_attention, "math": explicit_attention}


class Attention(nn.Module):
    """Multi-head causal self-attention with rotary positions."""

    def __init__(self, hidden_size: int, heads: int, kind: str) -> None:
        super().__init__()
        self.heads = heads
        self.attend = ATTENTION[kind]
        self.query, self.key, self.value, self.out = (nn.Linear(hidden_size, hidden_size, bias=False) for _ in range(4))

    def forward(self, hidden: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
        """(batch, length, hidden) to the same."""
        query, key, value = (
            project(hidden).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for project in (self.query, self.key, self.value)
        )
        mixed = self.attend(
            rotate(query, cosine, sine).to(value.dtype), rotate(key, cosine, sine).to(value.dtype), value
        )
        return self.out(mixed.transpose(1, 2).flatten(-2))


class FeedForward(nn.Module):
    """SwiGLU."""

    def __init__(self, hidden_size: int, intermediate_size: int) -> None:
        super().__init__()
        self.gate = nn.Linear(hidden_size, intermediate_size, bias=False)
        self.up = nn.Linear(hidden_size, intermediate_size, bias=False)
        self.out = nn.Linear(intermediate_size, hidden_size, bias=False)

    def forward(self, hidden: Tensor) -> Tensor:
        """(batch, length, hidden) to the same."""
        return self.out(functional.silu(self.gate(hidden)) * self.up(hidden))


class Block(nn.Module):
    """One decoder layer, normalised before each half."""

    def __init__(self, config: dict[str, Any], attention: str) -> None:
        super().__init__()
        hidden_size = config["hidden_size"]
        self.attention_norm = nn.RMSNorm(hidden_size, eps=1e-5)
        self.attention = Attention(hidden_size, config["heads"], attention)
        self.feed_forward_norm = nn.RMSNorm(hidden_size, eps=1e-5)
        self.feed_forward = FeedForward(hidden_size, config["intermediate_size"])

    def forward(self, hidden: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
        """(batch, length, hidden) to the same."""
        hidden = hidden + self.attention(self.attention_norm(hidden), cosine, sine)
        return hidden + self.feed_forward(self.feed_forward_norm(hidden))


class Llama(nn.Module):
    """The decoder with its loss. `config` holds layers, hidden_size, heads, intermediate_size and vocabulary_size."""

    cosine: Tensor
    sine: Tensor

    def __init__(self, config: dict[str, Any], sequence_length: int, attention: str) -> None:
        super().__init__()
        hidden_size, vocabulary = config["hidden_size"], config["vocabulary_size"]
        self.embedding = nn.Embedding(vocabulary, hidden_size)
        self.blocks = nn.ModuleList(Block(config, attention) for _ in range(config["layers"]))
        self.norm = nn.RMSNorm(hidden_size, eps=1e-5)
        self.head = nn.Linear(hidden_size, vocabulary, bias=False)
        cosine, sine = rotary_tables(sequence_length, hidden_size // config["heads"])
        self.register_buffer("cosine", cosine, persistent=False)
        self.register_buffer("sine", sine, persistent=False)

    @torch.no_grad()
    def initialise(self, seed: int) -> None:
        """Normal(0, 0.02) weights from `seed`; what ends a residual branch is divided by sqrt(2 x layers)."""
        generator = torch.Generator().manual_seed(seed)
        for name, weight in sorted(self.named_parameters()):
            if weight.dim() == 1:
                weight.fill_(1.0)
                continue
            scale = 0.02 / math.sqrt(2 * len(self.blocks)) if name.endswith("out.weight") else 0.02
            weight.normal_(0.0, scale, generator=generator)

    def forward(self, inputs: Tensor, targets: Tensor) -> Tensor:
        """Mean cross-entropy in nats of (batch, length) token ids against the ids that follow them."""
        hidden = self.embedding(inputs)
        for block in self.blocks:
            hidden = block(hidden, self.cosine, self.sine)
        logits = self.head(self.norm(hidden))
        return functional.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())
