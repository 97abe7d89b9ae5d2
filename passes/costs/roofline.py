"""How long a machine takes for a kernel, if it is kept as busy as it can be.

    memory     bytes / bandwidth
    compute    FLOPs of contractions / their peak  +  other FLOPs / half of the vectors' peak
    special    calls of exp, log, division … / their rates
    launch     what each kernel costs, however small

    seconds = launch + max(memory, compute + special)

Memory traffic hides behind arithmetic, and the other way round; special functions are arithmetic on the
same units, and a launch hides behind nothing. The kernel is bound by the largest of the four. What the
model leaves out: caches (a small tensor that the kernel before has just written comes from there), too few
tasks for all processors, accesses that waste bandwidth.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .cost import Cost
from .machine import Machine

Bound = Literal["memory", "compute", "special functions", "launch"]


@dataclass(frozen=True)
class Prediction:
    """``seconds`` that a kernel takes at least, what decides them, and the parts that they are made of."""

    seconds: float
    bound_by: Bound
    memory: float
    compute: float
    special: float
    launch: float


def predict(cost: Cost, machine: Machine) -> Prediction:
    """The time of one call of a kernel that costs ``cost`` on ``machine``."""
    memory = cost.bytes / machine.bandwidth
    compute = sum(
        flops / machine.matrix.get(dtype, machine.vector[dtype]) for dtype, flops in cost.contracted.items()
    ) + sum(flops / (machine.vector[dtype] / 2) for dtype, flops in cost.elementwise.items())
    special = sum(calls / machine.special[function] for function, calls in cost.special.items())
    parts: dict[Bound, float] = {
        "memory": memory,
        "compute": compute,
        "special functions": special,
        "launch": machine.launch,
    }
    arithmetic = compute + special
    if memory < arithmetic:  # together they may outweigh memory where each alone does not
        parts["memory"] = 0.0
    bound_by = max(parts, key=lambda part: parts[part])
    seconds = machine.launch + max(memory, arithmetic)
    return Prediction(seconds, bound_by, memory, compute, special, machine.launch)
