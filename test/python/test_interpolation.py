"""Interpolation beside eager's: infinities, values that overflow when subtracted, dtypes, sizes."""

import mlopt
import pytest
import torch
from torch.nn import functional as F

INF = float("inf")
DIMS = {"linear": 1, "bilinear": 2, "trilinear": 3, "bicubic": 2}
MODES = ["linear", "bilinear", "trilinear"]
SIZES = {
    "twice": {"scale_factor": 2},
    "twice, aligned": {"scale_factor": 2, "align_corners": True},
    "more and less": {"size": (4, 9, 13)},
    "more and less, aligned": {"size": (4, 9, 13), "align_corners": True},
    "a factor that is not whole": {"scale_factor": 1.6},
    "one element, aligned": {"size": (1, 7, 1), "align_corners": True},
    "the same": {"size": (5, 6, 7)},
    "a factor near one": {"scale_factor": 1.1},
}
DTYPES = [torch.float64, torch.float16, torch.bfloat16]


def interpolation(mode, arguments):
    if "size" in arguments and mode in DIMS:
        arguments = {**arguments, "size": arguments["size"][-DIMS[mode] :]}
    return lambda x: F.interpolate(x, mode=mode, **arguments)


def images(mode, dtype=torch.float32):
    """Ordinary numbers, an infinity among them, rows of the largest numbers with changing signs."""
    x = torch.randn(2, 3, *(5, 6, 7)[-DIMS[mode] :]).to(dtype)
    x[0, 1].view(-1)[3] = INF
    x[1, 2] = torch.finfo(dtype).max * 0.875
    x[1, 2][..., ::2] *= -1
    return x


def check(compiled, function, x, rtol=1e-5):
    """Apart, since one that cancels is off by as much as rounding the largest number is."""
    for actual, eager in zip(compiled(x).unbind(1), function(x).unbind(1), strict=True):
        for one, other in zip(actual, eager, strict=True):
            finite = other[other.isfinite()].abs()
            largest = finite.max().item() if finite.numel() else 0.0
            torch.testing.assert_close(one, other, rtol=rtol, atol=rtol * largest, equal_nan=True)


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("mode", MODES)
def test_infinities_and_values_that_overflow(mode, sizes):
    function, x = interpolation(mode, SIZES[sizes]), images(mode)
    check(mlopt.jit(function, x), function, x)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("mode", MODES)
def test_dtypes(mode, dtype):
    function, x = interpolation(mode, {"scale_factor": 1.6}), images(mode, dtype)
    check(mlopt.jit(function, x), function, x, rtol=max(1e-5, 2 * torch.finfo(dtype).eps))


def test_on_the_emulator():
    function, x = interpolation("bilinear", {"scale_factor": 2}), images("bilinear")
    check(mlopt.jit(function, x, target="cuda:sm_80", device="emulator"), function, x)


def test_dynamic_sizes():
    function = interpolation("bilinear", {"scale_factor": 2})
    size = torch.export.Dim
    dynamic = ({0: size("batch"), 2: size("height", min=2), 3: size("width", min=2)},)
    compiled = mlopt.jit(function, images("bilinear"), dynamic_shapes=dynamic)
    for x in images("bilinear"), images("bilinear")[:1, :, :3, 1:].contiguous():
        check(compiled, function, x)


BYTES = {
    "more and less, aligned": SIZES["more and less, aligned"],
    "a factor near one": SIZES["a factor near one"],
}


@pytest.mark.parametrize(("mode", "channels"), [("bilinear", 5), ("bicubic", 3)])
def test_bytes_are_those_of_eager(mode, channels):
    """Weights of 16 bits, rows first; of more than four channels by another loop of eager's."""

    def all_sizes(x):
        return [interpolation(mode, arguments)(x) for arguments in BYTES.values()]

    x = torch.randint(0, 256, (2, channels, 6, 7), dtype=torch.uint8)
    for actual, eager in zip(mlopt.jit(all_sizes, x)(x), all_sizes(x), strict=True):
        assert torch.equal(actual, eager)


def test_bytes_in_a_compiled_graph():
    """Below AOTAutograd torch would take the op apart in its own way."""
    function = interpolation("bicubic", {"size": (0, 4, 13)})
    x = torch.randint(0, 256, (2, 3, 8, 19), dtype=torch.uint8)
    torch._dynamo.reset()
    assert torch.equal(torch.compile(function, backend="mlopt")(x), function(x))


