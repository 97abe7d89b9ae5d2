"""Values that importers get wrong, through the whole compiler: NaN, infinities, the ends of integers."""

import mlopt
import pytest
import torch
from mlopt.test.corpus.basic import Function
from torch.nn import functional as F
from torch.utils import _pytree as pytree

NAN, INF = float("nan"), float("inf")
TARGETS = {"cpu": {}, "emulator": {"target": "cuda:sm_80", "device": "emulator"}}
FLOATS = torch.tensor([[1.0, NAN, 3.0], [-INF, -INF, -INF], [INF, 1.0, -0.0], [1e-42, 2.0, 2.0]])
OF_FLOATS = {
    "softmax": lambda x: (x.softmax(-1), x.log_softmax(-1), x.logsumexp(-1), F.softmin(x, 0)),
    "places": lambda x: (x.argmax(1), x.argmin(1), x.argmax(), x.max(1).indices, x.min(0).indices),
    "largest": lambda x: (x.max(), x.min(), x.amax(1), x.amin(0), x.max(1).values, x.aminmax(dim=1).min),
    "pairs": lambda x: (x.maximum(x.flip(0)), x.minimum(x.flip(0)), x.fmax(x.flip(0)), x.fmin(x.flip(0))),
    "clamp": lambda x: (
        x.clamp(-1, 1),
        x.clamp(min=0.5),
        x.clamp(x.flip(0), x + 1),
        F.hardtanh(x),
        F.relu6(x),
    ),
    "relu": lambda x: (torch.relu(x), F.leaky_relu(x), F.elu(x), F.hardswish(x), F.threshold(x, 0.5, 2.0)),
    "smooth": lambda x: (
        x.sigmoid(),
        x.tanh(),
        F.silu(x),
        F.softplus(x),
        F.mish(x),
        F.logsigmoid(x),
        x.erf(),
    ),
    "order": lambda x: (
        x.sort(1).values,
        x.sort(dim=1, descending=True, stable=True).indices,
        x.topk(2).values,
        x.kthvalue(3),
    ),
    "powers": lambda x: (x**2, x**5, x**-1, x**-2, x**0.5, x**1.5, x**0.0, 2**x, x ** x.abs(), x.rsqrt()),
    "quotients": lambda x: (1 / x, x // 0.7, x % 0.7, x.fmod(0.7), torch.div(x, -2, rounding_mode="trunc")),
    "compare": lambda x: (x == 0.1, x > 2, x == x, x != x, x <= INF, x.isnan(), x.isinf(), x.isfinite()),
    "identities": lambda x: (
        x - x,
        x * 0,
        x / x,
        x + 0.0,
        0 - x,
        x * -1,
        x.where(x == x, 0),
        x.sum() * 0 + x,
    ),
    "moments": lambda x: (
        x.var(1),
        x.var(1, correction=0),
        x.std(),
        x.mean(1),
        x.prod(1),
        F.layer_norm(x, (3,)),
    ),
    "norms": lambda x: (x.norm(), x.norm(1, dim=1), x.norm(INF, dim=1), F.normalize(x, dim=1), x.nansum()),
    "sums": lambda x: (x.sum(1), x.cumsum(1), x.any(1), x.all(), x.count_nonzero()),
    "writes": lambda x: (
        x.scatter(1, torch.tensor([[0], [2], [1], [1]]), x[:, :1]),
        x.index_add(0, torch.tensor([0, 3, 0]), x[:3]),
        torch.index_put(x, (x > 1,), torch.tensor(7.0, dtype=x.dtype)),
        torch.index_put(x, (torch.tensor([0, -1]),), x[:2]),
        x[torch.tensor([0, -1], dtype=torch.int32)],
        x.index_put((torch.tensor([2, -1]).int(), torch.tensor([0, 1]).int()), x[0, 0]),
    ),
    "casts": lambda x: (x.bool(), x.half(), x.bfloat16(), x.double(), x.nan_to_num(), x.logical_not()),
    "rounding": lambda x: (
        (x * 2.5).round(),
        (x * 2.5).floor(),
        (x * 2.5).ceil(),
        (x * 2.5).trunc(),
        x.sign(),
    ),
}
OF_INTEGERS = {
    "arithmetic": lambda x: (x + 1, x * 3, x - x.flip(0), x * x, x**2, x**3, 3 - x, x - 1, 0 - x.flip(0)),
    "with floats": lambda x: (x + 0.5, x * 0.1, x / 3, x > 0.5, torch.where(x > 3, x, 1.5), x.float().mean()),
    "division": lambda x: (x // 3, x % 3, x.fmod(3), torch.div(x, 3, rounding_mode="trunc"), 3 // (x | 1)),
    "sizes": lambda x: (x.abs(), x.sign(), x[None].prod(1), x[None].amax(1), x[:0].cumsum(0), x[1].cumsum(0)),
    "clamp": lambda x: (x.clamp(2, 5), x.clamp(min=3), x.maximum(x.flip(0)), x.minimum(x.flip(0))),
    "compare": lambda x: (x > 3, x == 7, x <= 5, x != 0, x == x, x >= x.flip(0), x.int() > x),
    "reductions": lambda x: (x.sum(), x.prod(), x.max(), x.min(), x.argmax(), x.any(), x.all(), x.cumsum(0)),
    "sums": lambda x: (x.sum(dtype=torch.int32), x.sum(dtype=torch.float32), x.sum(0, dtype=torch.int16)),
    "order": lambda x: (x.sort().values, x.topk(2).values, x.sort(descending=True).indices),
    "casts": lambda x: (x.float(), x.double(), x.half(), x.int(), x.long(), x.char(), x.byte(), x.bool()),
    "products": lambda x: (x[:, None] @ x[None], x[None] @ x[:, None]),
    "bits": lambda x: (x << 1, x >> 1, x << x, x >> x, x & 3, x | 8, x ^ 5, ~x),
    "moves": lambda x: (x.masked_fill(x == 7, 1), torch.cat([x, x * 2]), F.pad(x, (1, 1), value=3)),
    "logic": lambda x: (
        x.bool() + x.bool(),
        x.bool().sum(),
        x.logical_and(x.flip(0)),
        x.logical_xor(x.flip(0)),
    ),
}


def test_remainders_of_floats_are_exact():
    x = torch.tensor([1e10, -1e10, 5.5, -5.5, -6.0, 0.0, -0.0, 3e38, NAN, INF])
    y = torch.tensor([3.0, 0.7, -2.0, INF, -INF, 0.0, NAN, 1e-42])[:, None]
    for operation in (torch.fmod, torch.remainder, torch.floor_divide):
        actual, expected = mlopt.jit(operation, x, y)(x, y), operation(x, y)
        assert torch.equal(actual.nan_to_num(123), expected.nan_to_num(123))
        numbers = ~expected.isnan()
        assert torch.equal(actual.signbit()[numbers], expected.signbit()[numbers])


def test_floor_division_of_integers_is_exact_and_that_of_floats_is_not():
    x, y = torch.tensor([2**53 + 1, -7, 7]), torch.tensor([1, 2, -2])
    compiled = mlopt.jit(lambda x, y: (x // y, torch.floor(x.double() / y.double()).long()), x, y)
    assert [result.tolist() for result in compiled(x, y)] == [[2**53 + 1, -4, -4], [2**53, -4, -4]]
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        compiled(x, y * 0)


def run(function, x, **options):
    """What the compiled function gives, and eager: lists of tensors."""
    with torch.no_grad():
        compiled = mlopt.jit(Function(function), x, **options)
        return pytree.tree_leaves(compiled(x)), pytree.tree_leaves(function(x))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64], ids=str)
@pytest.mark.parametrize("name", OF_FLOATS)
def test_floats(name, dtype):
    tolerance = {torch.float32: 2e-6, torch.bfloat16: 1e-2, torch.float64: 1e-14}[dtype]
    for actual, eager in zip(*run(OF_FLOATS[name], FLOATS.to(dtype)), strict=True):
        torch.testing.assert_close(actual, eager, rtol=tolerance, atol=0, equal_nan=True)


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64], ids=str)
@pytest.mark.parametrize("name", OF_INTEGERS)
def test_integers(name, dtype):
    ends = torch.iinfo(dtype)
    x = torch.tensor([ends.min, ends.max, ends.max - 1, 0, 7], dtype=dtype)
    for actual, eager in zip(*run(OF_INTEGERS[name], x), strict=True):
        tolerance = 1e-6 if eager.dtype in (torch.float32, torch.float64) else 0
        torch.testing.assert_close(actual, eager, rtol=tolerance, atol=0)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int64], ids=str)
