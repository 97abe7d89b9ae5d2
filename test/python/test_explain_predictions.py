"""What explain predicts: shares of few blocks and of small kernels, and units that multiply."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
from mlopt.passes.costs.machine import find_machine
from mlopt.tools import explain

ROWS_OF_BLOCKS = """
func.func @main(%x: tensor<{rows}x4096xf32>) -> tensor<{rows}xf32> {{
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<{rows}xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<{rows}xf32>) -> tensor<{rows}xf32>
  %sum = linalg.reduce {{ arith.addf }} ins(%x : tensor<{rows}x4096xf32>) outs(%init : tensor<{rows}xf32>) dimensions = [1]
  return %sum : tensor<{rows}xf32>
}}
"""  # noqa: E501


def test_kernels_of_few_blocks_have_a_share_of_the_bandwidth(tmp_path: Path) -> None:
    path = tmp_path / "rows.mlir"
    memory = {}
    for rows in (4, 432):
        path.write_text(ROWS_OF_BLOCKS.format(rows=rows))
        (kernel,) = explain.explain(str(path), "main", "cuda:sm_80").kernels
        assert kernel.tasks == rows
        assert kernel.as_dict()["tasks"] == rows
        memory[rows] = kernel.prediction.memory / kernel.cost.bytes
    assert memory[4] == pytest.approx(27 * memory[432])


WIDENED = """
from mlopt.test.python.test_gpu_tensor_cores import Dequantised
import torch

def layer():
    return Dequantised(4096, 4096).eval(), torch.randn(16, 4096, dtype=torch.bfloat16)
"""


def test_blocks_of_parts_that_the_last_one_adds_up(tmp_path: Path) -> None:
    """All of them multiply, weights of bytes are read as bytes: what is told of blocks is near the whole."""
    path = tmp_path / "layer.py"
    path.write_text(WIDENED)
    (kernel,) = explain.explain(f"{path}:layer", "main", "cuda:sm_80").kernels
    (parts,) = re.findall(r"adds up its (\d+) parts", kernel.last_blocks)
    columns = kernel.schedule["tile"][2]
    assert kernel.tasks == int(parts) * 4096 // columns
    told = float(re.findall(r": ([\d.]+) µs", kernel.considered[0])[0]) * 1e-6
    assert told < kernel.prediction.seconds < 1.5 * told


PRODUCT = """
func.func @main(%a: tensor<512x512xf32>, %b: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<512x512xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<512x512xf32>) -> tensor<512x512xf32>
  %c = linalg.matmul ins(%a, %b : tensor<512x512xf32>, tensor<512x512xf32>)
      outs(%init : tensor<512x512xf32>) -> tensor<512x512xf32>
  return %c : tensor<512x512xf32>
}
"""


def test_products_that_may_be_rounded_are_explained_so(tmp_path: Path) -> None:
    path = tmp_path / "product.mlir"
    path.write_text(PRODUCT)
    (exact,) = explain.explain(str(path), "main", "cuda:sm_80").kernels
    torch.set_float32_matmul_precision("high")
    try:
        (rounded,) = explain.explain(str(path), "main", "cuda:sm_80").kernels
    finally:
        torch.set_float32_matmul_precision("highest")
    assert (list(exact.cost.contracted), list(rounded.cost.contracted)) == (["f32"], ["tf32"])
    assert "tf32" in rounded.schedule and "tf32" not in exact.schedule
    assert rounded.prediction.compute < exact.prediction.compute / 4


def test_passes_of_the_users_own_are_part_of_what_is_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "product.mlir"
    path.write_text(PRODUCT)
    monkeypatch.setenv("MLOPT_PASS_PLUGINS", str(Path(__file__).parents[2] / "examples/passes/set_tile.py"))
    monkeypatch.setenv("MLOPT_PASSES", "set-tile{tile=16,32} after mlopt-schedule")
    (kernel,) = explain.explain(str(path), "main", "cpu", "cpu").kernels
    assert kernel.schedule["tile"][:2] == [16, 32]


def test_one_thread_of_a_cpu_runs_a_small_kernel(tmp_path: Path) -> None:
    path, cpu = tmp_path / "rows.mlir", find_machine("cpu")
    for rows, busy in ((8, 1), (8192, cpu.processors)):
        path.write_text(ROWS_OF_BLOCKS.format(rows=rows))
        (kernel,) = explain.explain(str(path), "main", "cpu", "cpu").kernels
        share = kernel.prediction.memory * cpu.bandwidth / kernel.cost.bytes
        assert share == pytest.approx(cpu.processors / busy)
