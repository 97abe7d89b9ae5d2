"""grid_sample beside eager: NaN, coordinates far outside and at the ends, infinities at [0, 0]."""

import mlopt
import pytest
import torch
from torch.nn import functional as F

INF, NAN = float("inf"), float("nan")
COORDINATES = [NAN, INF, -INF, 1e5, -1e5, 2.5, -3.0, 3.0, 1.0, -1.0, 0.0, -0.0, 1 - 1 / 7, -1 - 1e-7]
CASES = [("zeros", False), ("border", True), ("reflection", False), ("reflection", True)]
MODES = {(2, "bilinear"): CASES, (2, "nearest"): CASES[:1], (2, "bicubic"): CASES[3:]}
MODES |= {(3, "bilinear"): CASES[::3], (3, "nearest"): CASES[1:2]}


def sampling(mode, cases):
    return lambda x, grid: [
        F.grid_sample(x, grid, mode=mode, padding_mode=padding, align_corners=aligned)
        for padding, aligned in cases
    ]


def inputs(dims, dtype=torch.float32):
    """Infinities and NaN at the first elements and the last; each special coordinate in each dimension."""
    x = torch.randn(2, 3, *(3, 5, 7)[-dims:])
    x[0, 0].view(-1)[0], x[0, 2].view(-1)[-1], x[1, 1].view(-1)[0] = INF, -INF, NAN
    grid = torch.rand(2, *(3, 5, 7)[:dims], dims) * 3 - 1.5
    points = grid.view(-1, dims)
    for dim in range(dims):
        points[dim * len(COORDINATES) :][: len(COORDINATES), dim] = torch.tensor(COORDINATES)
    return x.to(dtype), grid.to(dtype)


def check(compiled, function, *given, tolerance=1e-5):
    for actual, eager in zip(compiled(*given), function(*given), strict=True):
        torch.testing.assert_close(actual, eager, rtol=tolerance, atol=tolerance, equal_nan=True)
        assert actual.stride() == eager.stride()
        zeros = (actual == 0) & (eager == 0)
        assert torch.equal(actual.signbit()[zeros], eager.signbit()[zeros])


@pytest.mark.parametrize(
    ("dims", "mode", "padding", "aligned"), [(*key, *case) for key, cases in MODES.items() for case in cases]
)
def test_as_eager(dims, mode, padding, aligned):
    function, given = sampling(mode, [(padding, aligned)]), inputs(dims)
    check(mlopt.jit(function, *given), function, *given)


def test_doubles():
    function, given = sampling("bilinear", [("reflection", False)]), inputs(2, torch.float64)
    check(mlopt.jit(function, *given), function, *given, tolerance=1e-12)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_halves_are_rounded_once(dtype):
    """Eager's own positions have 8 or 11 bits, and NaN as a 16-bit integer is 0: beside it in float64."""
    given = inputs(2, dtype)
    function = sampling("bilinear", [("zeros", False)])
    (actual,), (exact,) = (
        mlopt.jit(function, *given)(*given),
        function(*[each.double() for each in given]),
    )
    assert actual.dtype == dtype
    torch.testing.assert_close(actual.double(), exact, rtol=torch.finfo(dtype).eps, atol=1e-5, equal_nan=True)


def test_one_element_along_a_dimension():
    function = sampling("bilinear", [("border", True), ("reflection", True)])
    x, grid = inputs(2)
    check(mlopt.jit(function, x[:, :, :1], grid), function, x[:, :, :1].contiguous(), grid)


def test_dynamic_sizes():
    function, (x, grid) = sampling("bilinear", [("reflection", True)]), inputs(2)
    batch, rows, columns = (torch.export.Dim(name) for name in ("batch", "rows", "columns"))
    dynamic = ({0: batch, 2: rows, 3: columns}, {0: batch, 1: torch.export.Dim("points")})
    compiled = mlopt.jit(function, x, grid, dynamic_shapes=dynamic)
    check(compiled, function, x, grid)
    check(compiled, function, x[:1, :, 1:, :4].contiguous(), grid[:1, :2].contiguous())


def test_on_the_emulator():
    function, given = sampling("bilinear", [("zeros", False)]), inputs(2)
    check(mlopt.jit(function, *given, target="cuda:sm_80", device="emulator"), function, *given)
