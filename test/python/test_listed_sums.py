"""Sums over rows that indices name on a GPU: blocks list what is theirs, and read nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mlopt
import pytest
import torch
import torch.nn.functional as F
from mlopt import emulator
from mlopt.bench.gpu.measured import measure
from mlopt.bench.gpu.operations import Operation
from mlopt.test.corpus.basic import Function
from mlopt.test.corpus.cases import Case

pytestmark = pytest.mark.usefixtures("inference")

Tensors = tuple[torch.Tensor, ...]
GPU: dict[str, Any] = {"target": "cuda:sm_80", "device": "emulator", "fallback": False}


def rows(given: int, places: int, width: int, dtype: torch.dtype = torch.float32) -> Tensors:
    """A tensor, indices of its rows, some of which come often, and what is added there."""
    index = torch.randint(places, (given,))
    index[::7] = places - 1
    return torch.randn(places, width).to(dtype), index, torch.randn(given, width).to(dtype)


def index_add(x: torch.Tensor, i: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x.index_add(0, i, y)


def is_listed(compiled: Any) -> bool:
    """Whether a kernel of a program lists what it reads."""
    return "vector.compressstore" in compiled.asm["tile"]


def check(function: Callable[..., torch.Tensor], inputs: Tensors, *, listed: bool = True) -> Any:
    """Compare with eager in float64, twice, bit for bit."""
    compiled = mlopt.jit(function, *inputs, **GPU)
    assert is_listed(compiled) == listed
    found = compiled(*inputs)
    wanted = function(*(each.double() if each.is_floating_point() else each for each in inputs))
    same = (found == wanted) | (found.isnan() & wanted.isnan())
    off, eager = (
        (result.double() - wanted)[~same & wanted.isfinite()].abs() for result in (found, function(*inputs))
    )
    assert torch.all(same | wanted.isfinite()) and (not off.numel() or off.max() <= 2 * eager.max() + 1e-5)
    assert torch.equal(compiled(*inputs).nan_to_num(7), found.nan_to_num(7))
    return compiled


@pytest.mark.parametrize(
    ("given", "places", "width"),
    [
        (256, 512, 512),
        (300, 700, 768),  # blocks of a part of the columns
        (1500, 333, 96),  # two steps, the last one ragged
        (200, 1000, 130),  # rows that begin anywhere
        (97, 2000, 1000),
    ],
)
def test_rows_of_all_sizes(given: int, places: int, width: int) -> None:
    check(index_add, rows(given, places, width))


@pytest.mark.parametrize(
    "dtype", [torch.float16, torch.bfloat16, torch.float64, torch.int32, torch.int64], ids=str
)
def test_dtypes(dtype: torch.dtype) -> None:
    x, index, y = rows(300, 700, 256)
    x, y = (x * 9).to(dtype), (y * 9).to(dtype)
    if dtype.is_floating_point:
        check(index_add, (x, index, y))
    else:
        compiled = mlopt.jit(index_add, x, index, y, **GPU)
        assert is_listed(compiled)
        assert torch.equal(compiled(x, index, y), index_add(x, index, y))


@pytest.mark.parametrize(
    "index", [torch.zeros(300), torch.arange(300), torch.arange(300).flip(0), torch.full((300,), 699)]
)
def test_indices_of_all_kinds(index: torch.Tensor) -> None:
    """All the same, where one block has all, and each its own."""
    x, _, y = rows(300, 700, 256)
    check(index_add, (x, index.long(), y))


def test_what_is_not_named_stays_out() -> None:
    """NaN and infinities of other rows."""
    x, index, y = rows(300, 700, 256)
    y[::9], y[4] = torch.inf, torch.nan
    check(index_add, (x, index, y))


def test_a_wrong_index_is_an_error() -> None:
    x, index, y = rows(300, 700, 256)
    compiled = mlopt.jit(index_add, x, index, y, **GPU)
    for place, wrong in ((0, 700), (299, -1), (150, 2**40), (7, -(2**63))):
        bad = index.clone()
        bad[place] = wrong
        with pytest.raises(IndexError, match="index out of range"):
            compiled(x, bad, y)
    compiled(x, index, y)


FORMS: dict[str, tuple[Callable[..., torch.Tensor], Callable[[], Tensors]]] = {
    "index_put": (
        lambda x, i, y: torch.index_put(x, (i,), y, accumulate=True),
        lambda: rows(300, 700, 256),
    ),
    "the gradient of an embedding": (
        lambda x, i, y: torch.zeros_like(x).index_add(0, i, y * 2) + 1,
        lambda: rows(300, 700, 256),
    ),
    "rows of two dims": (
        lambda x, i, y: x.view(700, 4, 64).index_add(0, i, y.view(300, 4, 64)),
        lambda: rows(300, 700, 256),
    ),
    "int32": (lambda x, i, y: x.index_add(0, i.int(), y), lambda: rows(300, 700, 256)),
}


@pytest.mark.parametrize("name", FORMS)
def test_forms(name: str) -> None:
    function, make = FORMS[name]
    check(function, make())


def test_few_columns_compare_all_pairs() -> None:
    """A block would wait for one element after the other."""
    check(index_add, rows(300, 20, 2), listed=False)


def test_gradient_of_an_embedding() -> None:
    """By torch.compile, in the backward pass."""
    with torch.inference_mode(False), torch.enable_grad():
        table = torch.randn(700, 256, requires_grad=True)
        tokens, weights = torch.randint(700, (3, 100)), torch.randn(3, 100, 256)
        function = torch.compile(
            lambda t, i: (F.embedding(i, t) * weights).sum(),
            backend="mlopt",
            options={"target": "cuda:sm_80", "device": "emulator"},
        )
        function(table, tokens).backward()
    wanted = torch.zeros(700, 256).index_add(0, tokens.flatten(), weights.view(300, 256))
    assert table.grad is not None
    torch.testing.assert_close(table.grad, wanted)


@pytest.mark.parametrize(("given", "places", "width"), [(256, 512, 512), (1500, 1500, 128)])
def test_bytes(given: int, places: int, width: int) -> None:
    """Memory moves what it must, and little more is asked for."""
    x, index, y = rows(given, places, width)
    compiled = check(index_add, (x, index, y))
    (kernel,) = [each for each in compiled.report.gpu.kernels if not each.name.endswith("_unaligned")]
    assert kernel.spills == 0
    (found,) = measured(index_add, x, index, y)
    assert found.moved <= 1.02 * found.least and found.requested <= 2 * found.least
    assert found.wide[0] == found.wide[1] and found.sectors == 1 and found.resident


@pytest.mark.parametrize(("given", "places", "width"), [(256, 48, 512), (1500, 333, 128)])
def test_orders_of_warps(given: int, places: int, width: int) -> None:
    """Nothing is found in any of them, and no two lanes meet in a bank; of one step, and of two."""
    x, index, y = rows(given, places, width)
    compiled = check(index_add, (x, index, y))
    (kernel,) = [each for each in compiled.report.gpu.kernels if not each.name.endswith("_unaligned")]
    program, results = emulator.load(compiled.asm["ptx"]), []
    for order in ("together", "round-robin", "ahead", "random"):
        results.append(torch.empty_like(x))
        ran = program.launch(
            kernel.name,
            kernel.grid,
            kernel.threads,
            [index, y, x, results[-1], torch.zeros(4, dtype=torch.int32)],
            kernel.shared,
            options=emulator.Options(order),
        )
        assert not ran.findings and ran.counters.bank_conflicts == 0
    wanted = compiled(x, index, y)
    assert all(torch.equal(wanted, each) for each in results)


def measured(function: Callable[..., torch.Tensor], *inputs: torch.Tensor) -> list[Any]:
    """What the gates measure of a function's kernels."""
    case = Case("listed", lambda: Function(function), lambda *_: inputs)
    return measure(Operation("listed", case, torch.float32), "sm_80")
