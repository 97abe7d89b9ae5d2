"""mlopt.jit of modules that write to an input or a buffer: what shares memory with it."""

import mlopt
import numpy as np
import pytest
import torch
from mlopt.errors import InputError
from mlopt.test.python.api_modules import close
from torch import nn

pytestmark = pytest.mark.usefixtures("inference")


def step(state, x):
    state.add_(x)
    return state * 2 + x


def check(compiled, state, x):
    expected = step(state.clone(), x.clone())
    close(compiled(state, x), expected)


@pytest.fixture(scope="module")
def stepper():
    return mlopt.jit(step, torch.zeros(4, 6), torch.zeros(4, 6))


@pytest.mark.parametrize(
    "split",
    [
        lambda base: (base[:4, :6], base[4:, :6]),
        lambda base: (base[:4, :6], base[:4, 6:]),
        lambda base: (base[::2, :6], base[1::2, :6]),
        lambda base: (base[:4, ::2], base[:4, 1::2]),
        lambda base: (base[:4, :6], base[4:, :6].clone()),
    ],
)
def test_slices_without_a_common_element_are_fine(stepper, split):
    check(stepper, *split(torch.randn(8, 12)))
    x, y = split(torch.randn(8, 12))
    expected = step(x.clone(), y.clone())
    close(torch.from_numpy(stepper(x.numpy(), y.numpy())), expected)


@pytest.mark.parametrize(
    "split",
    [
        lambda base: (base[:4, :6], base[:4, :6]),
        lambda base: (base[:4, :6], base[3:7, :6]),
        lambda base: (base[:4, :6], base[:4, 5:11]),
        lambda base: (base[::2, :6], base[:4, 1:7]),
        lambda base: (base[:4, ::2], base[:4, 2:8]),
    ],
)
def test_slices_with_a_common_element_are_refused(stepper, split):
    base = torch.randn(8, 12)
    kept = base.clone()
    for whole in (base, base.numpy()):
        with pytest.raises(InputError, match="input 'state' is written to and shares memory with input 'x'"):
            stepper(*split(whole))
    assert torch.equal(base, kept)


def test_arrays_that_are_copied_on_the_way_in(stepper):
    memory = np.zeros((4, 12), np.float32)
    with pytest.raises(InputError, match="shares memory"):
        stepper(memory[:, :6], memory[:, 5::-1])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.bool, torch.float64, torch.int8])
def test_in_every_dtype(dtype):
    compiled = mlopt.jit(lambda state, x: state.copy_(x), *torch.zeros(2, 3, 4, dtype=dtype))
    base = torch.randn(3, 12).to(dtype)
    compiled(base[:, :4], base[:, 4:8])
    assert torch.equal(base[:, :4], base[:, 4:8])
    with pytest.raises(InputError, match="shares memory"):
        compiled(base[:, :4], base[:, 3:7])


class Accumulator(nn.Module):
    """Writes to a buffer and reads a weight."""

    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(4))
        self.weight = nn.Parameter(torch.randn(4))

    def forward(self, x):
        self.total.add_(x)
        return x * self.weight + self.total


def test_a_buffer_that_is_written_to_and_passed():
    module = Accumulator()
    compiled = mlopt.jit(module, torch.randn(4))
    with pytest.raises(InputError, match="weight 'total' is written to and shares memory with input 'x'"):
        compiled(module.total)
    with pytest.raises(InputError, match="shares memory with input 'x'"):
        compiled(module.total.numpy())
    assert torch.equal(module.total, torch.zeros(4))
    x = module.weight.detach()
    close(compiled(x), x * x + x)
    close(module.total, x)
    module.total = torch.zeros(8)[::2]
    close(compiled(module.total.as_strided((4,), (2,), 1) + 1), module.weight + 1)


def test_an_input_that_is_written_to_and_is_a_weight():
    class Update(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(4))

        def forward(self, x):
            x.mul_(2)
            return x + self.weight

    module = Update()
    compiled = mlopt.jit(module, torch.randn(4))
    x = torch.randn(4)
    close(compiled(x.clone()), 2 * x + module.weight)
    for value in (module.weight.detach(), module.weight.detach().numpy()):
        with pytest.raises(
            InputError, match="input 'x' is written to and shares memory with weight 'weight'"
        ):
            compiled(value)
    module.weight.data = x
    with pytest.raises(InputError, match="shares memory with weight 'weight'"):
        compiled(x)


def test_a_buffer_that_is_written_to_and_overlaps_a_weight():
    module = Accumulator()
    compiled = mlopt.jit(module, torch.randn(4))
    memory = torch.randn(8)
    module.total, module.weight.data = memory[:4], memory[4:]
    x = torch.randn(4)
    close(compiled(x), x * memory[4:] + memory[:4])
    module.weight.data = memory[1:5]
    with pytest.raises(
        InputError, match="weight 'total' is written to and shares memory with weight 'weight'"
    ):
        compiled(x)
