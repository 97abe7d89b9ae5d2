"""PTX by the passes of LLVM that runtime/cuda/ptx.py chooses: that of all of them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mlopt
import pytest
import torch
from mlir import ir
from mlopt.dialects.context import make_context
from mlopt.pipelines import device_code
from mlopt.pipelines.compile import lower_text
from mlopt.pipelines.cuda import cuda_stages
from mlopt.pipelines.device_code import take_ptx
from mlopt.runtime.cuda.chips import find_chip
from mlopt.runtime.cuda.ptx import generate_ptx
from torch.nn.functional import scaled_dot_product_attention

sys.path.insert(0, str(Path(__file__).parent))
import gpu_kernels as gpu
import tile_kernels as kernels

KERNELS = {
    "relu": kernels.relu_chain(1001, 1003),
    "softmax f16": kernels.softmax(37, 1000, "f16"),
    "layer_norm": kernels.layer_norm(3, 5, 768),
    "matmul": kernels.matmul(130, 200, 60),
    "conv": kernels.conv_relu(2, 3, 20, 13, 3),
    "column_sum": kernels.column_sum(1000, 37),
    "sums of any size": kernels.column_sum("?", 64),
}
MODULES = {
    "product": (torch.matmul, [(256, 192), (192, 320)]),
    "residual": (lambda x, y, z: (x @ y).relu() + z, [(256, 192), (192, 320), (256, 320)]),
    "ragged product": (torch.matmul, [(65, 67), (67, 35)]),
    "attention": (scaled_dot_product_attention, [(1, 2, 130, 64)] * 3),
}


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("chip", ["sm_80", "sm_90a"])
def test_ptx_is_that_of_all_passes(name: str, chip: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _check(lambda: gpu.compile_kernel(KERNELS[name], chip).ptx, monkeypatch)


@pytest.mark.parametrize("chip", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("name", MODULES)
def test_ptx_of_products_is_that_of_all_passes(name: str, chip: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function, shapes = MODULES[name]
    inputs = [torch.randn(shape, dtype=torch.bfloat16) for shape in shapes]

    linalg = mlopt.jit(function, *inputs, target=f"cuda:{chip}", device="emulator").asm["linalg"]
    stages = cuda_stages(chip, find_chip(chip).ptx, False, False)

    def compile_() -> str:
        with make_context(), ir.Location.unknown():
            return take_ptx(lower_text(linalg, "main", stages, entries_after="threads").module)

    _check(compile_, monkeypatch)


def _check(compile_: Callable[[], str], monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = []

    def generate(*arguments: Any) -> str:
        chosen.append(generate_ptx(*arguments))
        return chosen[-1]

    monkeypatch.setattr(device_code, "generate_ptx", generate)
    ptx = compile_()
    count = len(chosen)
    assert count
    monkeypatch.setattr(device_code, "_calls_libdevice", lambda _: True)  # as if MLIR had something to link
    assert compile_() == ptx and len(chosen) == count


def test_what_is_called_is_in_its_place_either_way(monkeypatch: pytest.MonkeyPatch) -> None:
    text = kernels.matmul_bias_gelu(64, 96, 32)
    ptx = gpu.compile_kernel(text).ptx
    monkeypatch.setattr(device_code, "_calls_libdevice", lambda _: True)
    for each in (ptx, gpu.compile_kernel(text).ptx):
        assert ".func" not in each and "call" not in each and "ex2.approx" in each


def test_libdevice_is_linked() -> None:
    text = kernels.generic_kernel(
        "log",
        [kernels.tensor((100,))] * 2,
        "d0 -> d0 | d0",
        "p",
        "%x: f32, %o: f32 { %l = math.log %x : f32\n %y = math.tanh %l : f32\n linalg.yield %y : f32 }",
    )
    ptx = gpu.compile_kernel(text).ptx
    assert "__nv_" not in ptx and ".func" not in ptx and "ex2.approx" in ptx
