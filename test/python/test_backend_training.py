"""Training through ``torch.compile(backend="mlopt")``: the weights after some steps are eager's."""

from __future__ import annotations

import copy

import pytest
import torch
from mlopt.backend import report
from mlopt.test.corpus.transformers import Gpt2Block
from mlopt.test.corpus.vision import ConvBnRelu
from torch import nn
from torch.nn import functional as F


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    torch.manual_seed(0)


class Classifier(nn.Module):
    """Two convolutions with batch norm and pooling, a linear head."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(ConvBnRelu(3, 8), nn.MaxPool2d(2), ConvBnRelu(8, 8, 3, 2), nn.AvgPool2d(2))
        self.head = nn.Linear(8 * 2 * 2, 5)

    def forward(self, x):
        return self.head(self.body(x).flatten(1))


def mlp():
    return nn.Sequential(nn.Linear(12, 32), nn.LayerNorm(32), nn.GELU(), nn.Linear(32, 5))


def attention():
    return nn.Sequential(Gpt2Block(16, 2), nn.Flatten(), nn.Linear(16 * 6, 5))


MODELS = {"mlp": (mlp, (16, 12)), "conv": (Classifier, (8, 3, 16, 16)), "attention": (attention, (8, 6, 16))}


@pytest.mark.parametrize("name", MODELS)
def test_training(name):
    factory, shape = MODELS[name]
    module = factory()
    exact, twin = copy.deepcopy(module).double(), copy.deepcopy(module)
    x, target = torch.randn(shape), torch.randint(0, 5, shape[:1])
    losses = train(torch.compile(module, backend="mlopt"), module, x, target)
    eager = train(twin, twin, x, target)
    train(exact, exact, x.double(), target)
    assert losses[-1] < 0.7 * losses[0]
    torch.testing.assert_close(losses, eager, rtol=1e-4, atol=1e-5)
    for got, theirs, right in zip(
        module.state_dict().values(), twin.state_dict().values(), exact.state_dict().values(), strict=True
    ):
        error, usual = (value.double().sub(right).abs().max() for value in (got, theirs))
        assert error <= 4 * usual + 1e-5 * right.double().abs().max()
    assert [graph.kind for graph in report().graphs] == ["forward", "backward"]
    assert report().coverage == 1, report()


def train(function, module, x, target):
    """SGD with momentum; the loss before each step."""
    optimizer = torch.optim.SGD(module.parameters(), lr=0.05, momentum=0.9)
    losses = []
    for _ in range(12):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(function(x), target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def test_gradients_of_inputs_and_of_only_some_weights():
    module = mlp()
    module[0].requires_grad_(False)
    twin = copy.deepcopy(module)
    x = torch.randn(4, 12, requires_grad=True)
    y = x.detach().clone().requires_grad_()
    torch.compile(module, backend="mlopt")(x).sum().backward()
    twin(y).sum().backward()
    torch.testing.assert_close(x.grad, y.grad)
    assert module[0].weight.grad is None
    torch.testing.assert_close(module[3].weight.grad, twin[3].weight.grad)


def test_gradients_accumulate_and_graphs_are_kept():
    module, x = nn.Linear(3, 2), torch.randn(5, 3)
    fast = torch.compile(module, backend="mlopt")
    loss = fast(x).square().sum()
    loss.backward(retain_graph=True)
    once = module.weight.grad.clone()
    loss.backward()
    torch.testing.assert_close(module.weight.grad, 2 * once)


def test_a_whole_step_with_the_loss_inside():
    module = mlp()
    twin = copy.deepcopy(module)

    def loss(module, x, target):
        return nn.functional.cross_entropy(module(x), target, label_smoothing=0.1)

    x, target = torch.randn(16, 12), torch.randint(0, 5, (16,))
    got, eager = torch.compile(loss, backend="mlopt")(module, x, target), loss(twin, x, target)
    torch.testing.assert_close(got, eager)
    got.backward()
    eager.backward()
    for ours, theirs in zip(module.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(ours.grad, theirs.grad, rtol=1e-4, atol=1e-6)


@pytest.mark.filterwarnings("error:mlopt")  # the gradient of a sum is one number times a matrix
def test_checkpointed_blocks():
    """Activation checkpointing: the forward runs again in the backward."""
    module = mlp()
    twin = copy.deepcopy(module)

    def forward(module, x):
        return torch.utils.checkpoint.checkpoint(module, x, use_reentrant=False).sum()

    x = torch.randn(4, 12)
    torch.compile(forward, backend="mlopt")(module, x).backward()
    forward(twin, x).backward()
    for ours, theirs in zip(module.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(ours.grad, theirs.grad, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("with_padding", [False, True])
@pytest.mark.parametrize("size", [(9, 8), (8, 9), (7, 6)])
def test_average_pooling_with_windows_beyond_the_edge(size, with_padding):
    def function(x):
        return F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=with_padding)

    x = torch.randn(2, 3, *size, requires_grad=True)
    wanted = x.detach().double().requires_grad_()
    factor = torch.randn_like(function(x))
    (torch.compile(function, backend="mlopt")(x) * factor).sum().backward()
    (function(wanted) * factor.double()).sum().backward()
    torch.testing.assert_close(x.grad.double(), wanted.grad, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("training", [False, True])
def test_rrelu(training):
    def gradient(function):
        torch.manual_seed(1)
        x = torch.tensor([-2.0, -1.0, 1.0, 2.0], requires_grad=True)
        y = function(x, training=training)
        y.square().sum().backward()
        return y.detach(), x.grad

    torch.testing.assert_close(gradient(torch.compile(F.rrelu, backend="mlopt")), gradient(F.rrelu))


def test_pads_of_dynamic_amounts():
    """The gradient of a pad is one by a negative amount; a call with the other sign compiles anew."""

    def function(x, n):
        return x[abs(n) :] * n, F.pad(x, (n, n + 1))

    def results(function, x, n):
        x = x.clone().requires_grad_()
        outputs = function(x, n)
        sum((y * y).sum() for y in outputs).backward()
        return [*(y.detach() for y in outputs), x.grad]

    fast = torch.compile(function, backend="mlopt", dynamic=True)
    for n, rows in ((2, 5), (3, 7), (-2, 5), (-3, 7), (4, 6), (0, 5)):
        x = torch.randn(rows, 9)
        torch.testing.assert_close(results(fast, x, n), results(function, x, n))
