"""How long a GPU's blocks wait for what they read one row after the other.

The rows of ``embedding(i).sum(1)`` lie anywhere: a block reads an index, then the row at that place. Of a
loop of known length so many steps are written out as their number has factors of two, and their rows are on
the way together; else each step waits for its own. A CPU's core looks far enough ahead.
"""

from __future__ import annotations

from math import ceil, gcd, prod

from ..costs.machine import Machine
from ..domain import Domain
from ..scheduling import gpu
from ..scheduling.gpu_tiles import blocks_of
from ..structured import ASSUMED
from ..tiling.registry import stepped_dims

# Seconds of an index out of the L2 cache, 200 cycles, and a row out of memory, 500 and more: an estimate.
STEP = 0.5e-6
WAITS = "a block would wait for one row after the other"
AT_ONCE = 16  # steps that are written out, at most: 64 registers of a thread with wide loads


def waiting_seconds(domain: Domain, machine: Machine) -> float:
    """What a kernel takes at least, however little it reads, beside its launch."""
    dims = stepped_dims(domain)
    if not machine.chips or not dims:
        return 0.0
    choice = gpu.choose(domain, machine.name)
    steps = prod(dim.extent if dim.extent is not None else ASSUMED for dim in dims)
    inner = max(dims, key=lambda dim: dim.id).extent
    turns = ceil(blocks_of(domain, choice.tiles) / (machine.processors * choice.min_blocks))
    return turns * steps / gcd(AT_ONCE, inner or 1) * STEP
