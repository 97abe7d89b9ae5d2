"""Products of which tables set kernels beside Triton's, and what mlopt makes of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import mlopt
import torch
from torch import nn

from ...compiled import Compiled
from ...gpu_report import GpuKernel
from ...passes.gpu.layouts.warpgroup import WARPS
from ...runtime.cuda.chips import Chip

DTYPES = {
    "bf16": torch.bfloat16,
    "f16": torch.float16,
    "i8": torch.int8,
    "tf32": torch.float32,
    "e4m3": torch.float8_e4m3fn,
}
_BLOCK = re.compile(r"(\d+)x(\d+)x(\d+), (\d+) (warp|warpgroup)s?, (\d+) stages")


@dataclass(frozen=True)
class Problem:
    """``left`` and ``right`` say which factor is transposed in memory."""

    m: int
    n: int
    k: int
    kind: str = "bf16"
    left: bool = False
    right: bool = False
    epilogue: str = ""

    @property
    def name(self) -> str:
        """In one line."""
        turned = [word for word, is_turned in (("aT", self.left), ("bT", self.right)) if is_turned]
        return " ".join([f"{self.m}x{self.n}x{self.k}", self.kind, *turned, self.epilogue]).strip()


PROBLEMS = (
    *(
        Problem(4096, 4096, 4096, kind, left, right)
        for kind in ("bf16", "f16", "i8", "tf32")
        for left in (False, True)
        for right in (False, True)
    ),
    Problem(4096, 4096, 4096, epilogue="bias, relu"),
    Problem(4096, 4096, 4096, epilogue="residual"),
    Problem(8192, 8192, 8192, "f16", epilogue="bias, relu"),
    Problem(16384, 4096, 4096, right=True),
    Problem(4000, 4040, 4072),
    Problem(4095, 4097, 4093),
    Problem(4095, 4097, 4093, "f16", right=True),
    Problem(4095, 4097, 4093, left=True),
    Problem(2048, 2048, 2048),
    Problem(128, 4096, 4096),
    Problem(128, 4096, 4096, epilogue="bias, relu"),
    Problem(128, 4096, 14336, right=True),
    Problem(64, 4096, 4096, "f16"),
    Problem(16, 14336, 4096),
    Problem(16, 4096, 14336),
    Problem(16, 4096, 4096, epilogue="bias, relu"),
    Problem(16, 14336, 4096, "i8", right=True),
    Problem(8, 4096, 4096, right=True),
    Problem(1, 4096, 4096),
    Problem(1, 14336, 4096),
)

HOPPER_PROBLEMS = (
    Problem(4096, 4096, 4096),
    Problem(4096, 4096, 4096, left=True, right=True),
    Problem(4096, 4096, 4096, "f16", right=True),
    Problem(4096, 4096, 4096, "i8", right=True),
    Problem(4096, 4096, 4096, "e4m3", right=True),
    Problem(4096, 4096, 4096, "tf32", right=True),
    Problem(8192, 8192, 8192, "f16", epilogue="bias, relu"),
    Problem(4096, 4096, 4096, epilogue="residual"),
    Problem(4096, 4096, 4096, epilogue="gelu"),
    Problem(4000, 4040, 4072, epilogue="residual"),
    Problem(4095, 4096, 4088, epilogue="gelu"),
    Problem(4095, 4097, 4093),
    Problem(4096, 28672, 4096, right=True),
    Problem(128, 4096, 14336, right=True),
    Problem(128, 28672, 4096, "e4m3", right=True),
    Problem(16, 4096, 14336, right=True),
)


class Product(nn.Module):
    """What a problem asks for."""

    def __init__(self, problem: Problem) -> None:
        super().__init__()
        self.problem = problem

    def forward(
        self, a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor, residual: torch.Tensor
    ) -> torch.Tensor:
        """The product and its epilogue; of 8-bit floats the last two are the factors' scales."""
        left, right = (a.T if self.problem.left else a), (b.T if self.problem.right else b)
        if self.problem.kind == "i8":
            return left.int() @ right.int()
        if self.problem.kind == "e4m3":
            return torch._scaled_mm(left, right, bias, residual, out_dtype=torch.bfloat16)
        result = left @ right
        if self.problem.epilogue == "bias, relu":
            return torch.relu(result + bias)
        if self.problem.epilogue == "gelu":
            return nn.functional.gelu(result)
        return result + residual if self.problem.epilogue == "residual" else result


def compile_problem(problem: Problem, chip: Chip) -> tuple[str, Compiled, GpuKernel]:
    """The block that the schedule chose, the program, and its kernel that multiplies aligned buffers."""
    with _rounding(problem.kind == "tf32"):
        compiled = mlopt.jit(
            Product(problem), *_examples(problem), target=f"cuda:{chip.name}", device="emulator"
        )
    gpu = compiled.report.gpu
    assert gpu is not None, "the target is a GPU"
    # Where both factors are transposed, another kernel turns one of them first.
    kernels = [each for each in gpu.kernels if "matmul" in each.name]
    (kernel,) = (each for each in kernels if not each.name.endswith("_unaligned"))
    considered = re.search(r'mlopt.considered = \["([^:]*):', compiled.asm["tile"])
    assert considered is not None, "the product runs on tensor cores"
    return considered[1], compiled, kernel


def _examples(problem: Problem) -> Sequence[torch.Tensor]:
    dtype, (m, n, k) = DTYPES[problem.kind], (problem.m, problem.n, problem.k)
    shapes = ((k, m) if problem.left else (m, k), (n, k) if problem.right else (k, n))
    factors = [torch.empty(shape, dtype=dtype) for shape in shapes]
    if problem.kind == "e4m3":
        return [*factors, torch.empty(()), torch.empty(())]
    return [*factors, torch.empty(n, dtype=dtype), torch.empty(m, n, dtype=dtype)]


def told(problem: Problem, block: str) -> dict[str, Any]:
    """What Triton is told: the problem, and our block."""
    found = _BLOCK.fullmatch(block)
    assert found is not None, block
    rows, columns, step, many, words, stages = found.groups()
    warps = int(many) * (WARPS if words == "warpgroup" else 1)
    sizes = {"rows": rows, "columns": columns, "step": step, "stages": stages}
    return {**asdict(problem), "warps": warps, **{name: int(size) for name, size in sizes.items()}}


@contextmanager
def _rounding(tf32: bool) -> Iterator[None]:
    """Torch's products of f32 may round their factors to tf32."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if tf32 else before)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
