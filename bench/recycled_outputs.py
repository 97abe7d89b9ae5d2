"""What large outputs cost, with and without memory that is used again.

    python bench/recycled_outputs.py

Times ``relu(x) * 0.5 + 1`` on matrices of f32: eager; compiled, each result in fresh memory (the results are
kept for a while, so that none can be used again); compiled, where the last result has died. Turn by turn,
medians in milliseconds, and eager's time over each. The kernel is the same in both.
"""

from __future__ import annotations

import statistics
import time
from collections import deque

import mlopt
import torch
from mlopt.runtime.recycled import MOST_OF_A_SIZE
from rich.console import Console
from rich.table import Table

_REPEATS = 15


def chain(x: torch.Tensor) -> torch.Tensor:
    """One kernel, bound by memory."""
    return torch.relu(x) * 0.5 + 1


def measure(side: int) -> tuple[float, float, float]:
    """Seconds of eager, of fresh memory and of used memory, for a matrix of ``side`` rows and columns."""
    x = torch.randn(side, side)
    fast = mlopt.jit(chain, x)
    kept: deque[torch.Tensor] = deque(maxlen=2 * MOST_OF_A_SIZE)  # those that die are not watched any more
    times: dict[str, list[float]] = {"eager": [], "fresh": [], "used": []}
    for _ in range(_REPEATS):
        idle = fast(x)  # takes what is free, so that the next gets none of it
        for way, call in (("eager", chain), ("fresh", fast)):
            start = time.perf_counter()
            kept.append(call(x))
            times[way].append(time.perf_counter() - start)
        del idle
        start = time.perf_counter()
        fast(x)
        times["used"].append(time.perf_counter() - start)
    eager, fresh, used = (statistics.median(seconds) for seconds in times.values())
    return eager, fresh, used


def main() -> None:
    """Print the table."""
    table = Table(title=f"relu(x) * 0.5 + 1, f32, {torch.get_num_threads()} threads, ms")
    for heading in ("matrix", "eager", "fresh memory", "used memory", "eager / fresh", "eager / used"):
        table.add_column(heading, justify="right")
    for side in (512, 1024, 2048, 4096):
        eager, fresh, used = measure(side)
        table.add_row(
            f"{side}×{side}",
            *(f"{1e3 * seconds:.2f}" for seconds in (eager, fresh, used)),
            f"{eager / fresh:.2f}",
            f"{eager / used:.2f}",
        )
    Console().print(table)


if __name__ == "__main__":
    main()
