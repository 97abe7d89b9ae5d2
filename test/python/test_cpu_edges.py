"""Every schedule of a CPU: any number of threads, bases that are not aligned, NaN, infinities, denormals."""

from __future__ import annotations

import copy
import functools
from typing import Any

import mlopt
import pytest
import torch
from mlopt.runtime.verification import Verifier
from torch import Tensor, nn

from .cpu_schedules import SCHEDULES
from .threads import on_any_number

pytestmark = pytest.mark.usefixtures("inference")

# At the start of each input, inside, and at the end.
SPECIALS = {
    "nan": (0.5, 2.0, torch.nan),
    "infinite": (torch.inf, -torch.inf, torch.inf),
    "small": (-0.0, 1e-40, -1e-40),
}


@functools.cache
def compiled(name: str) -> tuple[nn.Module, Any]:
    """A module, and what mlopt.jit makes of it: one for all tests, which leave both as they were."""
    torch.manual_seed(0)
    module = SCHEDULES[name].make().eval()
    return module, mlopt.jit(module, *SCHEDULES[name].inputs())


def moved(value: Tensor) -> Tensor:
    """The same numbers, at an address that is aligned to an element only."""
    memory = value.new_empty(value.numel() + 1)[1:].view(value.shape)
    assert memory.data_ptr() % 64
    return memory.copy_(value)


@pytest.mark.parametrize("name", SCHEDULES)
def test_the_same_bits_on_any_number_of_threads(name: str) -> None:
    _, fast = compiled(name)
    assert "call @GOMP_parallel" in fast.asm["loops"]  # there is work for several
    inputs = SCHEDULES[name].inputs()
    on_any_number(lambda: fast(*inputs))


@pytest.mark.parametrize("name", SCHEDULES)
def test_bases_that_are_not_aligned(name: str) -> None:
    """The same bits as at the start of a cache line; weights are moved, too."""
    module, fast = compiled(name)
    inputs = SCHEDULES[name].inputs()
    wanted = fast(*inputs)
    kept = {each: each.data for each in module.parameters()}
    try:
        for each in kept:
            each.data = moved(each.data)
        torch.testing.assert_close(fast(*map(moved, inputs)), wanted, rtol=0, atol=0)
    finally:
        for each, data in kept.items():
            each.data = data


@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize("special", SPECIALS)
def test_numbers_that_are_not_ordinary(name: str, special: str) -> None:
    """They reach what they reach in eager, and nothing else."""
    module, fast = compiled(name)
    inputs = SCHEDULES[name].inputs()
    # Values of keys that a causal mask leaves out are not multiplied by their zeros (docs/semantics.md).
    for each in inputs[1:] if name == "causal attention" else inputs:
        if each.is_floating_point():
            each.view(-1)[[0, each.numel() // 2 + 3, -1]] = torch.tensor(SPECIALS[special])
    Verifier(module, inputs, {}).check(fast(*inputs))


@pytest.mark.parametrize("name", [name for name, each in SCHEDULES.items() if each.linear])
def test_denormal_numbers(name: str) -> None:
    """Results below the least normal number are as exact as the distance of denormals allows."""
    module, fast = compiled(name)
    first, *others = SCHEDULES[name].inputs()
    first = first * 1e-41
    made = fast(first, *others).double()
    wide = [each.double() if each.is_floating_point() else each for each in (first, *others)]
    wanted = copy.deepcopy(module).double()(*wide)
    assert 0 < wanted.abs().max() < 2.0**-126
    torch.testing.assert_close(made, wanted, rtol=1e-5, atol=256 * 2.0**-149)
