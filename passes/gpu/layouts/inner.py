"""Tasks of one element whose innermost loops are short: a thread has all that these make, whole accesses.

Of windows whose rows are copied side by side, eight places of three channels, it has 24 half floats: where
each of them comes from is a number, but for where the thread's window is.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

from mlir import ir

from ..threads.grid import Loops
from ..turns.reads import depends_on
from .access import WIDE, Access, access_of
from .consecutive import beyond_task, runs_along
from .linear import Linear, linear_of

MOST_ACCESSES = 5  # of a thread; of an odd number lanes store to banks of their own
_READ, _WRITE = "vector.transfer_read", "vector.transfer_write"
_OTHERS = ("arith.", "math.", "affine.", "vector.broadcast", "vector.shape_cast", "ub.")


def inner_each(forall: ir.Operation, threads: int) -> int:
    """The tasks of a thread's inner loops, which make whole accesses, an odd number; 0 if there are none.

    All threads have as many. Results lie one behind the other; what is read may be padded.
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
            return each if _are_known(forall, reads, first, sizes) else 0
    return 0


def _are_known(forall: ir.Operation, reads: Sequence[Access], first: int, sizes: Sequence[int]) -> bool:
    """Whether places of the loops from ``first`` on only add numbers to where something is read."""
    inner = list(forall.regions[0].blocks[0].arguments)[first : len(sizes)]
    changing = set[ir.Value]().union(*(depends_on(forall, loop) for loop in range(first, len(sizes))))
    for numbers in product(*map(range, sizes[first:])):
        known = dict(zip(inner, numbers, strict=True))
        found = [linear_of(index, known) for access in reads for index in access.indices]
        if any(value in changing for place in found for value in place.terms):
            return False
    return True


def _is_known(op: ir.Operation) -> bool:
    return not op.regions and (op.name in (_READ, _WRITE) or op.name.startswith(_OTHERS))
