"""Reductions of rows, of columns and of everything: long, short, odd and empty; against eager in float64."""

from collections.abc import Callable
from typing import Any

import mlopt
import pytest
import torch
import torch.nn.functional as F
from mlopt.runtime.verification import Verifier
from torch import nn

HALVES = (torch.float16, torch.bfloat16)
FLOATS = (torch.float32, torch.float64, *HALVES)

ROWS: dict[str, Callable[..., Any]] = {
    "softmax": lambda x: x.softmax(-1),
    "log_softmax": lambda x: x.log_softmax(-1),
    "layer_norm": lambda x: F.layer_norm(x, x.shape[-1:]),
    "rms_norm": lambda x: x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5),
    "divided by sums": lambda x: x / x.abs().sum(-1, keepdim=True),
    "sum": lambda x: x.sum(-1),
    "var": lambda x: x.var(-1, correction=0),
    "amax": lambda x: x.amax(-1),
    "argmax": lambda x: x.argmax(-1),
    "max": lambda x: x.max(-1),
    "logsumexp": lambda x: x.logsumexp(-1),
}
COLUMNS: dict[str, Callable[..., Any]] = {
    "sum": lambda x: x.sum(0),
    "mean": lambda x: x.mean(0),
    "var": lambda x: x.var(0, correction=0),
    "normalized": lambda x: (x - x.mean(0)) * torch.rsqrt(x.var(0, correction=0) + 1e-5),
    "amin": lambda x: x.amin(0),
    "argmin": lambda x: x.argmin(0),
    "softmax": lambda x: x.softmax(0),
}
TOTALS: dict[str, Callable[..., Any]] = {
    "divided by the sum": lambda x: x / x.abs().sum(),
    "mean": lambda x: x.mean(),
    "var": lambda x: x.var(correction=0),
    "normalized": lambda x: (x - x.mean()) / (x.std(correction=0) + 1e-5),
    "argmax": lambda x: x.argmax(),
    "max": lambda x: x.max(),
    "norm": lambda x: x.norm(),
    "softmax": lambda x: x.flatten().softmax(0),
    "mean and var": lambda x: (x.mean(), x.var(correction=0)),
    "loss": lambda x: F.mse_loss(x, x.flip(0)),
}


class Module(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: torch.Tensor) -> Any:
        return self.function(*args)


