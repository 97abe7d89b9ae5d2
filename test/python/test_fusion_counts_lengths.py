"""Rows and columns of unknown length, with what is computed of them, are one kernel."""

import math
from collections.abc import Callable
from typing import Any

import mlopt
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from mlopt.runtime.verification import Verifier
from mlopt.test.corpus.basic import Function
from mlopt.test.corpus.transformers import Gpt2Block
from mlopt.test.python.kernel_counts import TARGETS
from torch import nn

X = torch.randn(64, 64)
ZERO = torch.tensor([0])

UNKNOWN_ROWS: dict[str, Callable[..., Any]] = {
    "softmax": lambda x: x.softmax(-1),
    "log_softmax": lambda x: x.log_softmax(-1),
    "layer_norm": lambda x: F.layer_norm(x, x.shape[-1:]),
    "rms_norm": lambda x: x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5),
    "divided by sums of rows": lambda x: x / x.abs().sum(-1, keepdim=True),
    "four results": lambda x: (x.softmax(-1), x.relu(), x.abs().sum(-1), x.amax(-1)),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", UNKNOWN_ROWS)
def test_rows_of_unknown_length(name: str, dtype: torch.dtype, target: str) -> None:
    """A task runs along its row as often as it has to, in one kernel."""

    class Module(nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return UNKNOWN_ROWS[name](x)

    sizes = ({1: torch.export.Dim("length", min=2)},)
    compiled = mlopt.jit(Module(), X[:5].to(dtype), dynamic_shapes=sizes, **TARGETS[target])
    assert sum(each.calls for each in compiled.kernels) == 1
    for length in (2, 15, 16, 17, 1000, 1024 if target == "emulator" else 33333):
        x = torch.randn(5, length).to(dtype)
        wide = Module()(x.double())
        for result, expected in zip(_several(compiled(x)), _several(wide), strict=True):
            close = 1e-5 if dtype is torch.float32 else 2e-2
            torch.testing.assert_close(result.double(), expected, rtol=close, atol=close)


UNKNOWN_COLUMNS: dict[str, Callable[..., Any]] = {
    "softmax": lambda x: x.softmax(0),
    "divided by sums of columns": lambda x: x / x.abs().sum(0),
    "less their means": lambda x: (x - x.mean(0)) * 2,
    "those that are large": lambda x: torch.where(x.amax(0) > 1.5, x, -x),
    "four results": lambda x: (x.softmax(0), x.relu(), x.abs().sum(0), x.amax(0)),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", UNKNOWN_COLUMNS)
def test_columns_of_unknown_length(name: str, dtype: torch.dtype, target: str) -> None:
    """A task has columns side by side, and runs down them as often as it has to, in one kernel."""

    class Module(nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return UNKNOWN_COLUMNS[name](x)

    for columns in ({}, {1: torch.export.Dim("columns", min=2)}):
        sizes = ({0: torch.export.Dim("length", min=2), **columns},)
        compiled = mlopt.jit(Module(), torch.randn(64, 33).to(dtype), dynamic_shapes=sizes, **TARGETS[target])
        assert sum(each.calls for each in compiled.kernels) == 1
        for length, width in ((2, 33), (31, 33), (32, 300 if columns else 33), (101, 2 if columns else 33)):
            x = torch.randn(length, width).to(dtype)
            wide = Module()(x.double())
            for result, expected in zip(_several(compiled(x)), _several(wide), strict=True):
                close = 1e-5 if dtype is torch.float32 else 3e-2
                torch.testing.assert_close(result.double(), expected, rtol=close, atol=close)


def _several(results: Any) -> tuple[torch.Tensor, ...]:
    return results if isinstance(results, tuple) else (results,)


@pytest.mark.parametrize("shape", [(0, 5), (1, 5), (33, 0), (33, 1), (1, 1), (70, 67)], ids=str)
def test_columns_that_exports_do_not_have(shape: tuple[int, int]) -> None:
    divided = mlopt.compile_mlir("""
      func.func @main(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
        %zero = arith.constant 0.0 : f32
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %n = tensor.dim %x, %c0 : tensor<?x?xf32>
        %m = tensor.dim %x, %c1 : tensor<?x?xf32>
        %e = tensor.empty(%m) : tensor<?xf32>
        %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
        %s = linalg.reduce {arith.addf} ins(%x : tensor<?x?xf32>) outs(%f : tensor<?xf32>) dimensions = [0]
        %o = tensor.empty(%n, %m) : tensor<?x?xf32>
        %b = linalg.broadcast ins(%s : tensor<?xf32>) outs(%o : tensor<?x?xf32>) dimensions = [0]
        %y = arith.divf %x, %b : tensor<?x?xf32>
        return %y : tensor<?x?xf32>
      }""")
    assert len(divided.kernels) == 1
    x = torch.rand(shape).numpy()
    np.testing.assert_allclose(divided(x), x / x.sum(0, keepdims=True), rtol=1e-6)


@pytest.mark.parametrize("length", [0, 1, 31, 33])
def test_lengths_that_exports_do_not_have(length: int) -> None:
    """torch.export takes no row of unknown length for one of 0 elements or of 1; text may say so."""
    divided = mlopt.compile_mlir("""
      func.func @main(%x: tensor<3x?xf32>) -> tensor<3x?xf32> {
        %zero = arith.constant 0.0 : f32
        %one = arith.constant 1 : index
        %n = tensor.dim %x, %one : tensor<3x?xf32>
        %e = tensor.empty() : tensor<3xf32>
        %f = linalg.fill ins(%zero : f32) outs(%e : tensor<3xf32>) -> tensor<3xf32>
        %s = linalg.reduce {arith.addf} ins(%x : tensor<3x?xf32>) outs(%f : tensor<3xf32>) dimensions = [1]
        %o = tensor.empty(%n) : tensor<3x?xf32>
        %b = linalg.broadcast ins(%s : tensor<3xf32>) outs(%o : tensor<3x?xf32>) dimensions = [1]
        %y = arith.divf %x, %b : tensor<3x?xf32>
        return %y : tensor<3x?xf32>
      }""")
    assert len(divided.kernels) == 1
    x = torch.rand(3, length).numpy()
    np.testing.assert_allclose(divided(x), x / x.sum(-1, keepdims=True), rtol=1e-6)


class LinearGeluResidual(nn.Module):
    """gelu(linear(x)) + y"""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(48, 72)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return F.gelu(self.linear(x)) + y


SEVERAL: dict[str, tuple[int, Callable[[], nn.Module], tuple[int, ...]]] = {
    "gelu(linear(x)) + residual": (1, LinearGeluResidual, (48, 72)),
    "GPT-2 block": (7, lambda: Gpt2Block(48, 3), (48,)),
    "GPT-2 block in bf16": (7, lambda: Gpt2Block(48, 3).bfloat16(), (48,)),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", SEVERAL)
def test_batches_of_unknown_number_and_length(name: str, target: str) -> None:
    """As many kernels as of known ones: the rows of a product are a batch of lengths again where it ends."""
    most, make, widths = SEVERAL[name]
    module = make().eval()
    dtype = next(module.parameters()).dtype
    dims = {0: torch.export.Dim("batch", min=1), 1: torch.export.Dim("length", min=2, max=512)}
    with torch.no_grad():
        compiled = mlopt.jit(
            module,
            *(torch.randn(3, 7, width).to(dtype) for width in widths),
            dynamic_shapes=tuple(dims for _ in widths),
            **TARGETS[target],
        )
        names = [each.name for each in compiled.kernels if each.function == "main" for _ in range(each.calls)]
        assert len(names) <= most, names
        for batch, length in ((1, 2), (3, 7), (2, 33)):
            x = tuple(torch.randn(batch, length, width).to(dtype) for width in widths)
            Verifier(module, x, {}).check(compiled(*x))


@pytest.mark.parametrize("target", TARGETS)
def test_a_loss_of_each_row_of_unknown_many(target: str) -> None:
    """Scores and classes have as many rows, which torch knows: a class is looked up in its own row."""

    class Loss(nn.Module):
        def forward(self, x: torch.Tensor, classes: torch.Tensor) -> torch.Tensor:
            return F.nll_loss(x.log_softmax(-1), classes, reduction="none")

    def arguments(rows: int) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.randn(rows, 99), torch.randint(0, 99, (rows,))

    rows = torch.export.Dim("rows", min=1)
    compiled = mlopt.jit(Loss(), *arguments(7), dynamic_shapes=({0: rows}, {0: rows}), **TARGETS[target])
    assert sum(each.calls for each in compiled.kernels) == 1
    for count in (1, 7, 33):
        x, classes = arguments(count)
        torch.testing.assert_close(compiled(x, classes), Loss()(x, classes))


def _by_distance(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, slopes: torch.Tensor) -> torch.Tensor:
    """A bias by distance, and no keys ahead: both are made of the places' numbers."""
    rows, keys = torch.arange(q.shape[-2]), torch.arange(k.shape[-2])
    scores = q @ k.mT * 0.25 + (keys - rows[:, None]) * slopes[:, None, None]
    return scores.masked_fill(rows[:, None] < keys, -math.inf).softmax(-1) @ v


def _capped(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, hidden: torch.Tensor) -> torch.Tensor:
    """Scores that a tanh keeps small, and a mask that is not as it is given."""
    scores = torch.tanh(q @ k.mT * 0.01) * 25
    return scores.masked_fill(~hidden, -math.inf).softmax(-1) @ v


@pytest.mark.parametrize("function", [_by_distance, _capped])
def test_masks_that_attention_makes_itself(function: Callable[..., torch.Tensor]) -> None:
    batch, rows, keys = (torch.export.Dim(name, min=2, max=512) for name in ("batch", "rows", "keys"))
    last = None if function is _by_distance else {0: rows, 1: keys}
    shapes = ({0: batch, 2: rows}, {0: batch, 2: keys}, {0: batch, 2: keys}, last)

    def inputs(batch: int, rows: int, keys: int) -> tuple[torch.Tensor, ...]:
        mask = torch.rand(3) if last is None else (torch.rand(rows, keys) < 0.7).index_fill(1, ZERO, True)
        return (torch.randn(batch, 3, rows, 16), *torch.randn(2, batch, 3, keys, 16), mask)

    module = Function(function)
    compiled = mlopt.jit(module, *inputs(2, 33, 50), dynamic_shapes=(shapes,))
    assert sum(each.calls for each in compiled.kernels) == 1
    for sizes in ((2, 33, 50), (3, 7, 130), (5, 65, 9)):
        given = inputs(*sizes)
        Verifier(module, given, {}).check(compiled(*given))


def _masked_huber(x: torch.Tensor, y: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    return (F.huber_loss(x, y, reduction="none") * mask).sum() / mask.sum()


def _contrastive(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    x, y = F.normalize(x, dim=-1), F.normalize(y, dim=-1)
    return F.cross_entropy(x @ y.T * 10, torch.arange(x.shape[0]))


LOSSES: dict[str, tuple[int, Callable[..., torch.Tensor], Callable[[int], tuple[torch.Tensor, ...]]]] = {
    "smoothed": (
        2,
        lambda x, classes: F.cross_entropy(x, classes, label_smoothing=0.1),
        lambda rows: (torch.randn(rows, 99), torch.randint(0, 99, (rows,))),
    ),
    "masked": (
        2,
        _masked_huber,
        lambda rows: (*torch.randn(2, rows, 33), torch.rand(rows, 33).round() + 0.1),
    ),
    "contrastive": (5, _contrastive, lambda rows: (torch.randn(rows, 24), torch.randn(rows, 24))),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", LOSSES)
def test_losses_of_unknown_many_rows(name: str, target: str) -> None:
    """What is added up of all rows, and how many of them count, is one kernel's, whatever their number."""
    most, function, inputs = LOSSES[name]
    module, example = Function(function), inputs(7)
    shapes = tuple({0: torch.export.Dim("rows", min=2)} for _ in example)
    compiled = mlopt.jit(module, *example, dynamic_shapes=(shapes,), **TARGETS[target])
    assert sum(each.calls for each in compiled.kernels) <= most
    for rows in (2, 7, 131):
        given = inputs(rows)
        Verifier(module, given, {}).check(compiled(*given))


@pytest.mark.parametrize("target", TARGETS)
def test_the_class_of_a_row_of_unknown_length_is_checked_once(target: str) -> None:
    """Where the scores are not known to be many either, a class is looked up, and refused, beside the row."""
    module = Function(lambda x, classes: F.nll_loss(x.log_softmax(-1), classes, reduction="none"))
    rows, length = torch.export.Dim("rows", min=2), torch.export.Dim("length", min=2)
    example = torch.randn(7, 99), torch.randint(0, 99, (7,))
    compiled = mlopt.jit(
        module, *example, dynamic_shapes=(({0: rows, 1: length}, {0: rows}),), **TARGETS[target]
    )
    assert sum(each.calls for each in compiled.kernels) == 1
    for count, width in ((7, 99), (3, 5), (33, 300)):
        given = torch.randn(count, width), torch.randint(0, width, (count,))
        Verifier(module, given, {}).check(compiled(*given))
    with pytest.raises(IndexError):
        compiled(torch.randn(3, 5), torch.tensor([1, 5, 2]))