def test_integers_that_become_floats(dtype):
    def function(x):
        joined = torch.cat([x, x.float()]), torch.stack([x, x.int()]), torch.cat([x, x.half(), x.int()])
        return *joined, x.mean(dtype=torch.float32), x[None].mean(1, dtype=torch.float64), x.clamp(0.5, 2.5)

    x = torch.tensor([5, 200, 7, 255, 0]).to(dtype)
    for actual, eager in zip(*run(function, x), strict=True):
        torch.testing.assert_close(actual, eager, rtol=1e-6, atol=0)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int32], ids=str)
def test_integers_in_windows_and_traces(dtype):
    def function(x):
        return F.conv1d(x, x[:, :, :2]), F.hardtanh(x, 0, 3), x[0, :, :1].trace(), x[0].cumprod(1)

    x = torch.tensor([[[5, 200, 7, 255], [1, 2, 3, 0]]]).to(dtype)
    for actual, eager in zip(*run(function, x), strict=True):
        assert torch.equal(actual, eager)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.float64], ids=str)
def test_sums_of_exponentials(dtype):
    def function(x):
        y = x[:, None]
        return torch.logaddexp(x, y), torch.logaddexp2(x, y), torch.logaddexp(x, y.double())

    x = torch.tensor([NAN, INF, -INF, 0.0, -0.0, 1.5, -40.0, 700.0]).to(dtype)
    tolerance = 1e-14 if dtype is torch.float64 else 1e-3 if dtype is torch.float16 else 2e-6
    for actual, eager in zip(*run(function, x), strict=True):
        torch.testing.assert_close(actual, eager, rtol=tolerance, atol=0, equal_nan=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64], ids=str)
