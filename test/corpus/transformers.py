"""Attention, and the blocks of well-known transformers."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention


class SelfAttention(nn.Module):
    """Multi-head attention with one projection for queries, keys and values."""

    def __init__(self, width: int, heads: int, causal: bool = False) -> None:
        super().__init__()
        self.heads = heads
        self.causal = causal
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        split = (batch, length, self.heads, width // self.heads)
        q, k, v = (t.view(split).transpose(1, 2) for t in self.qkv(x).split(width, dim=2))
        y = scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.out(y.transpose(1, 2).reshape(batch, length, width))


class Gpt2Block(nn.Module):
    """GPT-2's block: norm, causal attention, norm, MLP with tanh-GELU."""

    def __init__(self, width: int = 768, heads: int = 12) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = SelfAttention(width, heads, causal=True)
        self.norm2 = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Gpt2(nn.Module):
    """A small GPT-2: token and position embeddings, blocks, tied output projection."""

    def __init__(self, vocabulary: int, length: int, width: int, heads: int, layers: int) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(length, width)
        self.blocks = nn.Sequential(*[Gpt2Block(width, heads) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, tokens: Tensor) -> Tensor:
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.tokens(tokens) + self.positions(positions)
        return self.head(self.norm(self.blocks(x)))


class RotaryEmbedding(nn.Module):
    """Rotates pairs of channels by an angle that grows with the position."""

    def __init__(self, width: int, length: int) -> None:
        super().__init__()
        frequency = 1.0 / 10000.0 ** (torch.arange(0, width, 2).float() / width)
        angle = torch.outer(torch.arange(length).float(), frequency)
        self.register_buffer("cos", torch.cat([angle, angle], -1).cos(), persistent=False)
        self.register_buffer("sin", torch.cat([angle, angle], -1).sin(), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        length = x.shape[-2]
        low, high = x.chunk(2, -1)
        turned = torch.cat([-high, low], -1)
        return x * self.cos[:length].to(x.dtype) + turned * self.sin[:length].to(x.dtype)


class LlamaBlock(nn.Module):
    """Llama's block: RMS norm, rotary positions, grouped-query attention, SwiGLU."""

    def __init__(self, width: int, heads: int, groups: int, length: int, hidden: int | None = None) -> None:
        super().__init__()
        self.heads, self.groups, self.head = heads, groups, width // heads
        self.norm1 = nn.RMSNorm(width, eps=1e-5)
        self.q = nn.Linear(width, width, bias=False)
        self.k = nn.Linear(width, groups * self.head, bias=False)
        self.v = nn.Linear(width, groups * self.head, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.rotary = RotaryEmbedding(self.head, length)
        self.norm2 = nn.RMSNorm(width, eps=1e-5)
        hidden = hidden or 2 * width + 8
        self.gate = nn.Linear(width, hidden, bias=False)
        self.up = nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        y = self.norm1(x)
        q = self.rotary(self.q(y).view(batch, length, self.heads, self.head).transpose(1, 2))
        k = self.rotary(self.k(y).view(batch, length, self.groups, self.head).transpose(1, 2))
        v = self.v(y).view(batch, length, self.groups, self.head).transpose(1, 2)
        attended = scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        x = x + self.out(attended.transpose(1, 2).reshape(batch, length, width))
        y = self.norm2(x)
        return x + self.down(nn.functional.silu(self.gate(y)) * self.up(y))


class BertBlock(nn.Module):
    """BERT's block: attention with a padding mask, norms after the sums, erf-GELU."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.out = (nn.Linear(width, width) for _ in range(4))
        self.norm1 = nn.LayerNorm(width, eps=1e-12)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)
        self.norm2 = nn.LayerNorm(width, eps=1e-12)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        batch, length, width = x.shape
        split = (batch, length, self.heads, width // self.heads)
        q, k, v = (layer(x).view(split).transpose(1, 2) for layer in (self.q, self.k, self.v))
        scores = q @ k.transpose(-1, -2) / (width // self.heads) ** 0.5
        scores = scores.masked_fill(~mask[:, None, None, :], torch.finfo(scores.dtype).min)
        y = (scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, width)
        x = self.norm1(x + self.out(y))
        return self.norm2(x + self.down(nn.functional.gelu(self.up(x))))


class Vit(nn.Module):
    """A vision transformer of one block: patches by a convolution, class token, positions."""

    def __init__(self, image: int, patch: int, width: int, heads: int, classes: int) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.token = nn.Parameter(torch.randn(1, 1, width))
        self.positions = nn.Parameter(torch.randn(1, (image // patch) ** 2 + 1, width))
        self.norm1 = nn.LayerNorm(width)
        self.attention = SelfAttention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
        self.head = nn.Linear(width, classes)

    def forward(self, image: Tensor) -> Tensor:
        x = self.patches(image).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.positions
        x = x + self.attention(self.norm1(x))
        x = x + self.mlp(self.norm2(x))
        return self.head(x[:, 0])


class MixerBlock(nn.Module):
    """MLP-Mixer's block: an MLP over the tokens, then one over the channels."""

    def __init__(self, tokens: int, width: int) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.mix_tokens = nn.Sequential(
            nn.Linear(tokens, 2 * tokens), nn.GELU(), nn.Linear(2 * tokens, tokens)
        )
        self.norm2 = nn.LayerNorm(width)
        self.mix_channels = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.mix_tokens(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.mix_channels(self.norm2(x))


class Attention(nn.Module):
    """scaled_dot_product_attention alone, with an optional mask."""

    def __init__(self, causal: bool = False, grouped: bool = False, scale: float | None = None) -> None:
        super().__init__()
        self.causal, self.grouped, self.scale = causal, grouped, scale

    def forward(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
        return scaled_dot_product_attention(
            q, k, v, attn_mask=mask, is_causal=self.causal, scale=self.scale, enable_gqa=self.grouped
        )


def gpt2_block() -> Gpt2Block:
    """The block of the smallest GPT-2: 768 wide, 12 heads."""
    return Gpt2Block(768, 12)
