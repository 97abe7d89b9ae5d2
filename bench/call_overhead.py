"""What a warm call of a compiled object costs over its kernel: checks, output, argument array.

    python bench/call_overhead.py            print the table
    python bench/call_overhead.py --check    and fail above 4 µs for three small tensors

The time of a batch of calls is taken many times, and the smallest is kept: whatever else runs
on the machine only adds to it.
"""

from __future__ import annotations

import argparse
import sys
import timeit
from collections.abc import Callable
from typing import Any

import mlopt
import torch
from mlopt.compiled import Compiled

LIMIT = 4.0
BATCH, BATCHES = 500, 400


def microseconds(function: Callable[..., Any], *args: Any, keep: Any = None) -> float:  # noqa: ARG001
    """The time of one call; ``keep`` lives as long."""
    for _ in range(BATCH):
        function(*args)
    return min(timeit.repeat(lambda: function(*args), number=BATCH, repeat=BATCHES)) / BATCH * 1e6


def kernel(compiled: Compiled, *inputs: Any) -> float:
    """The time of the machine code alone, on the argument array of a call with contiguous inputs."""
    names = compiled._call.__globals__
    kept = compiled(*inputs)  # the array holds addresses: what it points to must live
    frames = names["frames"] if names["bound"] is None else names["bound"]().frames
    return microseconds(names["function"], frames[-1].address, keep=kept)


def row(name: str, compiled: Compiled, eager: Callable[..., Any], *inputs: Any) -> float:
    """Print one line of the table; the call's time over the kernel's."""
    call, alone = microseconds(compiled, *inputs), kernel(compiled, *(x.contiguous() for x in inputs))
    print(f"{name:32s} {call:8.2f} {alone:8.2f} {call - alone:8.2f} {microseconds(eager, *inputs):8.2f}")
    return call - alone


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help=f"exit with 1 above {LIMIT} µs")
    options = parser.parse_args()
    torch.manual_seed(0)
    x, y, z = (torch.randn(4, 16) for _ in range(3))

    def three(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
        return x * y + z

    linear = torch.nn.Linear(16, 16).eval()
    print(f"{'µs, f32[4, 16]':32s} {'call':>8s} {'kernel':>8s} {'over':>8s} {'eager':>8s}")
    with torch.no_grad():
        compiled = mlopt.jit(three, x, y, z)
        over = row("x * y + z", compiled, three, x, y, z)
        row("Linear: one input, two weights", mlopt.jit(linear, x), linear, x)
        row("x * y + z, x not contiguous", compiled, three, torch.randn(16, 4).t(), y, z)
    row("Linear, grad mode on", mlopt.jit(linear, x), linear, x)
    return int(options.check and over > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