def test_hypotenuses(dtype):
    """Infinite beside NaN; exact where squares overflow or underflow; of two dtypes the wider one."""

    def function(x):
        y = x[:, None]
        return torch.hypot(x, y), torch.hypot(x, y.float())

    least, most = torch.finfo(dtype).smallest_normal, torch.finfo(dtype).max
    ends = [least, 3 * least, least / 4, most, most / 2, most / 8]
    x = torch.tensor([NAN, INF, -INF, 0.0, -0.0, 3.0, -4.0, 1e-3, *ends]).to(dtype)
    for actual, eager in zip(*run(function, x), strict=True):
        rtol = {torch.float32: 4e-7, torch.float64: 1e-15}.get(actual.dtype, torch.finfo(actual.dtype).eps)
        torch.testing.assert_close(actual, eager, rtol=rtol, atol=0, equal_nan=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int32], ids=str)
def test_bounds_that_are_nan(dtype):
    def function(x):
        pairs = x.clamp(NAN, 1.0), x.clamp(-1.0, NAN), x.clamp(min=NAN), x.clamp(max=NAN)
        return *pairs, torch.clamp_min(x, NAN), torch.clamp_max(x, NAN)

    for actual, eager in zip(*run(function, torch.tensor([1, -2, 3]).to(dtype)), strict=True):
        torch.testing.assert_close(actual, eager, equal_nan=True)


@pytest.mark.parametrize("number", [NAN, INF, -INF], ids=str)
def test_numbers_that_are_not_finite(number):
    def function(x):
        return x**number, F.leaky_relu(x, number), x + number, torch.where(x > 0, x, number), x == number

    for actual, eager in zip(*run(function, FLOATS), strict=True):
        torch.testing.assert_close(actual, eager, equal_nan=True)


