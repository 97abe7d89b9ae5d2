"""`torch.arange` in floats, of as many numbers as the call says: beside eager."""

import mlopt
import pytest
import torch
from torch.export import Dim

CASES = {
    "up": lambda n, dtype: torch.arange(n, dtype=dtype),
    "in steps": lambda n, dtype: torch.arange(3, n + 7, 2, dtype=dtype),
    "down": lambda n, dtype: torch.arange(n, -3, -2, dtype=dtype),
}
FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]


@pytest.mark.parametrize("target", [{}, {"target": "cuda:sm_80", "device": "emulator"}], ids=["cpu", "cuda"])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_as_many_floats_as_rows(dtype, target):
    def function(x):
        numbers = [case(x.shape[0], dtype) for case in CASES.values()]
        return x * numbers[0][:, None], *(each * 2 for each in numbers[1:])

    sizes = ({0: Dim("rows")},)
    compiled = mlopt.jit(function, torch.randn(5, 7).to(dtype), dynamic_shapes=sizes, **target)
    for rows in (0, 1, 5, 33, 127):
        x = torch.randn(rows, 7).to(dtype)
        torch.testing.assert_close(compiled(x), function(x), rtol=0, atol=0)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_positions_that_half_floats_do_not_have(name, dtype):
    """Each is rounded once (eager's vectors of them start from rounded ones)."""
    compiled = mlopt.jit(
        lambda x: CASES[name](x.shape[0], dtype), torch.randn(5), dynamic_shapes=({0: Dim("rows")},)
    )
    for rows in (2049, 4099, 70001):
        exact = CASES[name](rows, torch.int64).to(dtype)
        assert torch.equal(compiled(torch.randn(rows)), exact)
