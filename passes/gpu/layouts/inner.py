"""Tasks of one element whose innermost loops are short: a thread has all that these make, whole accesses.

Of windows whose rows are copied side by side, eight places of three channels, it has 24 half floats: where
each of them comes from is a number, but for where the thread's window is. It has several windows that are
beside each other in rows of memory, so that these are whole accesses, too (`inner_rows`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from mlir import ir

from ..threads.grid import Loops
from ..turns.reads import depends_on
from .access import WIDE, Access, access_of
from .consecutive import beyond_task, runs_along
from .inner_rows import windows_each
from .linear import Linear, linear_of

MOST_ACCESSES = 5  # of a window; of an odd number lanes store to banks of their own
MOST_BESIDE = 16  # of a thread's windows: shared memory has room for four blocks' and more
_READ, _WRITE = "vector.transfer_read", "vector.transfer_write"
_OTHERS = ("arith.", "math.", "affine.", "vector.broadcast", "vector.shape_cast", "ub.")


@dataclass(frozen=True)
class Inner:
    """What a thread has: ``each`` tasks of inner loops, in ``windows`` places of the loop around them.

    ``bytes``: of what they make.
    """

    each: int
    windows: int
    bytes: int


def inner_of(forall: ir.Operation, threads: int) -> Inner | None:
    """The tasks of a thread's inner loops, which make whole accesses; None if there are none.

    An odd number of accesses, and all threads have as many, unless they have windows beside each other.
    Results lie one behind the other; what is read may be padded. Not what runs along with the results:
    neighbouring lanes would read it at once.
    """
    loops, counts = Loops.of(forall), Loops.of(forall).static_counts()
    work = [op.operation for op in list(forall.regions[0].blocks[0].operations)[:-1]]
    if None in counts or any(step != 1 for step in loops.steps) or not all(map(_is_known, work)):
        return None
    writes = [access_of(op) for op in work if op.name == _WRITE]
    reads = [access_of(op) for op in work if op.name == _READ]
    if len(writes) != 1 or not reads or not all(writes[0].in_bounds):
        return None
    (write,) = writes
    buffers = [access.buffer for access in (write, *reads)]
    if (
        any(not ir.MemRefType(buffer.type).has_static_shape for buffer in buffers)
        or write.buffer in buffers[1:]
    ):
        return None
    along = forall.regions[0].blocks[0].arguments[loops.rank - 1]
    if beyond_task(forall, write) != Linear() or any(runs_along(access, along) for access in reads):
        return None
    sizes = [count or 0 for count in counts]
    for first in range(len(sizes) - 2, 0, -1):
        each = prod(sizes[first:])
        accesses, rest = divmod(each * write.element_bytes, WIDE)
        if accesses > MOST_ACCESSES:
            return None
        if rest or accesses < 2:
            continue
        tasks = _tasks(forall, first, sizes)
        if not _are_known(forall, reads, tasks, range(first, len(sizes))):
            return None
        windows = windows_each(forall, reads, first - 1, tasks)
        if 1 < windows <= MOST_BESIDE // accesses:
            return Inner(each, windows, windows * accesses * WIDE)
        if accesses % 2 and prod(sizes[:first]) % threads == 0:
            return Inner(each, 1, accesses * WIDE)
    return None


def _tasks(forall: ir.Operation, first: int, sizes: Sequence[int]) -> list[dict[ir.Value, int]]:
    """The places of the loops from ``first`` on in each of their tasks."""
    inner = list(forall.regions[0].blocks[0].arguments)[first : len(sizes)]
    return [dict(zip(inner, numbers, strict=True)) for numbers in product(*map(range, sizes[first:]))]


def _are_known(
    forall: ir.Operation, reads: Sequence[Access], tasks: Sequence[Mapping[ir.Value, int]], inner: range
) -> bool:
    """Whether places of the ``inner`` loops only add numbers to where something is read."""
    changing = set[ir.Value]().union(*(depends_on(forall, loop) for loop in inner))
    found = (linear_of(index, known) for known in tasks for access in reads for index in access.indices)
    return not any(value in changing for place in found for value in place.terms)


def _is_known(op: ir.Operation) -> bool:
    return not op.regions and (op.name in (_READ, _WRITE) or op.name.startswith(_OTHERS))
