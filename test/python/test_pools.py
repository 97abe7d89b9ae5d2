"""Pooling: values and places against eager's, with NaN, windows of -inf, ties and odd sizes."""

from functools import partial

import mlopt
import pytest
import torch
from mlopt.errors import UnsupportedOpError
from torch.nn import functional as F
from torch.utils import _pytree as pytree

NAN, INF = float("nan"), float("inf")
TARGETS = {"cpu": {}, "emulator": {"target": "cuda:sm_80", "device": "emulator"}}
DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
# kernel, stride, padding, dilation, ceil_mode
PLAIN = {
    "apart": (2, 2, 0, 1, False),
    "overlapping": (3, 2, 1, 1, False),
    "ceil": (3, 2, 1, 1, True),
    "dilated": (2, 1, 1, 2, False),
    "wide": (5, 1, 2, 1, False),
    "one": (1, 3, 0, 1, False),
}
POOLS = {
    **{f"1d {name}": (partial(F.max_pool1d, return_indices=True), 1, args) for name, args in PLAIN.items()},
    **{f"2d {name}": (partial(F.max_pool2d, return_indices=True), 2, args) for name, args in PLAIN.items()},
    "2d uneven": (partial(F.max_pool2d, return_indices=True), 2, ((3, 2), (1, 2), (1, 0), (2, 1), True)),
    "2d one window": (partial(F.max_pool2d, return_indices=True), 2, ((7, 3), 2, 0, 1, True)),
    "3d overlapping": (partial(F.max_pool3d, return_indices=True), 3, PLAIN["overlapping"]),
    "3d dilated": (partial(F.max_pool3d, return_indices=True), 3, PLAIN["dilated"]),
    "3d uneven": (partial(F.max_pool3d, return_indices=True), 3, ((1, 3, 2), 2, (0, 1, 1), 1, True)),
    "1d adaptive": (partial(F.adaptive_max_pool1d, return_indices=True), 1, (3,)),
    "2d adaptive": (partial(F.adaptive_max_pool2d, return_indices=True), 2, ((2, 5),)),
    "2d adaptive, all": (partial(F.adaptive_max_pool2d, return_indices=True), 2, (1,)),
    "3d adaptive": (partial(F.adaptive_max_pool3d, return_indices=True), 3, ((2, 3, 1),)),
    "3d adaptive, even": (partial(F.adaptive_max_pool3d, return_indices=True), 3, ((1, 7, 1),)),
}


def images(dims: int, dtype: torch.dtype = torch.float32, batch: int = 2) -> torch.Tensor:
    """Few values, so that there are ties; a channel of -inf, and one of which half is NaN."""
    x = torch.randint(-2, 3, (batch, 4, *(5, 7, 9)[-dims:])).to(dtype)
    x[:, 1] = -INF
    x[:, 2][torch.rand(x[:, 2].shape) < 0.5] = NAN
    x[:, 3][torch.rand(x[:, 3].shape) < 0.5] = -INF
    x[0, 0].view(-1)[3] = NAN
    return x


def check(compiled, function, x):
    for actual, eager in zip(pytree.tree_leaves(compiled(x)), pytree.tree_leaves(function(x)), strict=True):
        torch.testing.assert_close(actual, eager, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", POOLS)
def test_places(target, name):
    pool, dims, args = POOLS[name]

    def function(x):
        return pool(x, *args), pool(x[0] * 2, *args)[1]  # without a batch, too

    x = images(dims)
    check(mlopt.jit(function, x, **TARGETS[target]), function, x)


def test_places_of_any_batch():
    def function(x):
        return F.max_pool2d(x, (7, 3), 2, ceil_mode=True, return_indices=True)

    x = images(2)
    batch = torch.export.Dim("batch", min=2, max=64)
    compiled = mlopt.jit(function, x, dynamic_shapes=({0: batch},))
    for many in (2, 3, 5):
        check(compiled, function, images(2, batch=many))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_places_of_each_dtype(target, dtype):
    def function(x):
        y = x[:, :, :5, :7]
        return F.max_pool2d(x, 3, 2, 1, return_indices=True), F.adaptive_max_pool2d(y, 2, return_indices=True)

    x = images(2, dtype)
    check(mlopt.jit(function, x, **TARGETS[target]), function, x)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64], ids=str)
