"""Random programs of slices, transposes, reshapes, concats and row ops, beside eager.

What moves elements is folded into the indexing of what reads them, where a wrong index is a
silent wrong answer. MLOPT_FUZZ=N runs N programs instead of the few of every test run.
"""

from __future__ import annotations

import os
import random

import mlopt
import pytest
import torch

PROGRAMS = int(os.environ.get("MLOPT_FUZZ", "24"))


def moved(x: torch.Tensor, rng: random.Random) -> torch.Tensor:
    """One random op on ``x``; what it does depends on ``rng`` and on x's shape alone."""
    dim = rng.randrange(x.dim())
    size = x.shape[dim]
    kind = rng.choice(("slice", "step", "permute", "merge", "split", "cat", "flip", "row", "total", "map"))
    if kind == "slice" and size > 2:
        start = rng.randrange(size - 1)
        return x.narrow(dim, start, rng.randrange(1, size - start + 1))
    if kind == "step" and size > 2:
        return x[tuple(slice(rng.randrange(2), None, 2) if d == dim else slice(None) for d in range(x.dim()))]
    if kind == "permute":
        return x.permute(rng.sample(range(x.dim()), x.dim()))
    if kind == "merge" and x.dim() > 2:
        return x.flatten(1, 2)
    if kind == "split" and x.dim() < 4 and size % 2 == 0:
        return x.unflatten(dim, (2, size // 2))
    if kind == "cat" and x.numel() < 4000:
        return torch.cat([x, x.narrow(dim, 0, max(size // 2, 1)) * 2], dim)
    if kind == "flip":
        return x.flip(dim)
    if kind == "row":
        return x.softmax(dim)
    if kind == "total" and x.dim() > 1:
        return x - x.sum(dim, keepdim=True)
    return torch.tanh(x) + 0.5


def program(seed: int, x: torch.Tensor) -> torch.Tensor:
    rng = random.Random(seed)
    for _ in range(rng.randrange(2, 7)):
        x = moved(x, rng)
    return x


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_moves(seed):
    shape = random.Random(-seed).sample((3, 4, 6, 7, 17, 20), 3)
    generator = torch.Generator().manual_seed(seed)
    inputs = [torch.randn(shape, generator=generator) for _ in range(2)]
    compiled = mlopt.jit(lambda x: program(seed, x), inputs[0])
    for x in inputs:
        torch.testing.assert_close(compiled(x), program(seed, x), rtol=2e-5, atol=2e-5)