def draw(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """Numbers that are not around zero, so that a variance by the squares' mean would show."""
    return (torch.randn(shape) + 3).to(dtype)


def check(function: Callable[..., Any], *inputs: torch.Tensor, **options: Any) -> None:
    module = Module(function)
    with torch.no_grad():
        compiled = mlopt.jit(module, *inputs, **options)
        verifier = Verifier(module, inputs, {})
        verifier.check(compiled(*inputs))


@pytest.mark.parametrize("shape", [(7, 1000), (2, 20011)], ids=str)
@pytest.mark.parametrize("name", ROWS)
def test_rows(name: str, shape: tuple[int, ...]) -> None:
    check(ROWS[name], draw(shape, torch.float32))


@pytest.mark.parametrize("dtype", FLOATS[1:], ids=str)
@pytest.mark.parametrize("name", ["log_softmax", "layer_norm", "max"])
def test_dtypes_of_rows(name: str, dtype: torch.dtype) -> None:
    check(ROWS[name], draw((3, 20011), dtype))


@pytest.mark.parametrize("name", ["softmax", "sum"])
def test_few_very_long_rows(name: str) -> None:
    check(ROWS[name], draw((4, 300_000), torch.float32))


@pytest.mark.parametrize("shape", [(20000, 40), (2003, 67)], ids=str)
@pytest.mark.parametrize("name", COLUMNS)
def test_columns(name: str, shape: tuple[int, ...]) -> None:
    check(COLUMNS[name], draw(shape, torch.float32))


@pytest.mark.parametrize("dtype", FLOATS[1:], ids=str)
@pytest.mark.parametrize("name", ["var", "softmax"])
def test_dtypes_of_columns(name: str, dtype: torch.dtype) -> None:
    check(COLUMNS[name], draw((20000, 40), dtype))


@pytest.mark.parametrize("shape", [(65536,), (2, 301, 777)], ids=str)
@pytest.mark.parametrize("name", TOTALS)
def test_totals(name: str, shape: tuple[int, ...]) -> None:
    check(TOTALS[name], draw(shape, torch.float32))


@pytest.mark.parametrize("name", ["divided by the sum", "mean and var", "argmax"])
def test_a_number_without_divisors(name: str) -> None:
    check(TOTALS[name], draw((100003,), torch.float32))


def test_single_elements() -> None:
    x = draw((3, 1), torch.float32)
    check(lambda x: (x.softmax(-1), x.var(-1, correction=0), x.sum(0), x.argmax(-1), x.max(-1)), x)
    check(lambda x: (x.softmax(0), x.mean(), x.var(correction=0), x.norm()), x[:1])


@pytest.mark.parametrize("dtype", FLOATS[1:], ids=str)
@pytest.mark.parametrize("name", ["normalized", "max"])
def test_dtypes_of_totals(name: str, dtype: torch.dtype) -> None:
    check(TOTALS[name], draw((60, 1000), dtype))


@pytest.mark.parametrize("name", ["log_softmax", "argmax", "max", "var"])
def test_rows_of_infinities_and_nan(name: str) -> None:
    """Where a row is -inf altogether, has an infinity or a NaN in its last chunk, eager's result is met."""
    x = draw((6, 20011), torch.float32)
    x[0] = -torch.inf
    x[1, 20000:] = -torch.inf
    x[2, 20010] = torch.nan
    x[3, 4] = torch.inf
    x[4, 4], x[4, 20010] = torch.nan, torch.inf
    check(ROWS[name], x)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_a_nan_at_any_place_of_a_row(dtype: torch.dtype) -> None:
    """In each second row, in another lane and turn each; the loops of the others see none."""
    x = draw((1100, 1100), dtype)
    places = torch.arange(0, 1100, 2)
    x[places, places] = torch.nan
    check(lambda x: (x.amax(-1), x.amin(-1), x.argmax(-1)), x)


@pytest.mark.parametrize("name", ["var", "amin", "argmin"])
def test_columns_of_infinities_and_nan(name: str) -> None:
    x = draw((20000, 9), torch.float32)
    x[:, 0] = -torch.inf
    x[19999, 2] = torch.nan
    x[7, 3] = torch.inf
    x[9, 4], x[19998, 4] = torch.nan, -torch.inf
    check(COLUMNS[name], x)


@pytest.mark.parametrize("options", [{}, {"target": "cuda:sm_80", "device": "emulator"}], ids=["cpu", "gpu"])
def test_parts_of_infinities_and_nan(options: dict[str, Any]) -> None:
    """Whole parts of a softmax and of an argmax are -inf; the largest number comes twice, and so does NaN."""

    def function(x: torch.Tensor) -> Any:
        return x.softmax(0), x.max(0)

    x = draw((40000,), torch.float32)
    x[0:15000], x[17000], x[39000] = -torch.inf, 11.0, 11.0
    module = Module(function)
    compiled = mlopt.jit(module, x, **options)
    inputs = [x, torch.full_like(x, -torch.inf), torch.zeros_like(x)]
    for number in (-torch.inf, torch.inf, torch.nan):
        inputs += [x.clone()]
        inputs[-1][[16000, 33333]] = number
    for each in inputs:
        Verifier(module, (each,), {}).check(compiled(each))


@pytest.mark.parametrize("name", ["sum", "divided by sums", "log_softmax"])
@pytest.mark.parametrize("shape", [(0, 70000), (3, 0)], ids=str)
def test_nothing_to_reduce(name: str, shape: tuple[int, ...]) -> None:
    check(ROWS[name], torch.zeros(shape))


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8, torch.bool], ids=str)
def test_integers(dtype: torch.dtype) -> None:
    x = torch.randint(0, 2 if dtype == torch.bool else 100, (20000, 40)).to(dtype)
    check(lambda x: (x.sum(), x.sum(0), x.sum(-1), x.any(0)), x)
    if dtype != torch.bool:
        check(lambda x: (x.amax(), x.amax(0), x.argmax(), x.max(-1)), x)


@pytest.mark.parametrize("name", ["sum", "softmax", "var"])
def test_unknown_number_of_rows(name: str) -> None:
    module = Module(ROWS[name])
    batch = torch.export.Dim("batch", min=1, max=64)
    x = draw((6, 70000), torch.float32)
    compiled = mlopt.jit(module, x, dynamic_shapes={"args": ({0: batch},)})
    for rows in (1, 3, 17):
        x = draw((rows, 70000), torch.float32)
        verifier = Verifier(module, (x,), {})
        verifier.check(compiled(x))


