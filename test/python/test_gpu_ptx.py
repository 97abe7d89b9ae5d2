"""PTX by the passes of LLVM that runtime/cuda/ptx.py chooses: that of all of them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from mlopt.pipelines import device_code

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


@pytest.mark.parametrize("name", KERNELS)
def test_ptx_is_that_of_all_passes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ptx = gpu.compile_kernel(KERNELS[name]).ptx
    monkeypatch.setattr(device_code, "_calls_libdevice", lambda _: True)  # as if MLIR had something to link
    assert gpu.compile_kernel(KERNELS[name]).ptx == ptx


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
