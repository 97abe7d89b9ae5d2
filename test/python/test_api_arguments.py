"""mlopt.jit: arguments and results that are trees, constants among them, dynamic sizes."""

import mlopt
import pytest
import torch
from mlopt.errors import InputError
from mlopt.test.python.api_modules import Call, Net, close
from torch import nn

pytestmark = pytest.mark.usefixtures("inference")


class Tree(nn.Module):
    def forward(self, pair, mask=None, *, extra, scale=2.0, names=("a", "b")):
        x, inner = pair
        y = inner["y"] * scale
        if mask is not None:
            y = y + mask
        return {names[0]: (x + y, None), names[1]: [extra - x, x.shape[0], "text"]}, y


def test_trees():
    module = Tree()
    x, y, extra = torch.randn(3, 4), torch.randn(3, 4), torch.randn(3, 4)
    compiled = mlopt.jit(module, (x, {"y": y}), example_kwargs={"extra": extra})
    ours = compiled((x, {"y": y}), extra=extra)
    eager = module((x, {"y": y}), extra=extra)
    assert list(ours[0]) == ["a", "b"]
    assert ours[0]["a"][1] is None
    assert ours[0]["b"][1:] == [3, "text"]
    for again in (ours, compiled(pair=(x, {"y": y}), mask=None, extra=extra, scale=2.0)):
        close(again[0]["a"][0], eager[0]["a"][0])
        close(again[0]["b"][0], eager[0]["b"][0])
        close(again[1], eager[1])
    with pytest.raises(InputError, match="'mask' was not there"):
        compiled((x, {"y": y}), x, extra=extra)
    with pytest.raises(InputError, match="'scale' was not there"):
        compiled((x, {"y": y}), extra=extra, scale=3.0)
    with pytest.raises(InputError, match=r"structure .*compiled for"):
        compiled([x, {"y": y}], extra=extra)
    with pytest.raises(InputError, match="missing a required"):
        compiled((x, {"y": y}))


def test_constants_among_the_arguments():
    compiled = mlopt.jit(Call(lambda x, n, s: x * n if s == "mul" else x + n), torch.randn(4), 3, "mul")
    x = torch.randn(4)
    close(compiled(x, 3, "mul"), x * 3)
    with pytest.raises(InputError, match=r"is 4, it was 3 when the module was compiled"):
        compiled(x, 4, "mul")
    with pytest.raises(InputError, match="'add'"):
        compiled(x, 3, "add")


def test_keywords_and_numbers_of_arguments(net):
    module, compiled = net
    x = torch.randn(4, 16)
    close(compiled(x=x), module(x))
    with pytest.raises(InputError, match="too many positional"):
        compiled(x, x)
    with pytest.raises(InputError, match="missing"):
        compiled()
    with pytest.raises(InputError, match=r"float32\[4, 16\]"):
        compiled(torch.randn(5, 16))


# Dynamic sizes


def test_dynamic_batch():
    module = Net().eval()
    batch = torch.export.Dim("batch", max=512)
    compiled = mlopt.jit(module, torch.randn(4, 16), dynamic_shapes=({0: batch},))
    for size in (2, 3, 4, 65, 512):
        x = torch.randn(size, 16)
        close(compiled(x), module(x))
    with pytest.raises(InputError, match=r"size 0 of input 'x' is 513"):
        compiled(torch.randn(513, 16))
    with pytest.raises(InputError, match=r"float32\[\?, 16\]"):
        compiled(torch.randn(4, 17))


def test_dynamic_sizes_of_outputs():
    def function(x):
        return (x + 1).t(), x.view(-1) * 2, x.shape[0], x, x.t(), x[:, :2], torch.cat([x, x])

    compiled = mlopt.jit(Call(function), torch.randn(3, 4), dynamic_shapes=((({0: torch.export.Dim("n")},),)))
    for size in (2, 3, 4, 9):
        x = torch.randn(size, 4)
        torch.testing.assert_close(compiled(x), function(x), check_stride=True)


def test_dynamic_sizes_that_depend_on_each_other():
    n = torch.export.Dim("n")
    shapes = (({0: n}, {0: 2 * n}),)
    compiled = mlopt.jit(
        Call(lambda x, y: x + y[::2]), torch.randn(3, 4), torch.randn(6, 4), dynamic_shapes=shapes
    )
    x, y = torch.randn(5, 4), torch.randn(10, 4)
    close(compiled(x, y), x + y[::2])
    with pytest.raises(InputError, match=r"is 9, but must be 2\*.*shape\[0\], which is 10"):
        compiled(x, y[:9])
