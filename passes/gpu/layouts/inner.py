"""Tasks of one element whose innermost loops are short: a thread has all that these make, whole accesses.

Of windows whose rows are copied side by side, eight places of three channels, it has 24 half floats: where
each of them comes from is a number, but for where the thread's window is.
"""

from __future__ import annotations

from math import prod

from mlir import ir

from ..threads.grid import Loops
from .access import WIDE, access_of
from .consecutive import beyond_task, runs_along
from .linear import Linear

MOST_ACCESSES = 5  # of a thread; of an odd number lanes store to banks of their own
_READ, _WRITE = "vector.transfer_read", "vector.transfer_write"
_OTHERS = ("arith.", "math.", "affine.", "vector.broadcast", "vector.shape_cast", "ub.")


def inner_each(forall: ir.Operation, threads: int) -> int:
    """The tasks of a thread's inner loops, which make whole accesses, an odd number; 0 if there are none.

    All threads have as many. Results lie one behind the other; what is read, from wherever, may be padded.
    Not what runs along with the results: neighbouring lanes would read it at once.
    """
    loops, counts = Loops.of(forall), Loops.of(forall).static_counts()
    work = [op.operation for op in list(forall.regions[0].blocks[0].operations)[:-1]]
    if None in counts or any(step != 1 for step in loops.steps) or not all(map(_is_known, work)):
        return 0
    writes = [access_of(op) for op in work if op.name == _WRITE]
    reads = [access_of(op) for op in work if op.name == _READ]
    if len(writes) != 1 or not reads or not all(writes[0].in_bounds):
        return 0
    (write,) = writes
    buffers = [access.buffer for access in (write, *reads)]
    if (
        any(not ir.MemRefType(buffer.type).has_static_shape for buffer in buffers)
        or write.buffer in buffers[1:]
    ):
        return 0
    along = forall.regions[0].blocks[0].arguments[loops.rank - 1]
    if beyond_task(forall, write) != Linear() or any(runs_along(access, along) for access in reads):
        return 0
    sizes = [count or 0 for count in counts]
    for first in range(len(sizes) - 2, 0, -1):
        each = prod(sizes[first:])
        accesses, rest = divmod(each * write.element_bytes, WIDE)
        if accesses > MOST_ACCESSES:
            return 0
        if rest == 0 and accesses % 2 and accesses > 1 and prod(sizes[:first]) % threads == 0:
            return each
    return 0


def _is_known(op: ir.Operation) -> bool:
    return not op.regions and (op.name in (_READ, _WRITE) or op.name.startswith(_OTHERS))
