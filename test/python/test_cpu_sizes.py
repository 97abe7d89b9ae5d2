"""Schedules of a CPU at sizes around the edges of their tiles, at 1 and at 0; products: test_cpu_products.py.

One compilation has many modules, each with inputs of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

import mlopt
import pytest
import torch
from mlopt.runtime.verification import Verifier
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from .api_modules import Call
from .threads import on_any_number

pytestmark = pytest.mark.usefixtures("inference")


class Apart(nn.Module):
    """Modules side by side, each with ``count`` inputs of its own."""

    def __init__(self, modules: Sequence[nn.Module], count: int) -> None:
        super().__init__()
        self.parts, self.count = nn.ModuleList(modules), count

    def forward(self, *inputs: Tensor) -> list[Tensor]:
        return [part(*inputs[at * self.count : (at + 1) * self.count]) for at, part in enumerate(self.parts)]


def check(cases: Sequence[tuple[nn.Module, tuple[Tensor, ...]]]) -> None:
    """Against eager and float64, and the same bits on 1, 2 and 5 threads and again."""
    module = Apart([module for module, _ in cases], len(cases[0][1])).eval()
    inputs = [each for _, own in cases for each in own]
    compiled = mlopt.jit(module, *inputs)
    assert not compiled.report.slow_paths
    made = on_any_number(lambda: compiled(*inputs))
    Verifier(module, inputs, {}).check(made)


# Rows, keys, elements of a key.
ATTENTION = [
    (1, 1, 1), (31, 63, 17), (33, 65, 15), (47, 129, 31), (49, 1, 64), (63, 128, 65), (64, 191, 64),
    (97, 66, 8),
]  # fmt: skip


@pytest.mark.parametrize("causal", [False, True])
def test_attention(causal: bool) -> None:
    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return scaled_dot_product_attention(q, k, v, is_causal=causal)

    sizes = [((rows, width), (keys, width), (keys, width)) for rows, keys, width in ATTENTION]
    check([(Call(attend), tuple(torch.randn(1, 2, *each) for each in shapes)) for shapes in sizes])


def test_attention_of_nothing() -> None:
    sizes = [(0, 2, 9, 9), (2, 0, 9, 9), (1, 2, 0, 9), (1, 2, 9, 0)]
    check(
        [
            (Call(scaled_dot_product_attention), tuple(torch.randn(a, b, c, 8) for c in (rows, keys, keys)))
            for a, b, rows, keys in sizes
        ]
    )


def test_large_transpose() -> None:
    """What no cache holds has long tiles; neither side is a multiple of theirs."""
    x = torch.randn(2049, 2053)
    compiled = mlopt.jit(Call(lambda x: x.t().contiguous()), x)
    assert torch.equal(on_any_number(lambda: compiled(x), counts=(2, 5)), x.t())


# Channels before and after, height, width.
IMAGES = [
    (1, 1, 1, 1), (3, 15, 5, 13), (5, 17, 3, 15), (16, 47, 7, 27), (15, 49, 9, 29), (2, 63, 1, 33),
    (3, 64, 33, 1), (2, 65, 6, 6), (2, 130, 2, 56), (0, 5, 9, 9),
]  # fmt: skip


@pytest.mark.parametrize("stride", [1, 2])
def test_convolutions(stride: int) -> None:
    cases = []
    for inner, outer, height, width in IMAGES:
        layer = nn.Conv2d(inner or 3, outer, 3, stride, padding=1)
        cases.append((layer, (torch.randn(1 if inner else 0, inner or 3, height, width),)))
    check(cases)


@pytest.mark.parametrize("stride", [1, 2])
def test_depthwise_convolutions_and_pools(stride: int) -> None:
    cases = []
    for channels, height, width in [(1, 1, 1), (3, 5, 15), (2, 7, 16), (5, 9, 17), (3, 2, 65), (4, 0, 9)]:
        x = (torch.randn(2, channels, height, width) if height else torch.randn(0, channels, 9, width),)
        cases.append((nn.Conv2d(channels, channels, 3, stride, padding=1, groups=channels), x))
        cases += [(nn.MaxPool2d(3, stride, 1), x), (nn.AvgPool2d(3, stride, 1), x)]
    check(cases)


def test_batches_of_products() -> None:
    sizes = [
        (0, 3, 4, 5), (3, 0, 4, 5), (3, 4, 0, 5), (3, 4, 5, 0), (1, 1, 1, 1), (2, 63, 65, 64), (3, 9, 17, 65),
        (5, 33, 130, 15),
    ]  # fmt: skip
    check([(Call(torch.matmul), (torch.randn(b, m, k), torch.randn(b, k, n))) for b, m, k, n in sizes])


def test_products_by_vectors() -> None:
    cases = []
    for rows, columns in [(0, 5), (5, 0), (1, 1), (1, 300), (300, 1), (63, 65), (129, 127), (40, 1025)]:
        x = torch.randn(rows, columns)
        cases.append((Call(lambda x, v: x @ v), (x, torch.randn(columns))))
        cases.append((Call(lambda x, v: v @ x), (x, torch.randn(rows))))
        cases.append((Call(lambda x, v: v @ x.t()), (x, torch.randn(1, columns))))
    check(cases)


@pytest.mark.parametrize(
    "shape", [(0, 5), (1, 1), (15, 17), (16, 64), (33, 65), (64, 63), (1, 129), (130, 1)], ids=str
)
def test_moves(shape: tuple[int, int]) -> None:
    moves = [
        lambda x: x.t().contiguous(),
        lambda x: x.view(1, *x.shape).permute(2, 0, 1).contiguous() + 1,
        lambda x: torch.cat([x, x[:, :1], x * 2], 1),
        lambda x: torch.stack([x, -x], -1),
        lambda x: x[torch.arange(2 * x.shape[0]) // 2] * 2,
    ]
    check([(Call(move), (torch.randn(shape),)) for move in moves])


def test_elements_and_rows() -> None:
    """Strips of one to four registers, and a task's elements."""
    sizes = [1, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 127, 129, 255, 257, 8191, 8193]
    check([(Call(lambda x: x.relu() * 0.5 + 1), (torch.randn(3, size),)) for size in sizes])
    check([(Call(lambda x: x.softmax(-1)), (torch.randn(3, size),)) for size in sizes])


def test_rows_around_blocks_of_strips() -> None:
    """Sums of long rows are made of blocks of 256 strips (strips/reduce.py)."""
    sizes = [255 * 64 - 1, 256 * 64 - 1, 256 * 64, 256 * 64 + 1, 257 * 64, 512 * 64 + 65, 513 * 64]
    check([(Call(lambda x: x.sum(-1)), (torch.rand(2, size),)) for size in sizes])
