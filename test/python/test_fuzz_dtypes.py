"""Random programs of element-wise ops, casts, reductions and products in mixed dtypes: bit for bit as eager.

All numbers are small integers, and are kept so after each step: every dtype holds them, and sums of them,
so it does not matter what is rounded when, and a comparison or a cast has one right result. Half of the
programs have a number of rows that is known at the call only. MLOPT_FUZZ=N runs N programs instead of the
few of every test run. Views and rounding: test_fuzz_graphs.py.
"""

from __future__ import annotations

import os
import random

import mlopt
import pytest
import torch
from torch.export import Dim

PROGRAMS = int(os.environ.get("MLOPT_FUZZ", "24"))
FIRST = int(os.environ.get("MLOPT_FUZZ_FIRST", "0"))
ROWS = (5, 2, 17, 66)  # the first is the one that is compiled for
FLOATS = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8)
LIMIT = 8


def small(x: torch.Tensor) -> torch.Tensor:
    """``x`` within the limits, where it is a number."""
    return x if x.dtype in (torch.bool, torch.uint8) else x.clamp(-LIMIT, LIMIT)


def cast(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    # A negative number has no one meaning as an unsigned one.
    return x.abs().to(dtype) if dtype is torch.uint8 and x.dtype.is_signed else x.to(dtype)


def number(x: torch.Tensor) -> torch.Tensor:
    """Something that can be negative."""
    return x.to(torch.int32) if x.dtype in (torch.bool, torch.uint8) else x


def unary(x: torch.Tensor, rng: random.Random) -> torch.Tensor:
    kind = rng.choice(("relu", "negative", "absolute", "double", "square", "halve", "modulo", "sign"))
    x = number(x)
    if kind == "relu":
        return torch.relu(x)
    if kind == "negative":
        return -x
    if kind == "absolute":
        return x.abs()
    if kind == "double":
        return x * 2 - 1
    if kind == "square":
        return x * x
    if kind == "halve":
        return torch.div(x, rng.choice((2, -2, 4)), rounding_mode=rng.choice(("floor", "trunc")))
    if kind == "modulo":
        return torch.remainder(x, rng.choice((2, 3, -3)))
    return torch.sign(x)


def binary(x: torch.Tensor, y: torch.Tensor, rng: random.Random) -> torch.Tensor:
    kind = rng.choice(("add", "subtract", "multiply", "maximum", "where", "less", "equal"))
    if kind == "where":
        return torch.where(x > 0, x, y)
    if kind == "less":
        return x < y
    if kind == "equal":
        return x == y
    x, y = number(x), number(y)
    if kind == "add":
        return x + y
    if kind == "subtract":
        return x - y
    return x * y if kind == "multiply" else torch.maximum(x, y)


def reduced(x: torch.Tensor, rng: random.Random) -> torch.Tensor:
    kind = rng.choice(("sum", "sum", "amax", "amin", "argmax", "any", "all"))
    dims = rng.choice(((-1,), (-1,), (-1,), (0,), tuple(range(x.dim())), (1,), tuple(range(1, x.dim()))))
    keep = {"dim": dims, "keepdim": True}
    if kind == "any":
        return (x > 3).any(dims[0], keepdim=True)
    if kind == "all":
        return (x > -3).all(dims[0], keepdim=True)
    if kind == "argmax":
        return number(x).argmax(dims[0], keepdim=True)
    if kind == "sum":
        return x.sum(**keep)
    return number(x).amax(**keep) if kind == "amax" else number(x).amin(**keep)


def step(pool: list[torch.Tensor], weight: torch.Tensor, rng: random.Random) -> torch.Tensor:
    kind = rng.choice(("unary", "binary", "binary", "cast", "reduce", "reduce", "product", "scale"))
    x, y = rng.choice(pool), rng.choice(pool)
    if kind == "unary":
        return unary(x, rng)
    if kind == "binary":
        return binary(x, y, rng)
    if kind == "cast":
        return cast(x, rng.choice((*FLOATS, *INTEGERS, torch.uint8, torch.bool)))
    if kind == "reduce":
        return binary(small(reduced(x, rng)), y, rng)
    if kind == "scale":
        return x * torch.arange(x.shape[-1]).remainder(3).to(rng.choice((*FLOATS, torch.int32)))
    dtype = rng.choice((*FLOATS, torch.int64, torch.int32))
    return x.to(dtype) @ weight.to(dtype)


def program(seed: int, x: torch.Tensor, y: torch.Tensor, weight: torch.Tensor) -> list[torch.Tensor]:
    """Some of the values that a random program computes, the last one always."""
    rng = random.Random(seed)
    pool = [x, y]
    for _ in range(rng.randrange(2, 9)):
        pool.append(small(step(pool, weight, rng)))
    return [pool[-1], *rng.sample(pool[2:-1], min(rng.randrange(3), len(pool) - 3))]


@pytest.mark.parametrize("seed", range(FIRST, FIRST + PROGRAMS))
def test_fusion(seed):
    rng = random.Random(-seed)
    inner = [rng.choice((1, 3, 8, 17, 33, 64)) for _ in range(rng.choice((1, 1, 2)))]
    dtypes = [rng.choice((*FLOATS, *INTEGERS, torch.uint8, torch.bool)) for _ in range(2)]
    generator = torch.Generator().manual_seed(seed)

    def values(shape, dtype):
        return cast(torch.randint(-LIMIT, LIMIT + 1, shape, generator=generator), dtype)

    weight = values((inner[-1], inner[-1]), torch.float32)
    dynamic = rng.random() < 0.5
    sizes = ROWS if dynamic else (rng.choice((1, 5, 17, 40)),)
    inputs = [[values((rows, *inner), dtype) for dtype in dtypes] for rows in sizes]
    shapes = ({0: Dim("rows", min=2)}, {0: Dim("rows", min=2)}, None) if dynamic else None
    compiled = mlopt.jit(lambda x, y, w: program(seed, x, y, w), *inputs[0], weight, dynamic_shapes=shapes)
    for given in inputs:
        for ours, eager in zip(compiled(*given, weight), program(seed, *given, weight), strict=True):
            assert ours.dtype == eager.dtype
            torch.testing.assert_close(ours, eager, rtol=0, atol=0, equal_nan=True)
