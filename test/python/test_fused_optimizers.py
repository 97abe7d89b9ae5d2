"""Optimizers that change weights without raising their version: what was prepared is prepared again."""

import mlopt
import pytest
import torch
from mlopt.backend import mlopt as backend
from mlopt.runtime.optimizer_steps import Watch

FUSED = [torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.Adagrad]


def step(module, x, kind):
    optimizer = kind(module.parameters(), lr=0.5, fused=True)
    module(x).square().sum().backward()
    version = module.weight._version
    optimizer.step()
    assert module.weight._version == version  # else these tests show nothing
    optimizer.zero_grad()


@pytest.fixture
def compiled():
    module, x = torch.nn.Linear(37, 21), torch.randn(5, 37)
    return module, mlopt.jit(module, x), torch.compile(module, backend=backend)


@pytest.mark.parametrize("kind", FUSED)
def test_a_fused_step_is_seen(compiled, kind):
    module, *calls = compiled
    x = torch.randn(5, 37)
    with torch.no_grad():
        before = [call(x) for call in calls]
    step(module, x, kind)
    with torch.no_grad():
        for call, old in zip(calls, before, strict=True):
            torch.testing.assert_close(call(x), module(x), rtol=1e-4, atol=1e-4)
            assert (call(x) - old).abs().max() > 0.1


def test_a_step_of_other_weights_prepares_nothing():
    mine, other = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)
    watch, view = Watch(mine.parameters()), Watch([mine.weight.detach()[0]])
    step(other, torch.randn(2, 3), torch.optim.Adam)
    assert not watch.stepped
    step(mine, torch.randn(2, 3), torch.optim.Adam)
    assert watch.stepped
    assert view.stepped


def test_a_compiled_step_is_seen():
    module = torch.nn.Linear(3, 3)
    call = mlopt.jit(module, torch.randn(2, 3))
    with torch.no_grad():
        call(torch.randn(2, 3))
    optimizer = torch.optim.SGD(module.parameters(), lr=0.5)
    module(torch.randn(2, 3)).square().sum().backward()
    torch.compile(optimizer.step, backend="eager")()
    x = torch.randn(2, 3)
    with torch.no_grad():
        torch.testing.assert_close(call(x), module(x))
