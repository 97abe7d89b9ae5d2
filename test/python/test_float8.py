"""8-bit floats, which are stored only: every code on the way in, a dense sweep of f32 on the way out."""

from __future__ import annotations

from typing import Any

import mlopt
import pytest
import torch
from mlopt import emulator
from mlopt.errors import CompileError, InputError, UnsupportedOpError
from mlopt.runtime.verification import Verifier
from mlopt.test.corpus.basic import Function
from torch import Tensor

E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2
FORMATS = (E4M3, E5M2)
TARGETS: list[dict[str, Any]] = [{"target": "cpu"}, {"target": "cuda:sm_80", "device": "emulator"}]
WAYS = pytest.mark.parametrize("where", TARGETS, ids=["cpu", "emulator"])


def codes(dtype: torch.dtype) -> Tensor:
    """Each of the 256 numbers, infinities and NaNs."""
    return torch.arange(256, dtype=torch.uint8).view(dtype)


def sweep() -> Tensor:
    """f32 numbers of all upper halves, at and beside where rounding turns."""
    upper = torch.arange(1 << 16, dtype=torch.int64) << 16
    lower = torch.tensor([0, 1, 0x7FFF, 0x8000, 0xFFFF])
    bits = (upper[:, None] + lower).flatten()
    return torch.where(bits >= 1 << 31, bits - (1 << 32), bits).to(torch.int32).view(torch.float32)


def widened(x: Tensor) -> tuple[Tensor, ...]:
    other = E5M2 if x.dtype == E4M3 else E4M3
    wide = tuple(x.to(dtype) for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16))
    finite = x.float().nan_to_num(0.0, 0.0, 0.0)
    moved = x.view(16, 16).t().contiguous(), x[3::7].clone(), torch.cat([x[:5], x[9:]])
    limit = float("inf") if x.dtype == E5M2 else 448.0
    constants = [torch.full((3, 5), number, dtype=x.dtype) for number in (-1.75, limit, float("nan"))]
    asked = x.isnan(), x == x.flip(0) if x.dtype.itemsize > 1 else x == x, x.to(torch.bool)
    return (*wide, *moved, *asked, x.to(other), finite.to(other), *constants)


def everything(x: Tensor, y: Tensor, wide: Tensor, number: Tensor) -> tuple[Tensor, ...]:
    narrow = [value.to(dtype) for value in (wide, wide.double(), number) for dtype in FORMATS]
    return (*widened(x), *widened(y), *narrow)


def bits(x: Tensor) -> Tensor:
    """The bits of f64 numbers, with one NaN for all: its sign is nobody's business."""
    x = x.double()
    return torch.where(x.isnan(), float("nan"), x).view(torch.int64)


@WAYS
def test_conversions_are_eagers_bit_for_bit(where: dict[str, Any]) -> None:
    inputs = codes(E4M3), codes(E5M2), sweep(), torch.arange(-999, 1000)
    compiled = mlopt.jit(Function(everything), *inputs, **where)
    assert not compiled.report.slow_paths
    with emulator.record() as reports:
        found = compiled(*inputs)
    assert not any(report.findings for report in reports)
    for number, (ours, eager) in enumerate(zip(found, everything(*inputs), strict=True)):
        assert ours.dtype == eager.dtype, number
        torch.testing.assert_close(bits(ours), bits(eager), rtol=0, atol=0, msg=f"result {number}")


