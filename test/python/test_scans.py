"""Running sums, products and extremes: as eager's, of any size; memory is read once and written once."""

from collections.abc import Callable

import mlopt
import pytest
import torch
from mlopt import emulator
from mlopt.frontends.decomposing import scans
from mlopt.test.corpus.basic import Function

FLOATS = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
INTEGERS = (torch.int64, torch.int32, torch.uint8, torch.bool)


# What has no kernel of its own.
@pytest.mark.parametrize("size", [1, 2, 15, 16, 17, 26, 31, 160, 257, 1000, 1009])
@pytest.mark.parametrize("dtype", [torch.float64, torch.int32], ids=str)
def test_parts(size: int, dtype: torch.dtype) -> None:
    x = (3 * torch.randn(2, size, 3)).to(dtype)
    found = scans._scan_parts(x, 1, scans._MINIMA._replace(neutral=1000), exclusive=False)
    torch.testing.assert_close(found, x.cummin(1).values)


# Around the edges of registers and strips, of rows and of columns; the same bits for any number of threads.
@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS], ids=str)
def test_dtypes_on_cpus(dtype: torch.dtype, threads: Callable[[int], None]) -> None:
    shapes = [(3, 1), (2, 7), (2, 16), (17, 33), (5, 70), (2, 33, 3)]
    inputs = [(3 * torch.randn(shape)).to(dtype) for shape in shapes]
    functions = [torch.cumsum, torch.cumprod]
    functions += [] if dtype == torch.bool else [torch.cummax, torch.cummin]
    functions += [torch.logcumsumexp] if dtype.is_floating_point else []

    def run(*inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        results = (each(x, dim) for each in functions for x in inputs for dim in (0, 1))
        return tuple(x for each in results for x in ([each] if isinstance(each, torch.Tensor) else each))

    module = Function(run)
    compiled = mlopt.jit(module, *inputs)
    assert not compiled.report.slow_paths
    results = []
    for count in (1, 2, 5):
        threads(count)
        results.append(compiled(*inputs))
    for found, *others, eager in zip(*results, module(*inputs), strict=True):
        torch.testing.assert_close(found, eager, equal_nan=True)
        assert all(torch.equal(each.view(torch.uint8), found.view(torch.uint8)) for each in others)


# Rows that have nothing in common are scanned one after the other, in one kernel or several.
@pytest.mark.parametrize(
    "run",
    [
        lambda x, y: (x.cumsum(1), y.cumsum(1)),
        lambda x, y: (x.cumsum(0), y.cumprod(0)),
        lambda x, y: x.cumsum(1) + x.flip(1).cumsum(1).flip(1),
        lambda x, y: (x[:, :4].cumsum(1), x[:, 4:8].cumsum(1)),
        lambda x, y: (x[:, 1:].cumsum(1), x[:, :-1].cumsum(1)),
        lambda x, y: (x[:, ::2].cumsum(1), x[:, 1::2].cumsum(1)),
        lambda x, y: (x[:8].cumsum(1), x[:8, :8].t().cumsum(1)),
        lambda x, y: tuple(part.cumprod(1) for part in y.chunk(2, 1)),
        lambda x, y: (x.cummax(0)[0], y.cummin(0)[0]),
        lambda x, y: (x.cumsum(1), y.cumsum(1).sum(1), y.exp()),
        lambda x, y: (x[:, None].cumsum(2), x[:, None].cumprod(2)),
        lambda x, y: (x.unsqueeze(0).unsqueeze(2).cumsum(3), y.unsqueeze(2).cummax(1)[1]),
    ],
)
@pytest.mark.parametrize("shape", [(9, 12), (70, 34)])
def test_several_scans_on_cpus(run: Callable[..., object], shape: tuple[int, int]) -> None:
    x, y = torch.randn(shape), torch.randn(shape)
    torch.testing.assert_close(mlopt.jit(Function(run), x, y)(x, y), run(x, y))


@pytest.mark.parametrize("target", ["cpu", "cuda:sm_80"])
def test_dtypes_that_are_asked_for(target: str) -> None:
    """Elements are of that dtype before they are added up; 70000 is infinite in f16."""

    def run(x: torch.Tensor, n: torch.Tensor, d: torch.Tensor) -> tuple[torch.Tensor, ...]:
        integers, doubles = torch.int64, torch.float64
        products = n.cumprod(1, dtype=integers), d.cumprod(1, dtype=doubles), x.cumprod(1, dtype=doubles)
        sums = n.cumsum(1, dtype=integers), d.cumsum(1, dtype=torch.float32), x.cumsum(1, dtype=torch.float16)
        return (*products, *sums)

    x = torch.tensor([[70000.0, -70000.0, 5.0], [1.0, 2049.0, 2049.0]])
    n, d = torch.randint(-3, 4, (3, 17)), torch.randn(3, 17, dtype=torch.float64)
    device = {} if target == "cpu" else {"device": "emulator"}
    found = mlopt.jit(Function(run), x, n, d, target=target, **device)(x, n, d)
    torch.testing.assert_close(found, run(x, n, d), equal_nan=True)


def test_extremes_along_rows_of_any_length_are_refused() -> None:
    """By name, also beside a dim of one element."""
    rows = torch.export.Dim("rows", min=2, max=100)
    with pytest.raises(mlopt.UnsupportedOpError, match=r"cannot compile aten\.cummax"):
        mlopt.jit(Function(lambda x: x.cummax(0)), torch.randn(5, 1), dynamic_shapes=(({0: rows},),))


@pytest.mark.parametrize("place", [0, 15, 16, 500])
@pytest.mark.parametrize("value", [torch.nan, torch.inf, -torch.inf])
def test_what_is_not_finite_stays_where_it_ends(place: int, value: float) -> None:
    x = torch.rand(600, dtype=torch.float64) + 0.5
    x[place] = value
    module = Function(lambda x: (x.cumsum(0), x.clamp(max=1).cumprod(0), *x.cummax(0), *x.cummin(0)))
    for found, eager in zip(mlopt.jit(module, x)(x), module(x), strict=True):
        torch.testing.assert_close(found, eager, equal_nan=True)


def test_sums_of_many_equal_numbers() -> None:
    """Totals are kept in f64, as eager's: in f32 a million times 0.1 is off by 1 %."""
    x = torch.full((1, 1_000_000), 0.1)
    compiled = mlopt.jit(Function(lambda x: (x.cumsum(1), x.logcumsumexp(1))), x)
    for found, wanted in zip(compiled(x), (x.double().cumsum(1), x.double().logcumsumexp(1)), strict=True):
        torch.testing.assert_close(found, wanted.float(), rtol=3e-7, atol=0)


def test_sums_start_from_zero() -> None:
    x = torch.tensor([[-0.0, -0.0, 1], [-0.0, 0.0, -0.0]])
    for found in mlopt.jit(Function(lambda x: (x.cumsum(0), x.cumsum(1))), x)(x):
        assert not found[:, :2].signbit().any()


def test_what_is_beside_totals_on_cpus() -> None:
    """Sums of rows and what is element-wise are in their kernel, other work is not."""
    x = torch.randn(37, 130)
    inside: list[Callable[[torch.Tensor], torch.Tensor]] = [
        lambda x: (x.softmax(1).cumsum(1) * 2).clamp(max=1.5),
        lambda x: x.cumsum(1).cumsum(1),
        lambda x: x.cummin(1)[0] - x,
        lambda x: x.reshape(37, 10, 13).exp().cumsum(1),
    ]
    for function in inside:
        compiled = mlopt.jit(Function(function), x)
        assert len(compiled.kernels) == 1
        torch.testing.assert_close(compiled(x), function(x))
    apart: list[Callable[[torch.Tensor], torch.Tensor]] = [
        lambda x: x.cumsum(1).sum(1),
        lambda x: x.cumsum(1)[:, 1:] * 2,
        lambda x: x.cumsum(1).t().contiguous(),
        lambda x: x.cumsum(0).cumsum(1),
        lambda x: torch.cat([x.cumsum(1), x.cumsum(0)], 1),
        lambda x: x.cumsum(1).unsqueeze(2) * x[:1, :3],
    ]
    for function in apart:
        torch.testing.assert_close(mlopt.jit(Function(function), x)(x), function(x), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_logarithms_of_sums_of_what_overflows(dtype: torch.dtype) -> None:
    inf = torch.inf
    special = torch.tensor(
        [[-200, -201, -199, 1], [6e4, 1, 2, 3], [-inf, -inf, 1, inf], [1, torch.nan, 2, -inf]]
    )
    function = Function(lambda x, y: (x.logcumsumexp(1), y.logcumsumexp(0)))
    x, y = special.to(dtype), (20 * torch.randn(1000, 2)).to(dtype)
    for found, eager in zip(mlopt.jit(function, x, y)(x, y), function(x, y), strict=True):
        torch.testing.assert_close(found, eager, equal_nan=True)


@pytest.mark.parametrize("target", ["cpu", "cuda:sm_80"])
def test_logarithms_along_what_has_any_length(target: str) -> None:
    """On GPUs in a kernel each, whose steps carry totals on; nothing overflows, or is lost beside others."""
    inf, columns = torch.inf, torch.export.Dim("columns", min=0)
    module = Function(lambda x, y: (x.logcumsumexp(1), y.logcumsumexp(0)))
    device = {} if target == "cpu" else {"device": "emulator"}
    special = torch.tensor(
        [[-200, -201, -199, 1], [6e4, 1, 2, 3], [-inf, -inf, 1, inf], [1, torch.nan, 2, -inf]]
    )
    sizes = {"args": ({1: columns}, {0: columns})}
    compiled = mlopt.jit(
        module, special, torch.zeros(4, 3).half(), dynamic_shapes=sizes, target=target, **device
    )
    if compiled.report.gpu is not None:
        assert sum("scan" in kernel.ops for kernel in compiled.kernels) == 2
        assert not compiled.report.gpu.spills
    for x in (special, 20 * torch.randn(4, 1300), torch.randn(4, 1), torch.randn(4, 0)):
        y = (20 * torch.randn(x.shape[1], 3)).half()
        for found, eager in zip(compiled(x, y), module(x, y), strict=True):
            torch.testing.assert_close(found, eager, equal_nan=True)


# What GPUs run: in each row alone, and in parts of few long rows, of which some are filled up.
@pytest.mark.parametrize("shape", [(5,), (32767,), (32768,), (40009,), (2, 40000), (1, 40961, 2)])
def test_parts_of_long_rows(shape: tuple[int, ...]) -> None:
    x = torch.randint(-3, 4, shape)
    dim = shape.index(max(shape))
    torch.testing.assert_close(scans._run_through(x, dim, scans._SUMS), x.cumsum(dim))
    logarithms = scans._run_through(x.double(), dim, scans._LOGARITHMS)
    torch.testing.assert_close(logarithms, x.double().logcumsumexp(dim))


SIZES = (1, 31, 33, 1000, 4099)


@pytest.mark.parametrize("dim", [0, 1])
def test_sizes_on_gpus(dim: int) -> None:
    """In one launch each, of what is moved once; the same bits in each run."""
    inputs = [torch.randn((size, 3) if dim == 0 else (3, size)) for size in SIZES]
    inputs.append(torch.randn(2, 40, 5))
    inputs[3].view(-1)[[7, 900, 901]] = torch.tensor([torch.inf, -torch.inf, torch.nan])
    module = Function(lambda *inputs: tuple(x.cumsum(dim if x.dim() > 1 else 0) for x in inputs))
    compiled = mlopt.jit(module, *inputs, target="cuda:sm_80", device="emulator")
    assert compiled.report.gpu is not None and not compiled.report.gpu.spills
    with emulator.record() as reports:
        found = compiled(*inputs)
    for x, sums, again, report in zip(inputs, found, compiled(*inputs), reports, strict=False):
        along = dim if x.dim() > 1 else 0
        wanted = x.double().cumsum(along)
        torch.testing.assert_close(sums, wanted.float(), rtol=1e-5, atol=1e-4, equal_nan=True)
        assert torch.equal(sums.view(torch.int32), again.view(torch.int32))
        assert not report.findings and not report.counters.bank_conflicts
        if x.dim() > 1 and x.numel() > 1000:
            assert report.counters.bytes["global"] <= 1.02 * 2 * x.nbytes


def test_dtypes_on_gpus() -> None:
    """Halves are added up in f32, integers in i64, as in eager; so are products, those of f32 in f64."""
    inputs = [(3 * torch.randn(3, 77)).to(dtype) for dtype in (*FLOATS, *INTEGERS)]
    inputs.append(torch.tensor([[-0.0, -0.0, 1], [torch.inf, -torch.inf, 2], [torch.nan, torch.inf, 0]]))
    module = Function(
        lambda *inputs: (*(x.cumsum(1) for x in inputs), *(x.sign().cumprod(0) for x in inputs[:6]))
    )
    compiled = mlopt.jit(module, *inputs, target="cuda:sm_80", device="emulator")
    results = compiled(*inputs)
    for found, eager in zip(results, module(*inputs), strict=True):
        torch.testing.assert_close(found, eager, equal_nan=True)
    assert not results[8][0, :2].signbit().any()  # as eager's, which start from 0


def test_what_is_before_and_behind_is_one_kernel() -> None:
    """A softmax, its running totals and what reads these; a scan of what is scanned is the next kernel."""
    module = Function(lambda x: (x.softmax(1).cumsum(1) * 2).clamp(max=1.5))
    compiled = mlopt.jit(module, torch.randn(9, 300), target="cuda:sm_80", device="emulator")
    assert len(compiled.kernels) == 1
    x = torch.randn(9, 300)
    torch.testing.assert_close(compiled(x), module(x))


def test_any_length_on_gpus() -> None:
    """Also of none, in rows and in columns, behind a softmax, and of what is scanned already."""
    rows, columns = torch.export.Dim("rows", min=0), torch.export.Dim("columns", min=0)
    module = Function(
        lambda x, y: (
            x.cumsum(1),
            (x.cumsum(0) * 2).clamp(max=9),
            y.softmax(1).cumsum(1).cumsum(1),
            y.cumsum(1).sum(1),
            y[0].sign().cumprod(0),
        )
    )

    def inputs(rows: int, columns: int) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.randn(rows, columns), torch.randn(3, columns).half()

    compiled = mlopt.jit(
        module,
        *inputs(7, 100),
        dynamic_shapes={"args": ({0: rows, 1: columns}, {1: columns})},
        target="cuda:sm_80",
        device="emulator",
    )
    assert compiled.report.gpu is not None and not compiled.report.gpu.spills
    for sizes in ((7, 100), (1, 1), (2, 1025), (1000, 40), (0, 5), (5, 0)):
        x, y = inputs(*sizes)
        with emulator.record() as reports:
            found = compiled(x, y)
        assert not any(report.findings or report.counters.bank_conflicts for report in reports)
        for each, wanted in zip(found, module(x.double(), y.double()), strict=True):
            torch.testing.assert_close(each, wanted.to(each.dtype), rtol=2e-3, atol=2e-3)
