"""Softmaxes on CPUs: how their quotients are rounded, and rows that are not finite, on 1, 2 and 5 threads."""

from __future__ import annotations

import math

import mlopt
import pytest
import torch
from torch import Tensor

from .threads import on_any_number


def _parts(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    powers = torch.exp(x - x.amax(-1, keepdim=True))
    total = powers.sum(-1, keepdim=True)
    return powers / total, powers, total


def test_quotients_are_rounded_right() -> None:
    x = torch.randn(400, 1003) * 20
    made, powers, total = mlopt.jit(_parts, x)(x)
    wanted = (powers.double() / total.double()).float()
    ulps = (made.view(torch.int32) - wanted.view(torch.int32)).abs()
    assert (wanted < 2.0**-126).any()
    assert ulps.max() <= 1
    assert ulps[wanted >= 2.0**-100].count_nonzero() <= 4


@pytest.mark.parametrize(
    ("dim", "dtype", "tolerance"),
    [(1, torch.float32, 1e-5), (0, torch.float32, 1e-5), (1, torch.float16, 2e-3), (1, torch.bfloat16, 1e-2)],
)
def test_rows_that_are_not_finite(dim: int, dtype: torch.dtype, tolerance: float) -> None:
    x = torch.randn(10, 40)
    x[0, 3], x[1, 5], x[2], x[3, 4] = math.nan, math.inf, -math.inf, -math.inf
    x[4], x[4, 1], x[5], x[6, 1:], x[7] = 3e38, -3e38, 1e-40, -math.inf, torch.linspace(-110, 0, 40)
    x[8, ::2] = -math.nan
    rows = (x if dim else x.T.contiguous()).to(dtype)
    compiled = mlopt.jit(lambda x: (x.softmax(dim), x.log_softmax(dim)), rows)
    made = on_any_number(lambda: torch.stack(compiled(rows)))
    wanted = torch.stack((rows.softmax(dim), rows.log_softmax(dim)))
    torch.testing.assert_close(made, wanted, rtol=tolerance, atol=1e-7, equal_nan=True)


def test_rows_that_are_stored_late() -> None:
    """16 MiB, past the caches: rows that are not finite at the ends of tasks and between others."""
    x = torch.randn(4104, 1024)
    x[7, 3], x[8], x[4103, 1023] = math.nan, -math.inf, math.inf
    compiled = mlopt.jit(lambda x: x.softmax(-1), x)
    assert (
        compiled.asm["loops"].count("nontemporal") == 2
    )  # among the next row's exponentials, and of the last
    made = on_any_number(lambda: compiled(x))
    torch.testing.assert_close(made, x.double().softmax(-1).float(), rtol=1e-6, atol=1e-9, equal_nan=True)


def test_sums_of_long_rows() -> None:
    """One loop finds the maximum and the sum: rows of blocks and a masked strip, not finite at either end."""
    x = torch.randn(12, 33011) * 20
    x[0, 33010], x[1, 5], x[1, 20000], x[2], x[3, 33010], x[4, 0] = (
        math.nan,
        math.inf,
        math.inf,
        -math.inf,
        200,
        90,
    )
    x[5, :20000], x[6, :33010], x[7, 1:] = -math.inf, -math.inf, -math.inf
    x[8], x[8, 7], x[9, 5], x[9, 40], x[10] = (
        -3.4028234663852886e38,
        3e38,
        -math.nan,
        math.inf,
        x[10].sort()[0],
    )
    x[11, 16384:] -= 300
    compiled = mlopt.jit(lambda x: (x.amax(-1), (x - x.amax(-1, keepdim=True)).exp().sum(-1)), x)
    assert "arith.cmpf ugt" in compiled.asm["loops"]  # the maximum rises
    made = on_any_number(lambda: torch.cat(compiled(x)))
    rows = x.double()
    highest = rows.amax(-1)
    wanted = torch.cat([highest, (rows - highest[:, None]).exp().sum(-1)])
    torch.testing.assert_close(made, wanted.float(), rtol=1e-6, atol=0, equal_nan=True)
