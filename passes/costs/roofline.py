"""How long a machine takes for a kernel, if it is kept as busy as it can be.

    memory     bytes / bandwidth
    compute    FLOPs of contractions / their peak  +  other FLOPs / half of the vectors' peak
    special    calls of exp, log, division … / their rates
    launch     what each kernel costs, however small

    seconds = launch + max(memory, compute + special) / busy

``busy`` is the part of the machine that has work: a kernel with few independent tasks leaves processors idle,
and their share of the bandwidth. It is 1 where nothing is said about tasks, and can be more for a machine
whose description wants more tasks than it has processors: it stands for larger ones, too.

A CPU gives a ``small`` kernel one processor, however many tasks there are: `fusion/saving.py` compares what
that one takes.

Memory traffic hides behind arithmetic, and the other way round; special functions are arithmetic on the
same units, and a launch hides behind nothing. The kernel is bound by the largest of the four. What the
model leaves out: caches (a small tensor that the kernel before has just written comes from there), and
accesses that waste bandwidth.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .cost import Cost
from .machine import Machine

Bound = Literal["memory", "compute", "special functions", "launch"]

_ON_VECTORS = {"i8": "int", "tf32": "f32"}
_SHORT = 4  # times as long as what is one processor's: a task that others need not share


@dataclass(frozen=True)
class Prediction:
    """``seconds`` that a kernel takes at least, what decides them, and the parts that they are made of.

    ``memory``, ``compute`` and ``special`` are those of the processors that have work.
    """

    seconds: float
    bound_by: Bound
    memory: float
    compute: float
    special: float
    launch: float


def predict(cost: Cost, machine: Machine, tasks: int | None = None) -> Prediction:
    """The time of one call of a kernel that costs ``cost`` on ``machine``; ``tasks``: enough, if None."""
    busy = busy_part(machine, tasks)
    memory = cost.bytes / machine.bandwidth
    compute, special = arithmetic_of(cost, machine)
    seconds = machine.launch + max(memory, compute + special) / busy
    memory, compute, special = memory / busy, compute / busy, special / busy
    parts: dict[Bound, float] = {
        "memory": memory,
        "compute": compute,
        "special functions": special,
        "launch": machine.launch,
    }
    if memory < compute + special:  # together they may outweigh memory where each alone does not
        parts["memory"] = 0.0
    bound_by = max(parts, key=lambda part: parts[part])
    return Prediction(seconds, bound_by, memory, compute, special, machine.launch)


def arithmetic_of(cost: Cost, machine: Machine) -> tuple[float, float]:
    """The seconds of FLOPs, and of special functions, if all processors share them."""
    compute = sum(flops / _rate_of(machine, kind) for kind, flops in cost.contracted.items()) + sum(
        flops / (machine.vector[dtype] / 2) for dtype, flops in cost.elementwise.items()
    )
    return compute, sum(calls / machine.special[function] for function, calls in cost.special.items())


def _rate_of(machine: Machine, kind: str) -> float:
    """The FLOPs of contractions in a second; without tensor cores those of vectors."""
    return machine.matrix.get(kind) or machine.vector[_ON_VECTORS.get(kind, kind)]


def busy_part(machine: Machine, tasks: int | None) -> float:
    """The part of the machine that so many tasks keep busy; all of it for None."""
    return 1.0 if tasks is None else min(max(tasks, 1), machine.tasks) / machine.processors


def are_enough(tasks: int, serial: float, machine: Machine) -> bool:
    """Whether so many tasks may share the work of ``serial`` seconds of one processor.

    Half as many as are wanted, or short ones. (Two heads of 512 keys, tasks of 24 µs by this model, take
    6.2 µs on two Zen 5 cores, and 8.0 in three kernels of more tasks; on one 7.4 and 8.1.)
    """
    return 2 * tasks >= machine.tasks or serial <= tasks * _SHORT * machine.small
