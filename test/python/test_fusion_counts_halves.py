"""Modules in half floats have the kernels that they have in f32: casts go where the work is."""

import re
from collections.abc import Callable
from pathlib import Path

import mlopt
import pytest
import torch
import torch.nn.functional as F
from mlopt.test.corpus.transformers import Gpt2Block
from mlopt.test.python.kernel_counts import TARGETS, calls_of, kernels_in, kernels_of
from mlopt.tools.explain import explain
from torch import nn

HALVES = pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)


class LinearGeluResidual(nn.Module):
    """gelu(linear(x)) + x"""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.gelu(self.linear(x)) + x


CASES: dict[str, tuple[int, Callable[[], nn.Module], int]] = {
    "residual": (1, lambda: LinearGeluResidual(72), 72),
    "GPT-2 block": (7, lambda: Gpt2Block(64, 4), 64),
}


@HALVES
@pytest.mark.parametrize("name", CASES)
def test_kernels_of_a_batch(name: str, dtype: torch.dtype) -> None:
    most, make, width = CASES[name]
    module, x = make().to(dtype).eval(), torch.randn(2, 33, width).to(dtype)
    with torch.no_grad():
        compiled = mlopt.jit(module, x)
        names = calls_of(compiled.kernels)
        assert len(names) <= most, names
        result, eager, expected = compiled(x), module(x), module.double()(x.double())
    assert result.dtype == dtype
    error = (result.double() - expected).abs().max()
    assert error <= 2 * (eager.double() - expected).abs().max()


@pytest.mark.parametrize("name", CASES)
def test_kernels_on_a_gpu(name: str) -> None:
    most, make, width = CASES[name]
    names = kernels_of(make().bfloat16(), (torch.randn(2, 33, width).bfloat16(),), "emulator")
    assert len(names) <= most, names


def moved(module: nn.Module, x: torch.Tensor, target: str) -> int:
    kernels = kernels_in(module, (x,), target)
    return sum(each.bytes * each.calls for each in kernels if each.function == "main")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("shape", [(1, 7, 128), (2, 33, 128)], ids=str)
def test_half_the_bytes_are_moved(shape: tuple[int, ...], target: str) -> None:
    """Residuals, biases and scales lie in memory in bf16, though all is computed in f32."""
    module, x = Gpt2Block(128, 2), torch.randn(shape)
    whole = moved(module, x, target)
    assert 2 * moved(module.bfloat16(), x.bfloat16(), target) == whole


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_silu_behind_a_grouped_convolution(dtype: torch.dtype, target: str) -> None:
    """Both of its ops read the channels of all groups as one dim, which is a view of what is made."""
    module = nn.Sequential(nn.Conv2d(12, 18, 3, padding=1, groups=3), nn.SiLU()).to(dtype)
    x = torch.randn(2, 12, 11, 7).to(dtype)
    if target == "emulator":
        assert len(kernels_of(module, (x,), target)) == 1
        return
    with torch.no_grad():
        compiled = mlopt.jit(module.eval(), x)
        assert len(calls_of(compiled.kernels)) == 1
        result, eager, expected = compiled(x), module(x), module.double()(x.double())
        error = (result.double() - expected).abs().max()
        assert error <= max(2 * (eager.double() - expected).abs().max(), 1e-5)


BLOCKS = """
import torch
from mlopt.test.corpus.transformers import Gpt2Block

def blocks():
    module = torch.nn.Sequential(Gpt2Block(768, 12), Gpt2Block(768, 12)).bfloat16().eval()
    return module, torch.randn(1, 128, 768).bfloat16()
"""


def test_parts_of_a_product_are_added_up_by_what_reads_it(tmp_path: Path) -> None:
    """Of a product of few blocks, in parts: the next layer's norm adds them up, the last layer's last blocks.

    What is computed of the product before it stays in that product's kernel.
    """
    file = tmp_path / "blocks.py"
    file.write_text(BLOCKS)
    explained = explain(f"{file}:blocks", "main", "cuda:sm_80")
    kernels = explained.of("main")
    assert sum(len(each.calls) for each in kernels) <= 14, [each.name for each in kernels]
    assert [bool(each.last_blocks) for each in kernels] == [False] * (len(kernels) - 1) + [True]
    reasons = [each["reason"] for edge in explained.edges for each in edge["reasons"]]
    assert any("parts of its depth and their sum take" in reason for reason in reasons)
    assert not any("reshape" in reason for reason in reasons)


@pytest.mark.parametrize("target", ["cuda:sm_80", "cuda:sm_90a"])
def test_a_block_alone_is_seven_kernels(target: str, tmp_path: Path) -> None:
    """Nobody comes behind its last product, whose parts the last block of each tile adds up."""
    file = tmp_path / "block.py"
    file.write_text(BLOCKS.replace("(Gpt2Block(768, 12), Gpt2Block(768, 12))", "(Gpt2Block(768, 12))"))
    kernels = explain(f"{file}:blocks", "main", target).of("main")
    assert sum(len(each.calls) for each in kernels) <= 7, [each.name for each in kernels]
    assert kernels[-1].last_blocks.startswith("the last block of each tile adds up its 4 parts")


IMAGES = """
import torch
from mlopt.test.python.test_fusion_counts import BasicBlock

def block():
    return BasicBlock().bfloat16().eval(), torch.randn(1, 16, 14, 14).bfloat16()
"""


@pytest.mark.parametrize("target", ["cuda:sm_80", "cuda:sm_90a"])
def test_an_image_from_outside_is_turned_where_that_is_predicted_to_be_faster(
    target: str, tmp_path: Path
) -> None:
    """A basic block's third kernel; what is made inside is made with its channels last."""
    file = tmp_path / "block.py"
    file.write_text(IMAGES)
    explained = explain(f"{file}:block", "main", target)
    labels = [op["op"] for kernel in explained.of("main") for op in kernel.calls[0]["ops"]]
    assert labels.count("transpose") == 1
    assert len(explained.of("main")) == 3
    reasons = [each["reason"] for edge in explained.edges for each in edge["reasons"]]
    found = [
        re.search(r"takes (.*) µs behind a copy of (.*) with channels last, alone (.*)", each)
        for each in reasons
    ]
    turned, copy, alone = map(float, next(each for each in found if each).groups())
    assert turned + copy < alone