@pytest.mark.parametrize("sizes", [(2, 3), (7, 4), (3, 5), (9, 1), 1], ids=str)
def test_windows_of_uneven_sizes(sizes):
    def function(x):
        return F.adaptive_max_pool2d(x, sizes, return_indices=True), F.adaptive_max_pool2d(x[0], sizes)

    for actual, eager in zip(*run(function, torch.randn(2, 3, 7, 8)), strict=True):
        assert torch.equal(actual, eager)


@pytest.mark.parametrize("sizes", [1, (2, 3, 2), (3, 5, None)], ids=str)
@pytest.mark.parametrize("target", TARGETS)
def test_windows_of_volumes(target, sizes):
    def function(x):
        return *F.adaptive_max_pool3d(x, sizes, return_indices=True), F.adaptive_max_pool3d(x[0], sizes)

    x = torch.randn(2, 2, 4, 5, 6)
    x[0, 0, 1, 2, 1:3], x[0, 1], x[1, 0, 3, 4, 5] = NAN, -INF, NAN
    for actual, eager in zip(*run(function, x, **TARGETS[target]), strict=True):
        torch.testing.assert_close(actual, eager, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("size", [0, 1, 2, 5])
def test_variance_of_a_dynamic_size(size):
    def moments(x):
        return x.var(), x.std(0), x.var(0, correction=0), x.var(0, correction=2), torch.var_mean(x, 0)

    compiled = mlopt.jit(moments, torch.randn(4, 3), dynamic_shapes=({0: torch.export.Dim("b")},))
    x = torch.randn(size, 3)
    for actual, eager in zip(pytree.tree_leaves(compiled(x)), pytree.tree_leaves(moments(x)), strict=True):
        torch.testing.assert_close(actual, eager, rtol=2e-6, atol=1e-6, equal_nan=True)


def test_small_numbers_of_f64():
    x = torch.tensor([-1e-42, 1e-20, -1e-10, 1e-6, 1e-3, -0.5, -1.0, -40.0, 30.0, 800.0, INF, NAN]).double()
    for actual, eager in zip(*run(lambda x: (x.expm1(), x.log1p(), F.elu(x)), x), strict=True):
        torch.testing.assert_close(actual, eager, rtol=1e-15, atol=0, equal_nan=True)


def _rolled(x):
    shifts = (0, 1, -1, 3, 4, 5, -9, 16, -16)
    rolls = [torch.roll(x, shift, dim) for shift in shifts for dim in (0, 1)]
    return (
        *rolls,
        torch.roll(x, (5, -9), (0, 1)),
        torch.roll(x, (1, 2), (0, 0)),
        torch.roll(x, 3),
        x[:0].roll(2, 0),
    )


def test_rolls_by_more_than_the_size():
    x = torch.randn(4, 7)
    for got, wanted in zip(mlopt.jit(_rolled, x)(x), _rolled(x), strict=True):
        assert torch.equal(got, wanted)
    compiled = mlopt.jit(Rolled(), x, dynamic_shapes=({0: torch.export.Dim("rows")},))
    for rows in (2, 3, 8):
        x = torch.randn(rows, 7)
        for got, wanted in zip(compiled(x), Rolled()(x), strict=True):
            assert torch.equal(got, wanted)


class Rolled(torch.nn.Module):
    def forward(self, x):
        return torch.roll(x, 5, 0), torch.roll(x, -9, 1), torch.roll(x, -4)


def test_a_norm_is_squares_and_a_root():
    compiled = mlopt.jit(lambda x: x.norm(dim=-1), torch.randn(8, 16))
    assert [kernel.name for kernel in compiled.kernels] == ["kernel_0_mul_sum_sqrt"]


@pytest.mark.parametrize("shape", [(3, 1), (3, 2), (1, 1)], ids=str)
@pytest.mark.parametrize("value", [-1e30, 1e-30, -0.0, INF, NAN])
def test_norms_of_one_element_do_not_square(shape, value):
    def function(x):
        return x.norm(dim=-1), x.norm()

    x = torch.full(shape, value)
    for actual, eager in zip(mlopt.jit(function, x)(x), function(x), strict=True):
        torch.testing.assert_close(actual, eager, equal_nan=True)
        assert torch.equal(torch.signbit(actual), torch.signbit(eager)) or value != value
