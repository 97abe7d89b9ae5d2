"""A function compiled, beside eager: the same values to the sign of a zero, the same errors."""

from collections.abc import Callable
from typing import Any

import mlopt
import pytest
import torch
from torch.utils import _pytree as pytree

TOLERANCE = {torch.float64: 1e-13, torch.float32: 2e-6, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}


def fresh(inputs: tuple[Any, ...]) -> list[Any]:
    return [value.clone() if isinstance(value, torch.Tensor) else value for value in inputs]


def assert_same(actual: Any, expected: Any) -> None:
    """Two trees of results: structure, types, dtypes, shapes, values, NaN and the signs of zeros."""
    ours, our_spec = pytree.tree_flatten(actual)
    eager, spec = pytree.tree_flatten(expected)
    assert our_spec == spec
    for mine, theirs in zip(ours, eager, strict=True):
        assert type(mine) is type(theirs)
        if not isinstance(theirs, torch.Tensor):
            assert mine == theirs
            continue
        tolerance = TOLERANCE.get(theirs.dtype, 0)
        torch.testing.assert_close(mine, theirs, rtol=tolerance, atol=tolerance, equal_nan=True)
        if theirs.is_floating_point():
            zeros = (mine == 0) & (theirs == 0)
            assert torch.equal(mine.signbit()[zeros], theirs.signbit()[zeros])


def assert_as_eager(function: Callable[..., Any], *inputs: Any) -> None:
    """The compiled function returns what eager does."""
    with torch.no_grad():
        assert_same(mlopt.jit(function, *fresh(inputs))(*fresh(inputs)), function(*fresh(inputs)))


def assert_raises_as_eager(function: Callable[..., Any], *inputs: Any) -> None:
    """The call raises eager's exception, with its message."""
    with pytest.raises(Exception) as eager:
        function(*fresh(inputs))
    compiled = mlopt.jit(function, *fresh(inputs))
    with pytest.raises(type(eager.value)) as ours:
        compiled(*fresh(inputs))
    assert str(ours.value) == str(eager.value).splitlines()[0]