def test_bytes_of_dynamic_sizes():
    function = interpolation("bilinear", {"scale_factor": 2})
    x = torch.randint(0, 256, (2, 3, 8, 19), dtype=torch.uint8)
    size = torch.export.Dim
    dynamic = ({0: size("batch"), 2: size("height", min=2), 3: size("width", min=2)},)
    compiled = mlopt.jit(function, x, dynamic_shapes=dynamic)
    for each in x, x[:1, :, :6, 2:].contiguous():
        assert torch.equal(compiled(each), function(each))


def test_channels_last():
    function = interpolation("bilinear", {"scale_factor": 2})
    y = images("bilinear").to(memory_format=torch.channels_last)
    compiled = mlopt.jit(function, y)
    check(compiled, function, y)
    assert compiled(y).stride() == function(y).stride()


def test_bicubic_is_eagers_too():
    function, x = interpolation("bicubic", {"scale_factor": 2}), images("bicubic")
    check(mlopt.jit(function, x), function, x)


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize(("mode", "dims"), [("linear", 1), ("bilinear", 2), ("trilinear", 3)])
def test_large_elements_in_a_compiled_graph(mode, dims, requires_grad):
    """Torch's decomposition takes a + t (b - a), which is infinite or NaN for these."""
    x = torch.tensor([3e38, -3e38]).expand(1, 1, *[2] * dims).contiguous().requires_grad_(requires_grad)
    function = interpolation(mode, {"scale_factor": 2})
    torch._dynamo.reset()
    actual, eager = torch.compile(function, backend="mlopt")(x), function(x)
    assert eager.isfinite().all()
    torch.testing.assert_close(actual, eager)
    if requires_grad:
        gradients = [torch.autograd.grad(y.sum(), x)[0] for y in (actual, eager)]
        torch.testing.assert_close(*gradients)


# Factors that are whole, for all of the dims or some; some are rounded in f32.
NEAREST = {
    "twice": ((2, 3, 5, 6), {"scale_factor": 2}),
    "three and one and a half times": ((2, 3, 5, 6), {"size": (15, 9)}),
    "the same": ((2, 3, 5, 6), {"size": (5, 6)}),
    "less and more": ((2, 3, 8, 6), {"size": (4, 13)}),
    "one element": ((2, 1, 1, 7), {"size": (5, 1)}),
    "a factor that is not whole": ((2, 3, 7), {"scale_factor": 1.7}),
    "a volume": ((1, 2, 3, 4, 5), {"size": (6, 8, 7)}),
    "a factor that is rounded": ((1, 2, 41, 49), {"size": (41 * 41, 147)}),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.uint8])
@pytest.mark.parametrize("sizes", NEAREST)
def test_nearest(sizes, dtype):
    shape, arguments = NEAREST[sizes]
    x = (50 * torch.randn(shape)).to(dtype)
    function = interpolation("nearest", arguments)
    assert torch.equal(mlopt.jit(function, x)(x), function(x))


def interpolation_to_nearest(x):
    return F.interpolate(x, mode="nearest", scale_factor=2)


def test_nearest_of_dynamic_sizes():
    x = torch.randn(2, 3, 5, 6)
    size = torch.export.Dim
    dynamic = ({0: size("batch"), 2: size("height", min=2), 3: size("width", min=2)},)
    compiled = mlopt.jit(interpolation_to_nearest, x, dynamic_shapes=dynamic)
    for each in x, x[:1, :, :3, 1:].contiguous():
        assert torch.equal(compiled(each), interpolation_to_nearest(each))


def test_nearest_of_channels_last():
    x = torch.randn(2, 8, 5, 6).to(memory_format=torch.channels_last)
    actual, eager = mlopt.jit(interpolation_to_nearest, x)(x), interpolation_to_nearest(x)
    assert torch.equal(actual, eager)
    assert actual.stride() == eager.stride()


def test_gradients_of_nearest_in_a_compiled_graph():
    x = torch.randn(2, 3, 5, 6, requires_grad=True)
    torch._dynamo.reset()
    outputs = torch.compile(interpolation_to_nearest, backend="mlopt")(x), interpolation_to_nearest(x)
    assert torch.equal(*outputs)
    weights = torch.randn(outputs[0].shape)
    torch.testing.assert_close(*(torch.autograd.grad((y * weights).sum(), x)[0] for y in outputs))