def test_largest_integers(target, dtype):
    """Bytes from 128 on are more than those below."""

    def function(x):
        return F.max_pool2d(x, 3, 2, 1), F.max_pool2d(x[0], 2)

    low = 0 if dtype is torch.uint8 else -100
    x = torch.randint(low, low + 256 if dtype is torch.uint8 else 100, (2, 3, 9, 14)).to(dtype)
    check(mlopt.jit(function, x, **TARGETS[target]), function, x)


def test_volumes_of_integers_are_refused():
    x = torch.randint(-9, 9, (1, 2, 5, 6, 7))
    with pytest.raises(UnsupportedOpError, match="max_pool3d_with_indices of integers"):
        mlopt.jit(lambda x: F.max_pool3d(x, 3, 2, 1), x)


@pytest.mark.parametrize("target", TARGETS)
def test_places_of_dynamic_images(target):
    def function(x):
        return F.max_pool2d(x, 3, 2, 1, return_indices=True), F.max_pool1d(x[0], 2, return_indices=True)[1]

    size = torch.export.Dim
    dynamic = ({0: size("batch"), 2: size("height", min=4), 3: size("width", min=4)},)
    compiled = mlopt.jit(function, images(2), dynamic_shapes=dynamic, **TARGETS[target])
    for x in images(2), images(2, batch=1)[:, :, :6, :4], images(2, batch=3)[:, :, :, 1:]:
        check(compiled, function, x.contiguous())


def test_a_window_that_starts_in_a_pad_of_ones_own():
    def function(x):
        padded = F.pad(x, (1, 2, 1, 0), value=-INF)
        return F.max_pool2d(padded, 3, 2, 1, return_indices=True), F.max_pool2d(
            padded, 2, return_indices=True
        )

    x = images(2)
    check(mlopt.jit(function, x), function, x)


@pytest.mark.parametrize("args", PLAIN.values(), ids=PLAIN)
def test_the_gradient_goes_to_the_place(args):
    x, twin = (images(2).requires_grad_() for _ in range(2))
    with torch.no_grad():
        twin.copy_(x)

    def function(x):
        return F.max_pool2d(x * 1.0, *args, return_indices=True)

    values, places = torch.compile(function, backend="mlopt")(x)
    wanted = function(twin)
    assert torch.equal(places, wanted[1])
    factor = torch.randn_like(values)
    values.backward(factor)
    wanted[0].backward(factor)
    torch.testing.assert_close(x.grad, twin.grad, rtol=1e-6, atol=1e-6)


def test_places_are_made_with_the_values_and_only_where_they_are_read():
    x = torch.randn(1, 4, 8, 8)
    values = mlopt.jit(lambda x: F.max_pool2d(x, 3, 2, 1), x)
    assert [kernel.name for kernel in values.kernels] == ["kernel_0_pad_max_pool"]
    assert len(mlopt.jit(lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True), x).kernels) == 1
    volume = torch.randn(1, 4, 6, 8, 8)
    assert len(mlopt.jit(lambda x: F.max_pool3d(x, 3, 2, 1, return_indices=True), volume).kernels) == 1


