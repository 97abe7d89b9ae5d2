"""mlopt.jit: buffers and weights that change, tied ones, gradients, autocast."""

import mlopt
import pytest
import torch
from mlopt.errors import CompileError, InputError
from mlopt.test.python.api_modules import Counter, Net, close
from torch import nn

pytestmark = pytest.mark.usefixtures("inference")


def test_buffers_that_are_mutated():
    module = Counter()
    compiled = mlopt.jit(module, torch.randn(2, 4))
    x = torch.randn(2, 4)
    for number in (1, 2, 3):
        close(compiled(x), module.linear(x) + number)
        assert torch.equal(module.count, torch.full((4,), float(number)))
    module.count.zero_()
    close(compiled(x), module.linear(x) + 1)
    module.hidden.fill_(2)
    close(compiled(x), module.linear(x) + 4)


class Cache(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.register_buffer("cache", torch.zeros(8, 4))

    def forward(self, position, x):
        self.cache.index_copy_(0, position, self.linear(x))
        return self.cache.sum(0)


def test_a_cache_written_by_index():
    module, eager = Cache(), Cache()
    eager.load_state_dict(module.state_dict())
    compiled = mlopt.jit(module, torch.tensor([0]), torch.randn(1, 4))
    for position in range(3):
        x = torch.randn(1, 4)
        close(compiled(torch.tensor([position]), x), eager(torch.tensor([position]), x))
        close(module.cache, eager.cache)


def test_weights_that_change():
    module = Net()
    compiled = mlopt.jit(module, torch.randn(4, 16))
    x = torch.randn(4, 16)

    def check():
        close(compiled(x), module(x))
        close(compiled(x), module(x))

    check()
    optimizer = torch.optim.SGD(module.parameters(), lr=0.5)
    with torch.enable_grad():
        module(x).sum().backward()
    optimizer.step()
    check()
    module.load_state_dict(Net().state_dict())
    check()
    module.load_state_dict(Net().state_dict(), assign=True)
    check()
    module.first.weight.data = torch.randn(32, 16)
    check()
    module.first.weight.data = torch.randn(16, 32).t()
    check()
    module.first.weight = nn.Parameter(torch.randn(32, 16))
    check()
    module.first.bias[0] = 100
    check()
    module.second = nn.Linear(32, 8)
    with pytest.raises(InputError, match="the submodule 'second' was replaced"):
        compiled(x)


def test_weights_that_change_behind_torchs_back():
    module = Net()
    compiled = mlopt.jit(module, torch.randn(4, 16))
    x = torch.randn(4, 16)
    close(compiled(x), module(x))
    for write in (lambda p: p.data.mul_(2), lambda p: p.detach().numpy().fill(0.5)):
        write(module.first.weight)
        compiled.refresh()
        close(compiled(x), module(x))


def test_tied_parameters():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(10, 6)
            self.head = nn.Linear(6, 10, bias=False)
            self.head.weight = self.embedding.weight

        def forward(self, tokens):
            return self.head(self.embedding(tokens))

    module = Tied()
    tokens = torch.tensor([1, 2, 9])
    compiled = mlopt.jit(module, tokens)
    close(compiled(tokens), module(tokens))
    module.embedding.weight.mul_(2)
    close(compiled(tokens), module(tokens))
    module.head.weight = nn.Parameter(torch.randn(10, 6))
    with pytest.raises(InputError, match="no longer tied"):
        compiled(tokens)


def test_gradients_are_never_dropped_silently(net):
    _, compiled = net
    x = torch.randn(4, 16)
    with torch.enable_grad():
        with pytest.raises(InputError, match=r"'x' requires grad.*\n.*no_grad"):
            compiled(x.clone().requires_grad_())
        out = compiled(x)
        assert out.requires_grad
        with pytest.raises(RuntimeError, match="compiles for inference"):
            out.sum().backward()
    assert not compiled(x).requires_grad
    with torch.inference_mode():
        assert compiled(x).is_inference()


def test_autocast(net):
    module, compiled = net
    with torch.autocast("cpu", dtype=torch.bfloat16):
        with pytest.raises(InputError, match="autocast"):
            compiled(torch.randn(4, 16))
        with pytest.raises(CompileError, match="autocast"):
            mlopt.jit(module, torch.randn(4, 16))


class Plain(torch.nn.Module):
    """Tensors that are neither parameters nor buffers."""

    shared = torch.full((3,), 2.0)

    def __init__(self):
        super().__init__()
        self.attribute = torch.ones(3)
        self.inner = torch.nn.Module()
        self.inner.attribute = torch.full((3,), 3.0)
        self.items = [torch.full((3,), 5.0), {"key": (torch.full((3,), 7.0),)}]

    def forward(self, x):
        kept = self.items[0] * self.items[1]["key"][0] + torch.tensor([1.0, 2.0, 3.0])
        return (x + self.attribute) * self.inner.attribute + self.shared + kept


def test_plain_tensors_of_a_module_may_be_replaced_and_changed():
    module, x = Plain(), torch.randn(2, 3)
    compiled = mlopt.jit(module, x)

    def check():
        torch.testing.assert_close(compiled(x), module(x))

    check()
    module.attribute = torch.randn(3)
    check()
    module.inner.attribute = torch.randn(3)
    check()
    module.items[0] = torch.randn(3)
    module.items[1]["key"] = (torch.randn(3),)
    check()
    module.items = [torch.randn(3), {"key": [torch.randn(3)]}]
    check()
    module.items[0].mul_(2)
    module.attribute.add_(1)
    check()
    Plain.shared = torch.randn(3)
    check()
    module.attribute = torch.randn(2, 3)
    with pytest.raises(
        InputError, match=r"the weight 'attribute' was float32\[3\] .* it is now float32\[2, 3\]"
    ):
        compiled(x)
    module.attribute = 1.0
    with pytest.raises(InputError, match="the module no longer has the weight 'attribute'"):
        compiled(x)


OUTSIDE = torch.ones(3)


def test_variables_that_a_function_reads_may_be_replaced():
    global OUTSIDE
    around = torch.full((3,), 2.0)

    def function(x):
        return x * around + OUTSIDE

    x = torch.randn(2, 3)
    compiled = mlopt.jit(function, x)
    torch.testing.assert_close(compiled(x), function(x))
    around, OUTSIDE = torch.randn(3), torch.randn(3)
    torch.testing.assert_close(compiled(x), function(x))
    OUTSIDE.mul_(2)
    torch.testing.assert_close(compiled(x), function(x))
