"""Checks of values that eager makes, in GPU programs: its exception and its words, from a kernel's status."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mlopt
import pytest
import torch
from mlopt.backend import report
from mlopt.errors import UnsupportedOpError
from mlopt.test.corpus.basic import Function
from torch import Tensor
from torch.nn import functional as F

some = torch.randn(3, 4, generator=torch.Generator().manual_seed(1))
# The function, inputs that are right, and wrong ones.
CASES: dict[str, tuple[Callable[..., Tensor], tuple[Tensor, ...], tuple[Tensor, ...]]] = {
    "one_hot": (
        lambda i: F.one_hot(i, 7),
        (torch.tensor([[0, 6], [2, 2]]),),
        (torch.tensor([[0, 7], [2, 2]]),),
    ),
    "one_hot below": (lambda i: F.one_hot(i, 3).float(), (torch.tensor([2]),), (torch.tensor([-1]),)),
    "masked_scatter": (
        lambda x, m: x.masked_scatter(m, x[0, :2]),
        (some, some > some.amax()),
        (some, some <= some.amax()),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_checks_raise_as_eager(name: str) -> None:
    function, right, wrong = CASES[name]
    module: Any = Function(function)
    compiled = mlopt.jit(module, *right, target="cuda:sm_80", device="emulator")
    assert torch.equal(compiled(*right), module(*right))
    with pytest.raises(RuntimeError) as eager:
        module(*wrong)
    with pytest.raises(RuntimeError) as ours:
        compiled(*wrong)
    assert str(eager.value) in str(ours.value)
    assert torch.equal(compiled(*right), module(*right))


def test_writes_through_indices_of_unknown_sizes_are_named() -> None:
    function: Any = Function(lambda x, i, y: x.scatter_add(0, i, y))
    i = torch.tensor([1, 0, 3])
    sizes = (({0: torch.export.Dim("n", min=4, max=64)}, {}, {}),)
    with pytest.raises(
        UnsupportedOpError, match=r"cannot compile aten\.scatter_add\.default .*unknown sizes"
    ):
        mlopt.jit(function, torch.ones(5), i, torch.ones(3), dynamic_shapes=sizes, target="cuda:sm_80")
    torch._dynamo.reset()
    call = torch.compile(
        function, backend="mlopt", options={"target": "cuda:sm_80", "device": "emulator"}, dynamic=True
    )
    assert torch.equal(call(torch.ones(5), i, torch.ones(3)), function(torch.ones(5), i, torch.ones(3)))
    reasons = [op.reason for graph in report().graphs for op in graph.eager]
    assert any("a write through indices of unknown sizes" in why for why in reasons)


def test_checks_beside_a_workspace_of_dynamic_size() -> None:
    """The sizes stand after the status cell, for the function that computes the workspace, too."""
    function: Any = Function(lambda x: x[:, [0, -1]])
    shapes = (({0: torch.export.Dim("n", min=2, max=64)},),)
    compiled = mlopt.jit(
        function, torch.randn(4, 6), dynamic_shapes=shapes, target="cuda:sm_80", device="emulator"
    )
    for rows in (2, 7, 64):
        x = torch.randn(rows, 6)
        assert torch.equal(compiled(x), function(x))


@pytest.mark.parametrize("wrong", [5, -1, 2**31, 2**32 + 3, -(2**32), 2**63 - 1, -(2**63)])
@pytest.mark.parametrize("function", [lambda x, i: x.gather(0, i), lambda x, i: F.embedding(i, x)])
def test_an_index_is_checked_in_all_its_bits(function: Callable[..., Tensor], wrong: int) -> None:
    """Positions have 32 bits in small buffers, and 2**32 + 3 would be 3."""
    x, right = torch.randn(5, 4), torch.tensor([[0, 4, 3, 1]])
    compiled = mlopt.jit(Function(function), x, right, target="cuda:sm_80", device="emulator")
    assert "arith.trunci" in compiled.asm["threads"]
    assert torch.equal(compiled(x, right), function(x, right))
    with pytest.raises(IndexError, match="index out of range"):
        compiled(x, torch.tensor([[0, 4, wrong, 1]]))