AVERAGES = {
    "1d": (F.adaptive_avg_pool1d, 1, 4),
    "2d": (F.adaptive_avg_pool2d, 2, (2, 5)),
    "2d, more windows than elements": (F.adaptive_avg_pool2d, 2, (4, 11)),
    "2d, even": (F.adaptive_avg_pool2d, 2, (7, 3)),
    "3d": (F.adaptive_avg_pool3d, 3, (2, 3, 1)),
    "3d, even": (F.adaptive_avg_pool3d, 3, (1, 7, 1)),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", AVERAGES)
def test_adaptive_averages(target, name, dtype):
    pool, dims, sizes = AVERAGES[name]

    def function(x):
        return pool(x, sizes), pool(x[0], sizes)  # without a batch, too

    x = torch.randn(2, 4, *(5, 7, 9)[-dims:]).to(dtype)
    x[0, 1].view(-1)[3] = INF
    x[0, 2].view(-1)[[1, 4]] = torch.tensor([INF, -INF]).to(dtype)
    x[1, 3].view(-1)[2] = NAN
    compiled = mlopt.jit(function, x, **TARGETS[target])
    for actual, eager in zip(compiled(x), function(x.double()), strict=True):
        close = {"rtol": 1e-2, "atol": 1e-3} if dtype.itemsize == 2 else {"rtol": 1e-5, "atol": 1e-6}
        torch.testing.assert_close(actual, eager.to(dtype), equal_nan=True, **close)


@pytest.mark.parametrize("target", TARGETS)
def test_an_adaptive_average_of_large_windows_is_a_gather_and_a_sum(target):
    x = torch.randn(1, 2, 60, 60)
    compiled = mlopt.jit(lambda x: F.adaptive_avg_pool2d(x, 7), x, **TARGETS[target])
    torch.testing.assert_close(compiled(x), F.adaptive_avg_pool2d(x, 7))
    assert len([kernel for kernel in compiled.kernels if kernel.function == "main"]) == 2


def test_an_adaptive_average_of_unknown_height_is_refused():
    x, height = torch.randn(2, 3, 17, 19), torch.export.Dim("height", min=4)
    with pytest.raises(UnsupportedOpError, match="_adaptive_avg_pool2d with dynamic height"):
        mlopt.jit(lambda x: F.adaptive_avg_pool2d(x, (3, 5)), x, dynamic_shapes=({2: height},))


def test_averages_without_a_batch():
    def function(x):
        return F.avg_pool2d(x, 3, 1, 1, count_include_pad=False), F.avg_pool1d(x[0], 3, 2, 1, ceil_mode=True)

    x = torch.randn(4, 6, 5)
    torch.testing.assert_close(mlopt.jit(function, x)(x), function(x))


@pytest.mark.parametrize("include", [False, True])
@pytest.mark.parametrize("args", [(3, 2, 1), ((1, 2, 3), 1, 0), (2, 2, 0, True), (3, 2, 1, True)], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_average_of_volumes(dtype, args, include):
    def function(x):
        return F.avg_pool3d(x, *args, count_include_pad=include), F.avg_pool3d(x[0], 2, divisor_override=3)

    x = torch.randn(2, 3, 5, 7, 9).to(dtype)
    compiled = mlopt.jit(function, x, dynamic_shapes=({0: torch.export.Dim("batch")},))
    for batch in x, x[:1], torch.cat([x, x]):
        for actual, eager in zip(compiled(batch), function(batch.double()), strict=True):
            torch.testing.assert_close(
                actual, eager.to(dtype), rtol=1e-6 if dtype is torch.float32 else 8e-3, atol=1e-6
            )


def test_average_of_volumes_is_one_kernel():
    x = torch.randn(2, 3, 5, 7, 9)
    assert len(mlopt.jit(lambda x: F.avg_pool3d(x, 3, 2, 1), x).kernels) == 1


@pytest.mark.parametrize("target", TARGETS)
def test_global_mean_of_channels_last(target):
    """Eager gives its one place a channel other strides."""
    x = torch.randn(2, 3, 7, 9).to(memory_format=torch.channels_last)
    wanted = F.adaptive_avg_pool2d(x, 1)
    with torch.no_grad():
        made = mlopt.jit(lambda x: F.adaptive_avg_pool2d(x, 1), x, **TARGETS[target])(x)
    torch.testing.assert_close(made, wanted)
    assert made.stride() == wanted.stride()
