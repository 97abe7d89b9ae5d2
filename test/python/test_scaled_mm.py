"""torch._scaled_mm: 8-bit floats with scales, beside eager on the CPU, on every target."""

from __future__ import annotations

from typing import Any

import mlopt
import pytest
import torch
from mlopt import emulator
from mlopt.errors import CompileError, UnsupportedOpError
from mlopt.test.corpus.basic import Function
from torch import Tensor

E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2
F32, BF16, F16 = torch.float32, torch.bfloat16, torch.float16
CPU = {"target": "cpu"}
A100, H100 = ({"target": f"cuda:{chip}", "device": "emulator"} for chip in ("sm_80", "sm_90a"))
WAYS = pytest.mark.parametrize("where", [CPU, A100, H100], ids=["cpu", "sm_80", "sm_90a"])


def drawn(shape: tuple[int, ...], dtype: torch.dtype = F32) -> Tensor:
    """Numbers of either sign that all formats have, or nearly."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape))).to(dtype)


def check(function: Any, inputs: tuple[Tensor, ...], where: dict[str, Any]) -> mlopt.CompiledModule:
    """Compile, call, compare with eager: f32 is summed in another order, what is narrower may be one off."""
    compiled = mlopt.jit(Function(function), *inputs, **where)
    with emulator.record() as reports:
        found = compiled(*inputs)
    assert not any(report.findings for report in reports)
    for number, (ours, eager) in enumerate(zip(found, function(*inputs), strict=True)):
        assert ours.dtype == eager.dtype
        ulp = 0 if eager.dtype == F32 else torch.finfo(eager.dtype).eps
        torch.testing.assert_close(
            ours.float(),
            eager.float(),
            rtol=ulp + 1e-5,
            atol=1e-4,
            equal_nan=True,
            msg=lambda m, n=number: f"{n}: {m}",
        )
    return compiled


def scaled(
    x: Tensor,
    w: Tensor,
    y: Tensor,
    v: Tensor,
    one: Tensor,
    many: Tensor,
    rows: Tensor,
    columns: Tensor,
    bias: Tensor,
) -> tuple[Tensor, ...]:
    """Scales of tensors, of rows, and a bias; of all pairs of formats, into all types of results."""
    whole = [torch._scaled_mm(x, w.t(), one, many, out_dtype=dtype) for dtype in (F32, F16, None)]
    pairs = [(a, b) for a in (x, y) for b in (w, v)]
    return (
        *whole,
        torch._scaled_mm(x, w.t(), one, one, bias=bias, out_dtype=BF16, use_fast_accum=True),
        *(torch._scaled_mm(a, b.t(), rows, columns, bias=bias, out_dtype=BF16) for a, b in pairs),
        torch._scaled_mm(y, v.t(), one, one, out_dtype=E5M2),
        torch._scaled_mm(x[:5, :13], w[:7, :13].t(), one, one, out_dtype=F32),
        torch._scaled_mm(x[:, :0], w[:, :0].t(), one, one, out_dtype=F32),
    )


@WAYS
def test_scales_and_formats(where: dict[str, Any]) -> None:
    """What is too large is the largest of e4m3, and infinite in e5m2; with NaN and infinities."""
    x, w, y, v = (drawn((size, 64), dtype) for dtype in (E4M3, E5M2) for size in (40, 48))
    y[3, 5], y[9, 9], v[17, 4], x[7, 1] = float("nan"), float("inf"), 57344, -448
    scales = torch.tensor(0.37), torch.tensor([[170.0]]), drawn((40, 1)), drawn((1, 48))
    check(scaled, (x, w, y, v, *scales, drawn((48,), BF16)), where)


def linear(x: Tensor, w: Tensor, columns: Tensor) -> tuple[Tensor, ...]:
    """Activations that the module rounds itself, by a scale of each row."""
    rows = x.abs().amax(-1, keepdim=True) / 448
    return (torch.relu(torch._scaled_mm((x / rows).to(E4M3), w.t(), rows, columns, out_dtype=F32)),)


def test_warpgroups_multiply_what_is_rounded_in_the_module() -> None:
    """wgmma, whose factors come by boxes, in blocks that leave nothing to mma.sync."""
    compiled = check(linear, (drawn((512, 256)), drawn((2048, 256), E4M3), drawn((1, 2048))), H100)
    ptx = compiled.asm["ptx"]
    assert "wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3" in ptx
    assert "cp.async.bulk.tensor" in ptx and "mma.sync" not in ptx


def test_what_eager_refuses() -> None:
    x, w, one = drawn((32, 64), E4M3), drawn((48, 64), E4M3), torch.tensor(1.0)
    with pytest.raises(CompileError, match="scale"):
        mlopt.jit(Function(lambda x, w, s: torch._scaled_mm(x, w.t(), s, s)), x, w, one.half())
    with pytest.raises(CompileError, match="non-tensorwise scaling"):
        mlopt.jit(Function(lambda x, w, s: torch._scaled_mm(x, w.t(), s, s)), x, w, torch.ones(32))
    with pytest.raises(CompileError, match="Bias must be size 48 but got 1"):
        mlopt.jit(Function(lambda x, w, s, b: torch._scaled_mm(x, w.t(), s, s, bias=b)), x, w, one, one[None])


def test_scales_of_results_are_refused() -> None:
    x, one = drawn((32, 64), E4M3), torch.tensor(1.0)
    with pytest.raises(UnsupportedOpError, match="_scaled_mm"):
        mlopt.jit(Function(lambda x, s: torch._scaled_mm(x, x.t(), s, s, scale_result=s)), x, one)


@pytest.mark.parametrize("sizes", [((256, 1), (1, 2)), ((2, 1), (1, 256))])
def test_scales_of_blocks_are_refused(sizes: tuple[tuple[int, int], tuple[int, int]]) -> None:
    """One for each 128 rows of a factor: the op and its line are named, and no shape that does not fit."""
    factor, one, other = drawn((256, 128), E4M3), *(drawn(each) for each in sizes)
    product = Function(lambda x, s, t: (torch._scaled_mm(x, x.t(), s, t, out_dtype=BF16),))
    with pytest.raises(UnsupportedOpError, match=r"mlopt cannot compile aten\._scaled_mm"):
        mlopt.jit(product, factor, one, other)
