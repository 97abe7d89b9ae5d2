"""Modules of a few rows have the kernels that they have of many: their counts, and values by float64."""

import math
from collections.abc import Callable
from typing import Any

import mlopt
import pytest
import torch
import torch.nn.functional as F
from mlopt.test.python.kernel_counts import calls_of, kernels_of
from torch import Tensor, nn

FLOATS = pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)


def called(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def by_hand(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    return (q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1]) + mask).softmax(-1) @ v


def grouped(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)


def check(module: Callable[..., Any], *inputs: Tensor, scale: float, most: int | None = None) -> None:
    """Twice eager's own error at most, or 1e-5 of ``scale``, the largest sum of absolute terms.

    A call has at most ``most`` kernels.
    """
    if isinstance(module, nn.Module):
        module = module.eval()
    with torch.no_grad():
        compiled = mlopt.jit(module, *inputs)
        assert most is None or len(calls_of(compiled.kernels)) <= most, compiled.kernels
        result, eager = compiled(*inputs), module(*inputs)
        wide = module.double() if isinstance(module, nn.Module) else module
        expected = wide(*(each.double() if each.is_floating_point() else each for each in inputs))
    assert result.dtype == eager.dtype and result.shape == eager.shape
    nan = expected.isnan()
    assert torch.equal(result.isnan(), nan)
    error, own = (
        torch.where(nan, 0, (each.double() - expected).abs()).max().item() for each in (result, eager)
    )
    assert error <= max(2 * own, 1e-5 * scale), (error, own)


def qkv(heads: int, rows: int, keys: int, width: int, dtype: torch.dtype, own: int = 0) -> list[Tensor]:
    """Queries, keys and values, and a mask; ``own`` heads of keys."""
    shapes = [(1, heads, rows, width), *[(1, own or heads, keys, width)] * 2, (rows, keys)]
    return [torch.randn(shape).to(dtype) for shape in shapes]


@FLOATS
@pytest.mark.parametrize("rows", [1, 2, 3, 5])
@pytest.mark.parametrize("form", [called, by_hand])
def test_attention_of_few_rows(form: Callable[..., Tensor], rows: int, dtype: torch.dtype) -> None:
    """A task has the rows of a head."""
    for sizes in ((12, rows, 512, 64), (9, rows, 77, 33)):
        inputs = qkv(*sizes, dtype)
        check(form, *inputs, scale=inputs[2].abs().max().item(), most=1)


def test_attention_of_one_row_by_groups() -> None:
    for heads, own in ((32, 8), (12, 1)):
        inputs = qkv(heads, 1, 129, 64, torch.float32, own)
        check(grouped, *inputs, scale=inputs[2].abs().max().item(), most=1)


@pytest.mark.parametrize("form", [called, by_hand])
@pytest.mark.parametrize("rows", [1, 2])
def test_rows_with_nothing_to_attend_to_infinities_and_nan(rows: int, form: Callable[..., Tensor]) -> None:
    q, k, v, _ = qkv(12, rows, 130, 16, torch.float32)
    mask = torch.zeros(12, rows, 130)
    mask[1], mask[2, 0, :64], mask[3, 0, 3] = -math.inf, -math.inf, math.nan
    q[0, 4, 0, 1], k[0, 5, 100, 2], mask[6, 0, 129] = math.nan, math.inf, math.inf
    check(form, q, k, v, mask, scale=v.abs().max().item())


def test_attention_of_few_heads_is_shared_by_more_tasks_than_heads() -> None:
    """One task would read all that there is."""
    assert len(kernels_of(called, tuple(qkv(1, 1, 8192, 64, torch.float32)), "cpu")) > 1
    assert len(kernels_of(called, tuple(qkv(2, 1, 8192, 64, torch.float32)), "cpu")) > 1
    assert len(kernels_of(called, tuple(qkv(2, 1, 50, 16, torch.float32)), "cpu")) == 1
    assert len(kernels_of(called, tuple(qkv(2, 1, 512, 64, torch.float32)), "cpu")) == 1


@FLOATS
@pytest.mark.parametrize("shape", [(1, 768, 3072), (2, 768, 3072), (5, 768, 3072), (1, 130, 33)], ids=str)
def test_norm_linear_gelu_dropout(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    rows, width, columns = shape
    layers = nn.LayerNorm(width), nn.Linear(width, columns), nn.GELU(), nn.Dropout()
    module, x = nn.Sequential(*layers).to(dtype), torch.randn(1, rows, width).to(dtype)
    check(module, x, scale=x.abs().sum(-1).max().item(), most=2)


@FLOATS
@pytest.mark.parametrize("rows", [1, 2, 7])
def test_extremes_of_few_rows(rows: int, dtype: torch.dtype) -> None:
    for length in (4096, 1031):
        x = torch.randn(rows, length).to(dtype)
        for function in (lambda x: x.argmax(-1), lambda x: x.amin(-1), lambda x: x.max(-1)):
            compiled = mlopt.jit(function, x)
            assert len(calls_of(compiled.kernels)) == 1
            torch.testing.assert_close(compiled(x), function(x), rtol=0, atol=0)


@FLOATS
@pytest.mark.parametrize("shape", [(1, 768), (3, 1001), (33, 517)], ids=str)
def test_rows_less_their_means_by_their_deviations(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    def normalized(x: Tensor) -> Tensor:
        return (x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True)

    x = (torch.randn(shape) + 3).to(dtype)
    check(normalized, x, scale=x.abs().max().item(), most=1)


@pytest.mark.parametrize("classes", [100003, 50021])
def test_the_loss_of_one_row_of_a_prime_number_of_classes(classes: int) -> None:
    """Tasks share the row, then one adds up: two kernels."""
    scores = torch.randn(1, classes) * 5
    scores[0, 7] = -math.inf
    with torch.no_grad():
        compiled = mlopt.jit(F.cross_entropy, scores, torch.tensor([0]))
    assert sum(each.calls for each in compiled.kernels) == 2
    for place in (0, classes // 2, classes - 1):
        target = torch.tensor([place])
        expected = F.cross_entropy(scores.double(), target)
        assert (compiled(scores, target) - expected).abs() <= 1e-5 * (scores[0, place].abs() + 20)
    scores[0, -1] = math.nan
    assert compiled(scores, torch.tensor([0])).isnan()
    assert compiled(torch.full_like(scores, -math.inf), torch.tensor([0])).isnan()


class ShiftedWindows(nn.Module):
    """Windows of 3x2 places, shifted along both dims, through a linear layer, and back."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        b, h, w, c = x.shape
        x = torch.roll(x, (-1, -1), (1, 2)).view(b, h // 3, 3, w // 2, 2, c)
        x = self.linear(x.permute(0, 1, 3, 2, 4, 5).reshape(-1, 6, c)).view(b, h // 3, w // 2, 3, 2, c)
        return torch.roll(x.permute(0, 1, 3, 2, 4, 5).reshape(b, h, w, c), (1, 1), (1, 2))


@FLOATS
def test_shifted_windows(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 9, 10, 21).to(dtype)
    check(ShiftedWindows(21).to(dtype), x, scale=21, most=3)
    check(
        lambda x: F.gelu(torch.roll(x, (4, -3), (2, 1)).view(2, 3, 3, 5, 2, 21).transpose(2, 3).contiguous()),
        x,
        scale=16,
        most=1,
    )