def scaled(x: Tensor, scale: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    y = torch.relu(x.to(torch.float32) * scale) + 0.5
    return (y.softmax(-1) * 100).to(E4M3), y @ weight.to(torch.float32)


@WAYS
def test_storage_in_8_bits_and_arithmetic_in_f32(where: dict[str, Any]) -> None:
    generator = torch.Generator().manual_seed(3)
    x = (8 * torch.randn(37, 75, generator=generator)).to(E5M2)
    scale, weight = torch.randn(75, generator=generator), torch.randn(75, 19, generator=generator).to(E4M3)
    module = Function(scaled)
    compiled = mlopt.jit(module, x, scale, weight, **where)
    assert all(kernel.path == "tile" for kernel in compiled.kernels)
    verifier = Verifier(module, (x, scale, weight), {})
    found = compiled(x, scale, weight)
    verifier.check(found)
    wrong = found[0].view(torch.uint8).clone()
    wrong[5, 7] += 16  # twice as large
    with pytest.raises(mlopt.VerifyError, match="differs from eager in 1 of"):
        verifier.check((wrong.view(E4M3), found[1]))


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize(
    "op", [torch.relu, lambda x: x + x, lambda x: x * 2, Tensor.sum, lambda x: x.amax(0)]
)
def test_there_is_no_arithmetic_in_8_bits(dtype: torch.dtype, op: Any) -> None:
    x = torch.ones(4, 4).to(dtype)
    with pytest.raises(NotImplementedError):
        op(x)
    with pytest.raises(CompileError, match=r"eager refuses this .*not implemented for 'Float8"):
        mlopt.jit(Function(op), x)


def test_absolute_values() -> None:
    inputs = [codes(dtype) for dtype in FORMATS]
    found = mlopt.jit(Function(lambda x, y: (x.abs(), y.abs())), *inputs)(*inputs)
    for ours, x in zip(found, inputs, strict=True):
        assert ours.dtype == x.dtype and not (ours.view(torch.uint8) & 0x80).any()
        torch.testing.assert_close(ours.float(), x.abs().float(), rtol=0, atol=0, equal_nan=True)


def filled(x: Tensor, number: float, dtype: torch.dtype) -> Tensor:
    return torch.full(size=(3,), fill_value=number, dtype=dtype)


def filled_like(x: Tensor, number: float, dtype: torch.dtype) -> Tensor:
    return torch.full_like(x, number, dtype=dtype)


def filled_in_place(x: Tensor, number: float, dtype: torch.dtype) -> Tensor:
    return x.to(dtype).fill_(number)


def filled_anew(x: Tensor, number: float, dtype: torch.dtype) -> Tensor:
    return x.new_full((3,), number, dtype=dtype)


REFUSED = [(E4M3, 449.0), (E4M3, -470.0), (E4M3, float("-inf")), (E5M2, 57345.0), (E5M2, 3e5)]


@pytest.mark.parametrize(("dtype", "number"), REFUSED)
@pytest.mark.parametrize("fill", [filled, filled_like, filled_in_place, filled_anew])
def test_numbers_too_large_to_fill_with_are_refused(dtype: torch.dtype, number: float, fill: Any) -> None:
    x = torch.ones(3)
    with pytest.raises(RuntimeError, match="without overflow"):
        fill(x, number, dtype)
    with pytest.raises(CompileError, match=r"eager refuses this aten.*c10::Float8_.* without overflow"):
        mlopt.jit(Function(lambda x: fill(x, number, dtype)), x)


def test_formats_without_a_rule_and_arithmetic_in_mlir_are_refused() -> None:
    with pytest.raises(UnsupportedOpError, match="float8_e4m3fnuz"):
        mlopt.jit(Function(lambda x: x.float()), torch.ones(4).to(torch.float8_e4m3fnuz))
    text = """func.func @main(%x: tensor<4xf8E5M2>) -> tensor<4xf8E5M2> {
      %y = arith.addf %x, %x : tensor<4xf8E5M2>
      return %y : tensor<4xf8E5M2>
    }"""
    with pytest.raises(UnsupportedOpError, match=r"'arith\.addf' computes in f8E5M2"):
        mlopt.compile_mlir(text)


def test_numpy_arrays_of_ml_dtypes_and_wrong_dtypes() -> None:
    import ml_dtypes
    import numpy as np

    x = codes(E4M3)[:255]  # the last one's sign is lost
    compiled = mlopt.jit(Function(lambda x: (x.float() * 2).to(E5M2)), x)
    array = x.view(torch.uint8).numpy().view(ml_dtypes.float8_e4m3fn)
    found = compiled(array)
    expected = (x.float() * 2).to(E5M2).view(torch.uint8).numpy()
    assert found.dtype == np.dtype(ml_dtypes.float8_e5m2)
    np.testing.assert_array_equal(found.view(np.uint8), expected)
    with pytest.raises(InputError, match="float8_e5m2"):
        compiled(codes(E5M2))
