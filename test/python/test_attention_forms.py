"""Attention as models write it: queries that are scaled first, heads that are joined by a view."""

from __future__ import annotations

import mlopt
import pytest
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention


@pytest.mark.parametrize("sizes", [(2, 64, 128, 64), (2, 50, 127, 32), (3, 64, 64, 16)], ids=str)
def test_queries_that_are_scaled_first(sizes: tuple[int, ...]) -> None:
    batch, rows, keys, width = sizes
    q, k, v = (
        torch.randn(batch, rows, width),
        torch.randn(batch, keys, width),
        torch.randn(batch, keys, width),
    )

    def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return torch.softmax((q * 0.125) @ k.transpose(-1, -2), -1) @ v

    compiled = mlopt.jit(attention, q, k, v)
    expected = attention(q.double(), k.double(), v.double())
    assert len(compiled.kernels) == 1
    assert (compiled(q, k, v) - expected).abs().max() < 1e-5


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_queries_of_heads_that_are_scaled_first(dtype: torch.dtype) -> None:
    def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return ((q.transpose(1, 2) * 0.3) @ k.permute(0, 2, 3, 1)).softmax(-1) @ v.transpose(1, 2)

    def inputs(rows: int) -> list[Tensor]:
        return [torch.randn(2, rows, 3, 32, dtype=dtype) for _ in range(3)]

    sizes = ({1: torch.export.Dim("rows", min=2, max=4096)},) * 3
    compiled = mlopt.jit(attention, *inputs(33), dynamic_shapes=sizes)
    assert len(compiled.kernels) == 1
    for rows in (5, 50, 97):
        given = inputs(rows)
        expected = attention(*(each.double() for each in given))
        error, eager = ((made - expected).abs().max() for made in (compiled(*given), attention(*given)))
        assert error <= max(2 * eager, 1e-5)


def test_heads_joined_by_a_view_as_eager_allows() -> None:
    x = torch.randn(2, 33, 64)

    def heads(x: Tensor) -> Tensor:
        q = x.view(2, 33, 4, 16).transpose(1, 2)
        joined = scaled_dot_product_attention(q, q, q, is_causal=True).transpose(1, 2)
        return joined.contiguous().view(2, 33, 64)

    torch.testing.assert_close(mlopt.jit(heads, x)(x), heads(x))