def _searches(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    made = [ROWS[name](x) for name in ("softmax", "layer_norm")]
    return tuple(found for y in made for found in (*y.max(-1), y.argmin(-1)))


@pytest.mark.parametrize("device", [None, "emulator"])
def test_places_in_rows_that_a_total_of_each_has_changed(device: str | None) -> None:
    """Of so many rows as no-one knows, a search goes along each, and the total is of all of it."""
    options = {} if device is None else {"target": "cuda:sm_80", "device": device}
    batch, x = torch.export.Dim("batch", max=64), draw((6, 5), torch.float32)
    module = Module(_searches if device is None else lambda x: x.softmax(-1).max(-1))
    compiled = mlopt.jit(module, x, dynamic_shapes={"args": ({0: batch},)}, **options)
    for rows in (1, 9):
        x = draw((rows, 5), torch.float32)
        Verifier(module, (x,), {}).check(compiled(x))


@pytest.mark.parametrize(
    "function", [COLUMNS["var"], TOTALS["normalized"], TOTALS["norm"], ROWS["sum"], ROWS["softmax"]]
)
@pytest.mark.parametrize("shape", [(4000, 300), (20011, 1)], ids=str)
def test_any_number_of_threads(
    function: Callable[..., Any], shape: tuple[int, int], threads: Callable[[int], None]
) -> None:
    """Bit for bit: the parts of a reduction depend on the shapes alone."""
    x = draw(shape, torch.float32)
    compiled = mlopt.jit(Module(function), x)
    results = []
    for count in (1, 2, 5, 2):
        threads(count)
        results.append(compiled(x).clone())
    assert all(torch.equal(results[0], other) for other in results[1:])


LOSSES: dict[str, Callable[..., Any]] = {
    "nll": lambda x, t, w: F.nll_loss(F.log_softmax(x, -1), t, reduction="none"),
    "mean": lambda x, t, w: F.cross_entropy(x, t),
    "sum": lambda x, t, w: F.cross_entropy(x, t, reduction="sum"),
    "weighted": lambda x, t, w: F.cross_entropy(x, t, weight=w),
    "ignored": lambda x, t, w: F.cross_entropy(x, t, weight=w, ignore_index=2, reduction="none"),
    "smoothed": lambda x, t, w: F.cross_entropy(x, t, label_smoothing=0.1),
    "read again": lambda x, t, w: (lambda rows: (F.nll_loss(rows, t, reduction="none"), rows.exp().sum(-1)))(
        F.log_softmax(x, -1)
    ),
}


@pytest.mark.parametrize(
    ("name", "dtype"),
    [(name, torch.float32) for name in LOSSES]
    + [(name, dtype) for name in ("nll", "weighted") for dtype in FLOATS[1:]],
    ids=str,
)
def test_losses(name: str, dtype: torch.dtype) -> None:
    x, t, w = draw((9, 20011), dtype), torch.randint(3, 20011, (9,)), torch.rand(20011).to(dtype)
    t[2:4] = torch.tensor([-100, 2]) if name != "ignored" else torch.tensor([2, 2])
    check(LOSSES[name], x, t, w)


@pytest.mark.parametrize("target", [-1, 50])
def test_a_target_out_of_range(target: int) -> None:
    """The element that is read instead of a row is checked as before."""
    x, t, w = draw((4, 50), torch.float32), torch.tensor([1, 2, 3, 4]), torch.rand(50)
    for function in (LOSSES["nll"], LOSSES["mean"], LOSSES["weighted"]):
        compiled = mlopt.jit(Module(function), x, t, w)
        bad = t.clone()
        bad[2] = target
        with pytest.raises(IndexError):
            compiled(x, bad, w)
        compiled(x, t, w)


ON_GPU: dict[str, tuple[Callable[..., Any], tuple[int, ...]]] = {
    "columns": (COLUMNS["sum"], (5000, 40)),
    "normalized columns": (COLUMNS["normalized"], (5000, 12)),
    "softmax of columns": (COLUMNS["softmax"], (300, 70)),
    "variance": (TOTALS["var"], (101, 307)),
    "argmax": (TOTALS["argmax"], (20000,)),
    "a prime number": (TOTALS["mean and var"], (20011,)),
    "normalized": (TOTALS["normalized"], (20000,)),
    "long layer_norm": (ROWS["layer_norm"], (1, 66003)),
    "long rows": (ROWS["sum"], (2, 140000)),
    "max of rows": (ROWS["max"], (5, 1001)),
}


@pytest.mark.parametrize("name", ON_GPU)
def test_on_the_emulator(name: str) -> None:
    function, shape = ON_GPU[name]
    check(function, draw(shape, torch.float32), target="cuda:sm_80", device="emulator")


@pytest.mark.parametrize("name", ["nll", "weighted", "ignored"])
def test_losses_on_the_emulator(name: str) -> None:
    x, t, w = draw((5, 2003), torch.float32), torch.randint(3, 2003, (5,)), torch.rand(2003)
    check(LOSSES[name], x, t, w, target="cuda:sm_80", device="emulator")


@pytest.mark.parametrize("size", [2, 3, 17])
def test_a_vector_along_both_dims_of_a_square(size: int) -> None:
    """Beside another result with the vector's rows, in whose loops the square's diagonal alone would be."""

    class Module(nn.Module):
        def forward(self, x: torch.Tensor, v: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return x * v[:, None], (v.abs() + 1)[:, None] * v[None, :]

    compiled = mlopt.jit(Module(), torch.randn(size, 19), torch.randn(size))
    inputs = torch.randn(size, 19), torch.randn(size)
    torch.testing.assert_close(compiled(*inputs), Module()(*inputs))
