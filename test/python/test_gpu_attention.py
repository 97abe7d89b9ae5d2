"""Attention of half floats on tensor cores, on the emulator: sizes, masks, heads, orders of warps."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import mlopt
import pytest
import torch
from mlopt import emulator
from mlopt.runtime.emulator.launch import Options
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

sys.path.insert(0, str(Path(__file__).parent))
from attention_bound import check_values

GPU = {"target": "cuda:sm_80", "device": "emulator"}
Attention = Callable[..., Tensor]


def qkv(
    rows: int, keys: int, width: int, dtype: torch.dtype, heads: int = 1, groups: int = 1
) -> list[Tensor]:
    """Queries of ``heads * groups`` heads, keys and values of ``heads``."""
    shapes = ((1, heads * groups, rows, width), (1, heads, keys, width), (1, heads, keys, width))
    return [torch.randn(shape, dtype=dtype) for shape in shapes]


def check(
    function: Attention, inputs: list[Tensor], example: list[Tensor] | None = None, **more: object
) -> None:
    """One kernel, both products on tensor cores; each element as near as `check_values` wants it."""
    compiled = mlopt.jit(function, *(example or inputs), **GPU, **more)
    made = compiled(*inputs)
    assert len(compiled.kernels) == 1
    assert torch.equal(made.isnan(), function(*inputs).isnan())
    check_values(made, function, inputs)
    tiles = compiled.asm["layouts"]
    assert tiles.count("mlopt.mma") == tiles.count("vector.contract") >= 2


@pytest.mark.parametrize(
    ("rows", "keys", "width", "causal", "dtype"),
    [
        (17, 64, 32, False, torch.float16),
        (70, 130, 64, True, torch.bfloat16),
        (33, 20, 36, True, torch.float16),
    ],
)
def test_sizes(rows: int, keys: int, width: int, causal: bool, dtype: torch.dtype) -> None:
    check(
        lambda q, k, v: scaled_dot_product_attention(q, k, v, is_causal=causal), qkv(rows, keys, width, dtype)
    )


def test_heads_that_share_keys_and_rows_of_nothing() -> None:
    mask = torch.where(torch.rand(20, 70) > 0.4, torch.randn(20, 70), -torch.inf).to(torch.bfloat16)
    mask[::3] = -torch.inf
    check(
        lambda q, k, v, m: scaled_dot_product_attention(q, k, v, attn_mask=m, enable_gqa=True),
        [*qkv(20, 70, 32, torch.bfloat16, heads=2, groups=3), mask],
    )


def test_scores_of_every_size() -> None:
    """The greatest score has the weight 1 however large it is; f16 overflows soon after."""
    q, k, v = qkv(16, 70, 32, torch.float16)
    q[0, 0] *= torch.logspace(-3, 4, 16)[:, None].to(torch.float16)
    check(scaled_dot_product_attention, [q, 10 * k, v])


def test_nan_and_infinities() -> None:
    q, k, v = qkv(16, 40, 32, torch.bfloat16)
    q[0, 0, 3, 1], k[0, 0, 7, 2], v[0, 0, 9, 3] = torch.nan, torch.inf, -torch.inf
    made = mlopt.jit(scaled_dot_product_attention, q, k, v, **GPU)(q, k, v)
    with sdpa_kernel(SDPBackend.MATH):
        wanted = scaled_dot_product_attention(q, k, v)
    torch.testing.assert_close(made, wanted, rtol=2e-2, atol=2e-2, equal_nan=True)


@pytest.mark.parametrize(
    ("rows", "keys", "heads", "groups", "kind", "parts"),
    [
        (1, 501, 2, 4, "grouped", True),  # of a group, whose heads are the rows of a tile
        (3, 300, 1, 1, "masked", True),
        (2, 40, 2, 1, "causal", False),
        (1, 1, 2, 1, "plain", False),
    ],
)
def test_few_rows(rows: int, keys: int, heads: int, groups: int, kind: str, parts: bool) -> None:
    """One kernel; blocks share the keys, and the last one of a tile joins what they found."""
    inputs = qkv(rows, keys, 64, torch.bfloat16, heads, groups)
    if kind == "masked":
        inputs.append(torch.rand(rows, keys) > 0.5)
        inputs[-1][:, 100:250] = False  # a part without a key
        inputs[-1][1] = False

    def attention(*inputs: Tensor) -> Tensor:
        mask = dict(zip(("attn_mask",), inputs[3:], strict=False))
        more = {"is_causal": kind == "causal", "enable_gqa": groups > 1}
        return scaled_dot_product_attention(*inputs[:3], **mask, **more)

    compiled = mlopt.jit(attention, *inputs, **GPU)
    made = compiled(*inputs)
    assert len(compiled.kernels) == 1
    assert ("mlopt.last_arrival" in compiled.asm["layouts"]) == parts
    assert compiled.report.gpu.spills == 0
    check_values(made, attention, inputs)


def test_few_rows_without_tensor_cores() -> None:
    inputs = [each.float() for each in qkv(2, 700, 64, torch.float16)]
    mask = torch.where(torch.rand(2, 700) > 0.5, torch.randn(2, 700), -torch.inf)

    def masked(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
        return scaled_dot_product_attention(q, k, v, attn_mask=mask)

    compiled = mlopt.jit(masked, *inputs, mask, **GPU)
    made = compiled(*inputs, mask)
    assert len(compiled.kernels) == 1 and "mlopt.last_arrival" in compiled.asm["layouts"]
    assert compiled.report.gpu.spills == 0
    exact = masked(*(each.double() for each in (*inputs, mask)))
    torch.testing.assert_close(made.double(), exact, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("chip", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("kind", ["grouped", "masked", "f32"])
def test_few_rows_of_any_number_of_keys(kind: str, chip: str) -> None:
    """A cache that grows: one kernel whose blocks share the keys, of which some may have none."""
    groups = 4 if kind == "grouped" else 1
    dtype = torch.float32 if kind == "f32" else torch.bfloat16

    def inputs(keys: int) -> list[Tensor]:
        made = [each.to(dtype) for each in qkv(1, keys, 64, torch.bfloat16, 2, groups)]
        return [*made, torch.rand(1, keys) > 0.4] if kind == "masked" else made

    def attention(*inputs: Tensor) -> Tensor:
        mask = dict(zip(("attn_mask",), inputs[3:], strict=False))
        return scaled_dot_product_attention(*inputs[:3], **mask, enable_gqa=groups > 1)

    keys = torch.export.Dim("keys", min=1, max=4096)
    sizes = [{}, {2: keys}, {2: keys}, {1: keys}][: 4 if kind == "masked" else 3]
    example = inputs(96)
    compiled = mlopt.jit(
        attention, *example, dynamic_shapes=(tuple(sizes),), target=f"cuda:{chip}", device="emulator"
    )
    assert len(compiled.kernels) == 1 and "mlopt.last_arrival" in compiled.asm["layouts"]
    assert compiled.report.gpu.spills == 0
    for count in (1, 15, 16, 17, 64, 129, 1000):
        given = inputs(count)
        if kind == "f32":
            exact = attention(*(each.double() for each in given))
            torch.testing.assert_close(compiled(*given).double(), exact, rtol=1e-5, atol=1e-6)
        else:
            check_values(compiled(*given), attention, given)


def test_few_rows_in_any_order_of_warps() -> None:
    """Whichever block of a tile is the last; no bank conflicts, and the bytes of keys and values, once."""
    q, k, v = qkv(4, 500, 64, torch.bfloat16, heads=2)
    compiled = mlopt.jit(scaled_dot_product_attention, q, k, v, **GPU)
    kernel, program = compiled.report.gpu.kernels[0], emulator.load(compiled.asm["ptx"])
    shapes = re.findall(
        r"memref\.alloc\(\) \{alignment = 64 : i64\} : memref<(.*?)xf32>", compiled.asm["layouts"]
    )
    parts = [torch.full([int(size) for size in shape.split("x")], torch.nan) for shape in shapes]
    counters, results = torch.zeros(2, dtype=torch.int32), [compiled(q, k, v)]
    for schedule in ("together", "round-robin", "ahead", "random"):
        results.append(torch.empty_like(q))
        operands = [q, k, v, results[-1], *parts, counters]
        ran = program.launch(
            kernel.name, kernel.grid, kernel.threads, operands, kernel.shared, options=Options(schedule)
        )
        assert not ran.findings and ran.counters.bank_conflicts == 0
        assert not counters.any()
    assert len(parts) == 3 and all(torch.equal(results[0], each) for each in results)
    moved = sum(each.numel() * each.element_size() for each in (*parts, *parts, k, v))
    assert ran.counters.l2_bytes <= 1.05 * (moved + q.numel() * q.element_size() * (1 + parts[0].shape[0]))


def test_lengths_that_are_not_known() -> None:
    class Causal(torch.nn.Module):
        def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            return scaled_dot_product_attention(q, k, v, is_causal=True)

    rows, keys = torch.export.Dim("rows", min=8, max=1000), torch.export.Dim("keys", min=8, max=1000)
    sizes = ({2: rows}, {2: keys}, {2: keys})
    example, inputs = qkv(32, 40, 32, torch.float16), qkv(70, 130, 32, torch.float16)
    check(Causal(), inputs, example, dynamic_shapes=sizes)


def test_in_any_order_of_warps() -> None:
    """No races, no bank conflicts; keys and values are copied ahead, values turned on their way out."""
    q, k, v = qkv(64, 200, 64, torch.bfloat16, heads=2)

    def causal(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return scaled_dot_product_attention(q, k, v, is_causal=True)

    compiled = mlopt.jit(causal, q, k, v, **GPU)
    text, report = compiled.asm["ptx"], compiled.report.gpu
    kernel, program = report.kernels[0], emulator.load(text)
    results = [compiled(q, k, v)]
    for schedule in ("together", "round-robin", "ahead", "random"):
        result = torch.empty_like(q)
        ran = program.launch(
            kernel.name,
            kernel.grid,
            kernel.threads,
            [q, k, v, result],
            kernel.shared,
            options=Options(schedule),
        )
        assert ran.counters.bank_conflicts == 0
        results.append(result)
    assert all(torch.equal(results[0], each) for each in results)
    assert "cp.async.cg.shared.global" in text and "ldmatrix.sync.aligned.m8n8.x4.trans" in text
    assert report.spills == 0
