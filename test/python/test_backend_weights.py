"""What torch.compile's graphs prepare of weights: once for each module, for as long as it lives."""

import gc
import weakref

import pytest
import torch
from mlopt.runtime.executable import Executable
from torch import nn


class Layer(nn.Module):
    """A layer with a buffer that others may have, too; nothing is prepared of that."""

    def __init__(self, offset, linear=None):
        super().__init__()
        self.register_buffer("offset", offset)
        self.linear = linear or nn.Linear(23, 23)

    def forward(self, x):
        return torch.relu(self.linear(x + self.offset))


@pytest.fixture(autouse=True)
def no_grad():
    torch._dynamo.reset()
    torch.manual_seed(0)
    with torch.no_grad():
        yield


@pytest.fixture
def prepared(monkeypatch):
    """Grows by one each time that weights are prepared."""
    runs = []
    run = Executable.run_prepare
    monkeypatch.setattr(Executable, "run_prepare", lambda *args: runs.append(1) or run(*args))
    return runs


def run(layers, fast):
    x = torch.randn(3, 23)
    for layer, call in zip(layers, fast, strict=True):
        torch.testing.assert_close(call(x), layer(x))


def compiled(layers):
    return [torch.compile(layer, backend="mlopt") for layer in layers]


def test_layers_that_are_compiled_one_by_one_are_prepared_once_each(prepared):
    offset = torch.randn(23)
    layers = [Layer(offset) for _ in range(3)]
    fast = compiled(layers)
    for _ in range(3):
        run(layers, fast)
    assert len(prepared) == 3
    layers[1].linear.weight.mul_(2)
    run(layers, fast)
    run(layers, fast)
    assert len(prepared) == 4


def test_a_weight_is_in_one_prepared_copy_at_most(prepared):
    tied = nn.Linear(23, 23)
    layers = [Layer(torch.randn(23), tied) for _ in range(2)]
    fast = compiled(layers)
    run(layers, fast)
    run(layers, fast)
    assert len(prepared) == 4


def test_a_module_that_is_dropped_takes_its_weights_along(monkeypatch):
    blocks = []
    allocate = Executable.allocate

    def watched(self, sizes):
        parts = allocate(self, sizes)
        blocks.append(weakref.ref(parts[0]._block._memory))
        return parts

    monkeypatch.setattr(Executable, "allocate", watched)
    layers = [Layer(torch.randn(23)) for _ in range(2)]
    fast = compiled(layers)
    run(layers, fast)
    weights = [weakref.ref(layer.linear.weight) for layer in layers]
    del layers[1], fast[1]
    gc.collect()
    assert [weight() is not None for weight in weights] == [True, False]
    assert [block() is not None for block in blocks] == [True, False]
    run(layers, fast)
