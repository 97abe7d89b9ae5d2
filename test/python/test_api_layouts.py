"""mlopt.jit: outputs have the strides that eager's have for the layout of the very input that is passed."""

import threading

import mlopt
import numpy as np
import pytest
import torch
from mlopt.errors import InputError
from mlopt.runtime import eager_strides, torch_inputs
from mlopt.test.python.api_modules import Call, Counter
from torch import nn

pytestmark = pytest.mark.usefixtures("inference")


def same(ours, eager):
    torch.testing.assert_close(ours, eager, rtol=1e-5, atol=1e-5, check_stride=True)


def layouts_of(shape):
    """Tensors of one shape in memory of all kinds, the contiguous one first."""
    yield torch.randn(shape)
    yield torch.randn(shape[::-1]).permute(*reversed(range(len(shape))))
    yield torch.randn(*shape[:-1], 2 * shape[-1])[..., ::2]
    yield torch.randn(*shape[:-1], 1).expand(shape)
    yield torch.randn(2 * shape[0], *shape[1:])[shape[0] :]
    if len(shape) == 4:
        yield torch.randn(shape).to(memory_format=torch.channels_last)


FUNCTIONS = {
    "elementwise": (lambda x: (x * 2 + 1, x.relu()), (4, 6)),
    "views": (lambda x: (x, x.t(), x[1:, ::2], x[:, None], x.unfold(1, 3, 1), x.expand(2, 4, 6)), (4, 6)),
    "copies": (lambda x: (x.contiguous(), x.reshape(-1), x.flatten() + 1, x.t().contiguous()), (4, 6)),
    "rows": (lambda x: (x.softmax(-1), x.sum(0), x.cumsum(1), x.sort(-1).values), (4, 6)),
    "products": (lambda x: (x @ x.t(), x.t() @ x), (4, 6)),
    "likes": (lambda x: (torch.zeros_like(x), x.clone(), x.double(), torch.empty_like(x).fill_(2)), (4, 6)),
    "twice": (lambda x: (lambda y: (y, y, x))(x + 1), (4, 6)),
    "images": (lambda x: (x.relu(), nn.functional.max_pool2d(x, 2), torch.cat([x, x], 1)), (2, 3, 8, 8)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_layout_of_an_input(name):
    function, shape = FUNCTIONS[name]
    compiled = mlopt.jit(Call(function), torch.randn(shape))
    for x in layouts_of(shape):
        for value in (x, x.clone()):
            same(compiled(value), function(value))


@pytest.mark.parametrize("name", ["elementwise", "views", "images"])
def test_every_layout_of_an_example(name):
    function, shape = FUNCTIONS[name]
    for example in layouts_of(shape):
        compiled = mlopt.jit(Call(function), example)
        for x in layouts_of(shape):
            same(compiled(x), function(x))


def test_convolutions_of_channels_last():
    module = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU()).eval()
    x = torch.randn(2, 3, 8, 8)
    last = x.to(memory_format=torch.channels_last)
    for example in (x, last):
        compiled = mlopt.jit(module, example)
        for value in (x, last, x):
            same(compiled(value), module(value))


@pytest.mark.parametrize(
    "example",
    [
        torch.randn(2, 3, 8, 8).to(memory_format=torch.channels_last),
        torch.randn(8, 3, 5).permute(2, 0, 1),
        torch.randn(1, 8, 4).permute(2, 0, 1),
    ],
    ids=["channels last", "turned", "one place"],
)
def test_a_gpu_reads_an_input_as_the_example_lies_in_memory(monkeypatch, example):
    def function(x, y):
        return x.mul_(2) + y, x.relu().sum(1)

    other = torch.randn(example.shape)
    compiled = mlopt.jit(Call(function), example, other, target="cuda:sm_80", device="emulator")
    adapted = []
    plain = torch_inputs.adapt
    monkeypatch.setattr(torch_inputs, "adapt", lambda *given: adapted.append(given) or plain(*given))
    alike = torch.empty_strided(example.shape, example.stride()).copy_(other)
    for x, expected in ((alike, 0), (other.clone(), 1)):
        eager = x.clone()
        same(compiled(x, other), function(eager, other))
        same(x, eager)
        assert len(adapted) == expected


@pytest.mark.parametrize("example", [torch.randn(3, 4), torch.randn(4, 3).t()], ids=["plain", "turned"])
def test_dynamic_sizes(example):
    function = Call(lambda x: (x + 1, x.t(), x.reshape(-1)))
    compiled = mlopt.jit(function, example, dynamic_shapes=((({0: torch.export.Dim("n")},),)))
    for size in (2, 5, 9):
        for x in (torch.randn(size, 4), torch.randn(4, size).t(), torch.randn(size, 8)[:, ::2]):
            same(compiled(x), function(x))


def test_keywords_and_trees():
    def function(pair, *, scale):
        return {"sum": pair[0] + pair[1] * scale, "size": pair[0].shape[0], "none": None}

    x, y = torch.randn(4, 6), torch.randn(6, 4).t()
    compiled = mlopt.jit(function, (x, x), example_kwargs={"scale": x})
    same(compiled((y, y), scale=y), function((y, y), scale=y))
    same(compiled((x, y), scale=x), function((x, y), scale=x))


def test_numpy_arrays():
    compiled = mlopt.jit(lambda x: x + 1, torch.randn(4, 6))
    x = np.asfortranarray(np.random.default_rng(0).standard_normal((4, 6)).astype(np.float32))
    for writeable in (True, False):
        x.flags.writeable = writeable
        out = compiled(x)
        assert out.strides == (x + 1).strides
        np.testing.assert_array_equal(out, x + 1)


def test_what_eager_refuses_is_refused():
    compiled = mlopt.jit(lambda x: x.view(-1) + 1, torch.randn(4, 6))
    x = torch.randn(6, 4).t()
    with pytest.raises(InputError, match=r"eager refuses inputs of these strides: .*[Vv]iew"):
        compiled(x)
    same(compiled(x.contiguous()), x.reshape(-1) + 1)


def test_a_module_that_looks_at_the_layout():
    def function(x):
        return x + 1 if x.is_contiguous() else (x, x)

    compiled = mlopt.jit(function, torch.randn(4, 6))
    with pytest.raises(InputError, match="something of another structure"):
        compiled(torch.randn(6, 4).t())


def test_a_module_that_cannot_be_copied():
    class Locked(nn.Module):
        def __init__(self):
            super().__init__()
            self.lock = threading.Lock()

        def forward(self, x):
            with self.lock:
                return x + 1

    compiled = mlopt.jit(Locked(), torch.randn(4, 6))
    with pytest.raises(InputError, match=r"cannot be copied: TypeError: cannot pickle[\s\S]*contiguous"):
        compiled(torch.randn(6, 4).t())


def test_looking_for_strides_leaves_the_module_alone():
    module, eager = Counter(), Counter()
    eager.load_state_dict(module.state_dict())
    compiled = mlopt.jit(module, torch.randn(2, 4))
    for _ in range(3):
        x = torch.randn(4, 2).t()
        same(compiled(x), eager(x))
        assert type(module.count) is torch.Tensor
        assert torch.equal(module.count, eager.count)


def test_results_of_strided_inputs_require_grad_too():
    compiled = mlopt.jit(nn.Linear(4, 4), torch.randn(2, 4))
    with torch.enable_grad():
        for x in (torch.randn(2, 4), torch.randn(4, 2).t()):
            out = compiled(x)
            assert out.requires_grad
            with pytest.raises(RuntimeError, match="compiles for inference"):
                out.sum().backward()


def test_each_layout_is_looked_at_once(monkeypatch):
    runs = []

    class Double(nn.Module):
        def forward(self, x):
            runs.append(x.stride())
            return x * 2

    compiled = mlopt.jit(Double(), torch.randn(4, 6))
    runs.clear()
    for _ in range(3):
        compiled(torch.randn(4, 6))
        compiled(torch.randn(6, 4).t())
    assert runs == [(1, 4)]
    monkeypatch.setattr(eager_strides, "KEPT", 2)
    for step in (2, 3, 4, 5):
        compiled(torch.randn(4, 6 * step)[:, ::step])
    assert len(runs) == 5
