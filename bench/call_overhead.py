"""What a warm call of a compiled object costs over its kernel: checks, output, argument array.

    python bench/call_overhead.py            print the table
    python bench/call_overhead.py --check    and fail if it is more than twice what eager takes in all

Call, kernel and eager are timed in turns, a batch each, and of each the smallest time is kept: whatever
else runs on the machine only adds to it. So the check is a ratio of two numbers of one run, and it
goes on for a while before it gives up on a busy machine.
"""

from __future__ import annotations

import argparse
import ctypes
import sys
import timeit
from collections.abc import Callable
from typing import Any

import mlopt
import torch
from mlopt.compiled import Compiled

LARGEST_RATIO = 2.0  # 1.2 on an idle machine
BATCH, BATCHES = 500, 200
ROUNDS = 20


class Row:
    """One line of the table: a compiled function beside its kernel alone and beside eager."""

    def __init__(self, name: str, compiled: Compiled, eager: Callable[..., Any], *inputs: Any) -> None:
        self.name = name
        names = compiled._call.__globals__
        plain = [x.contiguous() for x in inputs]
        self.kept = plain, compiled(*plain)  # the array below holds their addresses
        frames = names["frames"] if names.get("bound") is None else names["bound"]().frames
        self.array = type(frames[-1].array)(*frames[-1].array)
        function, address = names["function"], ctypes.addressof(self.array)
        self.actions = (lambda: compiled(*inputs), lambda: function(address), lambda: eager(*inputs))
        self.seconds = [float("inf")] * len(self.actions)

    def show(self) -> None:
        """Time all three some more, and print the line."""
        for _ in range(BATCHES):
            for number, action in enumerate(self.actions):
                taken = timeit.timeit(action, number=BATCH) / BATCH
                self.seconds[number] = min(self.seconds[number], taken)
        print(self, flush=True)

    @property
    def over(self) -> float:
        """The call's time over the kernel's."""
        return self.seconds[0] - self.seconds[1]

    @property
    def ratio(self) -> float:
        """The same as a multiple of eager's whole time."""
        return self.over / self.seconds[2]

    def __str__(self) -> str:
        call, kernel, eager = (f"{seconds * 1e6:8.2f}" for seconds in self.seconds)
        return f"{self.name:32s} {call} {kernel} {self.over * 1e6:8.2f} {eager} {self.ratio:8.2f}"


def three(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
    """The function of three small tensors."""
    return x * y + z


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--check", action="store_true", help=f"exit with 1 if it stays over {LARGEST_RATIO} × eager"
    )
    options = parser.parse_args()
    torch.manual_seed(0)
    x, y, z = (torch.randn(4, 16) for _ in range(3))
    print(f"{'µs, f32[4, 16]':32s} {'call':>8s} {'kernel':>8s} {'over':>8s} {'eager':>8s} {'ratio':>8s}")
    with torch.no_grad():
        compiled = mlopt.jit(three, x, y, z)
        first = Row("x * y + z", compiled, three, x, y, z)
        if options.check:
            return int(not stays_below(first, LARGEST_RATIO))
        first.show()
        linear = torch.nn.Linear(16, 16).eval()
        Row("Linear: one input, two weights", mlopt.jit(linear, x), linear, x).show()
        Row("x * y + z, x not contiguous", compiled, three, torch.randn(16, 4).t(), y, z).show()
    Row("Linear, grad mode on", mlopt.jit(linear, x), linear, x).show()
    return 0


def stays_below(row: Row, ratio: float) -> bool:
    """Whether the row's ratio comes down to ``ratio`` within some rounds."""
    for _ in range(ROUNDS):
        row.show()
        if row.ratio <= ratio:
            return True
    print(f"a call costs more over its kernel than {ratio} × what eager takes in all")
    return False


if __name__ == "__main__":
    sys.exit(main())
