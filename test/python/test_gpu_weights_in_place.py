"""Weights of linear layers in TF32 and bytes, which tensor cores read along the depth, as they lie."""

from __future__ import annotations

from collections.abc import Iterator

import mlopt
import pytest
import torch
from mlopt.compiled import Compiled
from torch import Tensor, nn

CHIPS = ("sm_80", "sm_90a")


@pytest.fixture
def tf32() -> Iterator[None]:
    torch.set_float32_matmul_precision("high")
    yield
    torch.set_float32_matmul_precision("highest")


class Bytes(nn.Module):
    """A linear layer of int8."""

    def __init__(self, columns: int, depth: int) -> None:
        super().__init__()
        self.register_buffer("weight", torch.randint(-128, 128, (columns, depth), dtype=torch.int8))

    def forward(self, x: Tensor) -> Tensor:
        return torch._int_mm(x, self.weight.t())


def compiled(module: nn.Module, x: Tensor, chip: str) -> Compiled:
    return mlopt.jit(module.eval(), x, target=f"cuda:{chip}", device="emulator")


@pytest.mark.usefixtures("tf32")
@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize(
    ("rows", "depth", "columns"), [(64, 64, 128), (70, 68, 131), (16, 36, 20), (3, 64, 40)]
)
def test_tf32(chip: str, rows: int, depth: int, columns: int) -> None:
    layer, x = nn.Linear(depth, columns), torch.randn(rows, depth)
    module = compiled(layer, x, chip)
    with torch.no_grad():
        made = module(x)
        wanted = layer.double()(x.double())
    assert (made - wanted).abs().max() < 2e-3 * wanted.abs().max()
    turned = any("transpose" in kernel.name for kernel in module.report.gpu.kernels)
    assert turned == (rows < 16)


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize(("rows", "depth", "columns"), [(64, 128, 128), (37, 72, 88)])
def test_bytes(chip: str, rows: int, depth: int, columns: int) -> None:
    layer, x = Bytes(columns, depth), torch.randint(-128, 128, (rows, depth), dtype=torch.int8)
    module = compiled(layer, x, chip)
    assert torch.equal(module(x), x.int() @ layer.weight.t().int())
    assert not any("transpose" in kernel.name for kernel in module.report.gpu.kernels)


@pytest.mark.usefixtures("tf32")
@pytest.mark.parametrize("dtype", [torch.float32, torch.int8])
def test_warpgroups_make_what_is_large(dtype: torch.dtype) -> None:
    layer = nn.Linear(512, 512) if dtype.is_floating_point else Bytes(512, 512)
    ptx = compiled(layer, torch.empty(512, 512, dtype=dtype), "sm_90a").asm["ptx"]
    assert "wgmma.mma_async" in ptx and "cp.async.bulk.tensor" in ptx


def test_exact_f32_is_read_in_rows() -> None:
    """Vector units load rows of the weights, which are turned once."""
    module = compiled(nn.Linear(64, 128), torch.randn(64, 64), "sm_90a")
    assert any("transpose" in kernel.name for kernel in module.report.gpu.kernels)
