"""Every dtype in one program on the emulator: reductions, element-wise, transposed, gathered; odd sizes."""

from __future__ import annotations

from typing import Any

import mlopt
import pytest
import torch
from mlopt.runtime.verification import Verifier
from mlopt.test.corpus.basic import Function
from torch import Tensor

FLOATS = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
INTEGERS = (torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8, torch.bool)
SHAPE = (37, 75)


def numbers(dtype: torch.dtype, generator: torch.Generator, shape: tuple[int, int] = SHAPE) -> Tensor:
    x = 3 * torch.randn(shape, generator=generator)
    return x > 0 if dtype == torch.bool else x.abs().to(dtype) if dtype == torch.uint8 else x.to(dtype)


def everything(index: Tensor, *tensors: Tensor) -> tuple[Any, ...]:
    """Of each tensor: sums and largest of rows or columns, an element-wise result, turned, some elements."""
    found: list[Tensor] = []
    for x in tensors:
        if x.dtype == torch.bool:
            found += [x.sum(-1), x.any(0), ~x, x.t().contiguous(), x.gather(1, index)]
        else:
            found += [x.sum(-1), x.sum(0), x.amax(0), x * 2 + x, x.t().contiguous(), x.gather(1, index)]
    return tuple(found)


def test_dtypes_of_each_width_at_any_size() -> None:
    dtypes = (torch.float64, torch.bfloat16, torch.int8)
    generator = torch.Generator().manual_seed(6)
    module = Function(everything)
    rows, columns = torch.export.Dim("rows", min=2), torch.export.Dim("columns", min=2)

    def inputs(height: int, width: int) -> tuple[Tensor, ...]:
        index = torch.randint(width, (height, 11), generator=generator)
        return (index, *(numbers(dtype, generator, (height, width)) for dtype in dtypes))

    compiled = mlopt.jit(
        module,
        *inputs(*SHAPE),
        target="cuda:sm_80",
        device="emulator",
        dynamic_shapes=(({0: rows}, *({0: rows, 1: columns} for _ in dtypes)),),
    )
    assert not compiled.report.slow_paths
    for shape in ((5, 130), (64, 32)):
        given = inputs(*shape)
        Verifier(module, given, {}).check(compiled(*given))


@pytest.mark.parametrize("dtypes", [FLOATS, INTEGERS], ids=["floats", "integers"])
def test_every_dtype(dtypes: tuple[torch.dtype, ...]) -> None:
    generator = torch.Generator().manual_seed(5)
    index = torch.randint(SHAPE[1], (SHAPE[0], 11), generator=generator)
    module = Function(everything)
    inputs = (index, *(numbers(dtype, generator) for dtype in dtypes))
    compiled = mlopt.jit(module, *inputs, target="cuda:sm_80", device="emulator")
    assert not compiled.report.slow_paths
    inputs = (index.flip(0), *(numbers(dtype, generator) for dtype in dtypes))
    verifier = Verifier(module, inputs, {})
    verifier.check(compiled(*inputs))
