"""What is loaded or computed a few registers at a time, where it is wanted: beside the sums of a product.

Elsewhere a thread loads all of a tile, then computes op by op, so that much is on its way together. Beside
128 sums of a thread a residual and the functions between them take more registers than there are, and so do
single elements alone, which a kernel's twin for what is unaligned loads. Here what follows a product's loop
is made in slices: eight elements are loaded, computed and stored, then the next eight. ptxas would move all
of them to where their operands are, so fences come between: branches that nobody takes, over which it moves
nothing. The first one is behind the wait for the product, or ptxas reads sums while products run, each of
which ends before the next one then (C7514).

Effect on 4000x4040x4072 in bf16 by blocks of 128x256, bytes that a thread spills: the twins with a residual
0 on sm_90a (176) and sm_80 (204), with a GELU before it 0 (560 and 1464), the kernel on sm_80 with a GELU
before it 0 (8).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from mlir import ir

from ....dialects.attributes import MMA
from ....dialects.layouts import Position
from ...operations import block_ops, nested_ops
from ..layouts.access import words_of
from ..layouts.order import is_multiplied
from ..layouts.tiles import is_tile
from ..layouts.warpgroup import HELD, PRODUCT
from ..layouts.warps import registers_of
from .builder import Truth
from .emitter import Emitter
from .fragment import Fragment
from .memory import Place
from .written_text import write_asm

SLICE = 8  # registers that are made together
FENCE = 16  # registers that are made between two fences
ROOM = 72  # registers for what functions of several sums at once are made of, addresses and counters
_FENCE = "{ .reg .pred p; .reg .b32 z; mov.u32 z, %ctaid.z; setp.eq.u32 p, z, $0; @p exit; }"
_NARROWING = ("arith.truncf", "arith.trunci", "arith.fptosi", "arith.fptoui")

Load = Callable[[Truth, Sequence[Position]], Sequence[ir.Value]]
Make = Callable[[Sequence[Position]], Sequence[ir.Value]]


class Late(Mapping[Position, ir.Value]):
    """A fragment of which ``make`` makes one of ``parts`` where an element of it is first wanted.

    It is made again where what was made for another use is not at hand.
    """

    def __init__(self, em: Emitter, tile: ir.Value, parts: Sequence[Sequence[Position]], make: Make) -> None:
        self._em, self._tile, self._make = em, tile, make
        self._parts = {position: part for part in parts for position in part}

    def __getitem__(self, position: Position) -> ir.Value:
        part = self._parts[position]
        made = self._em.once(("late", self._tile, part[0]), lambda: self._made(part))
        return made[part.index(position)]

    def __iter__(self) -> Iterator[Position]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)

    def _made(self, part: Sequence[Position]) -> Sequence[ir.Value]:
        em = self._em
        if em.making:  # a part of what has come to a fence
            return self._make(part)
        if em.made >= FENCE:
            fence(em)
        em.making = True
        made = self._make(part)
        em.making = False
        em.made += len(part)
        return made


def fence(em: Emitter) -> None:
    """Let ptxas move nothing from behind this place to before it, or the other way."""
    em.fences += 1
    em.made = 0
    write_asm([], _FENCE.replace("$0", str(em.fences)), "", [])


def late_loads(place: Place, wanted: Sequence[Position], load: Load) -> Late:
    """The elements of a read: of each access, or of single ones those of one condition together."""
    found: dict[Position, tuple[Truth, list[Position]]] = {}
    for whole, positions in place.by_condition(wanted, writes=False).items():
        for position in positions:
            found.setdefault(place.first_together(position), (whole, []))[1].append(position)
    parts = {
        tuple(each for at in leads for each in place.members(at)): (whole, leads)
        for whole, leads in found.values()
    }
    return Late(place.em, place.access.tile, list(parts), lambda part: load(*parts[tuple(part)]))


def late_values(
    em: Emitter, result: ir.Value, wanted: Sequence[Position], make: Callable[[Position], ir.Value]
) -> Late:
    """What an op computes of each register."""
    parts = [wanted[first : first + SLICE] for first in range(0, len(wanted), SLICE)]
    return Late(em, result, parts, lambda part: list(map(make, part)))


def can_wait(em: Emitter, op: ir.Operation) -> bool:
    """Whether what an op makes may be made later in its block, and no loop would make it again."""
    return not em.alone and all(use.owner.operation.block == op.block for use in op.results[0].uses)


def can_load_late(em: Emitter, place: Place) -> bool:
    """Whether a read can wait: nobody writes to its buffer, and each of its accesses is there or is not."""
    return place.buffer.constant and not place.may_straddle() and can_wait(em, place.access.op)


def should_load_late(place: Place) -> bool:
    """Whether what is read is none of a product's factors, and sums of one are beside it."""
    op = place.access.op
    return place.em.sliced and not is_multiplied(op) and is_behind_product(op)


def should_compute_late(em: Emitter, op: ir.Operation, operands: Sequence[Fragment]) -> bool:
    """Whether an op is behind a product, and does not make sums fill fewer registers."""
    narrows = op.name in _NARROWING and not any(isinstance(each.values, Late) for each in operands)
    return em.sliced and not narrows and is_behind_product(op)


def should_slice(forall: ir.Operation) -> bool:
    """Whether sums, what is read to be combined with functions of them, and these take too many registers."""
    ops = nested_ops(forall)
    made = [result for op in ops if _is_product_loop(op) for result in op.results if is_tile(result)]
    behind = [op for op in ops if op.results and is_tile(op.results[0]) and is_behind_product(op)]
    loaded = [op for op in behind if op.name == "vector.transfer_read" and not is_multiplied(op)]
    sums, read = list(map(words_of, made)), [words_of(op.results[0]) for op in loaded]
    functions = any(op.name.startswith("math.") for op in behind)
    narrow = any(_is_narrowed(op) for op in behind)
    return (
        narrow and functions and bool(sums and read) and max(sums) + max(read) + ROOM > registers_of(forall)
    )


def _is_narrowed(op: ir.Operation) -> bool:
    """Whether this makes a product's sums fill fewer registers, before all else that takes them."""
    if op.name not in _NARROWING:
        return False
    made = op.operands[0].owner
    if isinstance(made, ir.OpView) and made.operation.name == "mlopt.warpgroup_result":
        made = made.operation.operands[0].owner
    # Of a ragged depth the last step's product is behind the loop.
    return isinstance(made, ir.OpView) and (_is_product_loop(made.operation) or _multiplies(made.operation))


def is_behind_product(op: ir.Operation) -> bool:
    """Whether a loop that multiplies on tensor cores stands before an op in its block."""
    for other in op.block.operations:
        if other.operation == op:
            break
        if _is_product_loop(other.operation):
            return True
    return False


def _is_product_loop(op: ir.Operation) -> bool:
    return op.name == "scf.for" and any(map(_multiplies, block_ops(op)))


def _multiplies(op: ir.Operation) -> bool:
    return op.name in (PRODUCT, HELD) or MMA.name in op.attributes
