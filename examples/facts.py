"""What the examples share: times, errors, and a table of what they found."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import torch


def milliseconds(calls: dict[str, Callable[[], object]], rounds: int = 20) -> dict[str, float]:
    """Median milliseconds of each call, taken turn by turn so that drift hits all alike."""
    samples: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        call()
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            samples[name].append(1e3 * (time.perf_counter() - start))
    return {name: statistics.median(values) for name, values in samples.items()}


def error(got: torch.Tensor, exact: torch.Tensor) -> float:
    """max |got - exact| / max |exact|, in float64."""
    return ((got.double() - exact).abs().max() / exact.abs().max()).item()


def show(facts: dict[str, object]) -> None:
    """One fact a line."""
    width = max(map(len, facts))
    for name, value in facts.items():
        print(f"{name:{width}s}  {f'{value:.3g}' if isinstance(value, float) else value}")
