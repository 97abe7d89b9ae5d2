"""Long contractions, a block of the summed dim at a time, with the sums in a buffer in between.

    for k in blocks:
      pack the panel of the block
      for rows: sums = buffer; for kk in block: sums += a * b; buffer = sums

Two cases gain. A panel over all of k would not fit the cache: blocks of it are packed one by
one (K = 4096: 53 to 94 GFLOP/s). Few rows: all columns are visited for some k before the next
k, so that memory is read along its rows (a vector by a 4096 x 4096 matrix: 5.1 to 2.7 ms).
An element's products are added in the same order as without blocks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from mlir import ir
from mlir.dialects import arith, scf

from ...constants import integer_of
from ...operations import ops_named
from .borders import knowing
from .carried import run_loop
from .cover import Cover, Inside, cover
from .emitter import Emitter, normal_strip
from .fragment import UNIT, Axis, Strip, element_of, sizes_of
from .layout import Layout
from .loop import run_turns
from .memory import walked_dim
from .panel import LARGEST_BYTES, LEAST_ROWS, SMALL_BYTES, held_dims, is_turned
from .registry import rule_of
from .scratch import Buffer
from .turns import Turns, Visit
from .types import bytes_of

# Of few rows, products with at least this much memory are blocked, so many positions of k a block.
_FEW_ROWS = 4
_LARGE_BYTES = 512 * 1024
_SHORT_BLOCK = 4
# The buffer of sums, and the least positions that a packed block is worth.
_SUMS_BYTES = 256 * 1024
_LEAST_BLOCK = 64
# Turns of a block of channels: with fewer LLVM keeps a pointer for each element that is read.
_FEWEST_TURNS = 8


@dataclass(frozen=True)
class Blocks:
    """The loop that is cut, positions of its variable in a block, inside how many covers it lies.

    ``window``: it is that of a window (`turns.py`); the loop inside of it is cut if there are ``channels``.
    """

    loop: scf.ForOp
    size: int
    depth: int
    window: bool = False
    channels: scf.ForOp | None = None

    @property
    def cut(self) -> scf.ForOp:
        """The loop whose turns are taken in blocks."""
        return self.channels or self.loop


class Sums(Buffer):
    """The buffer of the sums: filled by the blocks before anything asks for it."""

    filled = None
    most = None

    def buffer_at(self, _: Emitter, __: Strip) -> Buffer:
        """Itself, for all strips."""
        return self


def contraction_loops(layout: Layout, root: ir.OpView) -> list[scf.ForOp]:
    """The loops that sum contractions, if a root is made by them, with constant bounds, and no reduction."""
    made = layout.made_from(root.valueToStore)
    outer = [op for op in made if op.operation.name == "scf.for" and op.operation.parent.name != "scf.for"]
    if any(op.operation.name == "vector.multi_reduction" for op in made):
        return []
    return outer if all(map(_is_known_sum, outer)) else []


def _is_known_sum(loop: scf.ForOp) -> bool:
    known = len(loop.results) == 1 and all(integer_of(operand) is not None for operand in loop.operands[:3])
    return known and bool(ops_named(loop, "vector.contract"))


def plan_blocks(
    loop: scf.ForOp,
    read: ir.OpView,
    along: int,
    covers: Sequence[Cover],
    lane: int,
    rows: int,
    tile: Sequence[int],
    element: ir.Type,
) -> Blocks | None:
    """How to cut ``loop``, which reads the operand ``read`` in strips along the root's dim ``lane``.

    That is the dim ``along`` of what is read.
    """
    walked = walked_dim(loop, read)
    if walked is None:
        return None
    place = next(at for at, how in enumerate(covers) if how.dim == lane)
    shape, step = read.base.type.shape, integer_of(loop.operands[2]) or 1
    held, turned = held_dims(read, along), is_turned(read, along)
    row = prod(shape[dim] for dim in held if dim != walked) * bytes_of(read.base.type.element_type)
    if rows <= _FEW_ROWS and not turned:
        large = row * shape[walked] * tile[lane] >= _LARGE_BYTES
        small = rows * tile[lane] * bytes_of(element) <= _SUMS_BYTES
        apart = tile[lane] > covers[place].width
        return Blocks(loop, max(_SHORT_BLOCK // step, 1) * step, place) if large and small and apart else None
    width = covers[place].width
    most = SMALL_BYTES if turned else LARGEST_BYTES
    size = most // (row * width) // step * step
    enough = (rows >= LEAST_ROWS or turned) and _LEAST_BLOCK <= size < shape[walked]
    if not enough or rows * width * bytes_of(element) > _SUMS_BYTES:
        return None
    return Blocks(loop, size, place + 1)


def plan_turns(
    layout: Layout, root: ir.OpView, covers: Sequence[Cover], lane: int, rows: int, weights: int, half: int
) -> Blocks | None:
    """How to cut the outermost loop of a window, whose ``weights`` in bytes each of ``rows`` reads again.

    Where they are more than ``half`` of a cache: those of the next block or task, asked for meanwhile, are to
    have room beside them. (256 channels of 14x14 to 512 by 3x3 with a stride of 2, 590 KB, on a Zen 4:
    0.95 of the time on one thread, 0.75 on two.)
    """
    place = next(at for at, how in enumerate(covers) if how.dim == lane)
    loop = _loop_to_cut(layout, root, covers, place, rows)
    if loop is None or weights <= half:
        return None
    first, end, step = (integer_of(operand) for operand in loop.operands[:3])
    if first is None or end is None or step != 1 or end - first < 2:
        return None
    turns = end - first
    sizes = (size for size in range(turns, 1, -1) if turns % size == 0 and size * weights <= turns * half)
    return Blocks(loop, next(sizes, 1), place + 1, window=True)


def plan_channels(
    layout: Layout, root: ir.OpView, covers: Sequence[Cover], lane: int, rows: int, weights: int, most: int
) -> Blocks | None:
    """How to cut the innermost loop of a window, whose ``weights`` in bytes few rows of a tile share.

    A block of them, ``most`` bytes, stays in L1 for all of the task's ``rows``, as do the rows that it is
    multiplied by, which lie in a page of their own for each channel.
    """
    place = next(at for at, how in enumerate(covers) if how.dim == lane)
    loop = _loop_to_cut(layout, root, covers, place, rows)
    if loop is None or weights <= most:
        return None
    (channels,) = (op.operation.parent.opview for op in ops_named(loop, "vector.contract"))
    first, end, step = (integer_of(operand) for operand in channels.operands[:3])
    if first is None or end is None or step is None or end <= first:
        return None
    wanted = max((end - first) * most // weights // step, _FEWEST_TURNS) * step
    even = (size for size in range(wanted, wanted // 2, -step) if (end - first) % size == 0)
    size = next(even, wanted)
    return Blocks(loop, size, place + 1, True, channels) if 0 < size < end - first else None


def _loop_to_cut(
    layout: Layout, root: ir.OpView, covers: Sequence[Cover], place: int, rows: int
) -> scf.ForOp | None:
    """A window's outermost loop, which more rows read than are made at once, if a buffer takes all sums."""
    loops = contraction_loops(layout, root)
    if len(loops) != 1 or rows <= _rows_at_once(covers, place):
        return None
    sums = rows * covers[place].width * bytes_of(element_of(loops[0].results[0]))
    return loops[0] if sums <= _SUMS_BYTES else None


def whole_block(
    loop: scf.ForOp, covers: Sequence[Cover], lane: int, rows: int, element: ir.Type
) -> Blocks | None:
    """All of a sum at once, for products side by side: one's factor leaves the caches before the next one's.

    Nor do the sums of both have to be in registers at once.
    """
    place = next(at for at, how in enumerate(covers) if how.dim == lane)
    first, end = (integer_of(operand) for operand in loop.operands[:2])
    if first is None or end is None or rows * covers[place].width * bytes_of(element) > _SUMS_BYTES:
        return None
    return Blocks(loop, end - first, place + 1)


def _rows_at_once(covers: Sequence[Cover], place: int) -> int:
    return prod(how.count for how in covers[place + 1 :])


def emit_blocks(em: Emitter, blocks: Blocks, inside: Inside) -> None:
    """Sum the contraction for the axes chosen so far, and have it read from the buffer from now on."""
    loop, root, covers = blocks.loop, inside.root, inside.covers
    total = loop.results[0]
    known = {em.layout.classes.of(root.valueToStore, dim) for dim in inside.axes}
    kept = [dim for dim, same in enumerate(em.layout.classes.all_of(total)) if same in known]
    sums = Sums(total, kept)
    rank = len(sizes_of(root.valueToStore))

    def strips(once: bool, body: Visit, values: Sequence[ir.Value] = ()) -> list[ir.Value]:
        def level(at: int, chosen: Mapping[int, Axis], values: Sequence[ir.Value]) -> list[ir.Value]:
            if at == len(covers):
                strip = tuple(chosen.get(dim, UNIT) for dim in range(rank))
                return list(body(_asked_of(root, strip, total), values) or ())
            how = covers[at]
            if not _asks_along(root, how.dim, total):  # its positions share their sums
                return level(at + 1, chosen, values)
            extent = inside.extents[how.dim]
            return cover(
                em, extent, how, once, values, lambda axis, now: level(at + 1, {**chosen, how.dim: axis}, now)
            )

        return level(blocks.depth, inside.axes, values)

    window = Turns(total, all(extent.static is not None for extent in inside.extents.values()))

    def start(strip: Strip, _: Sequence[ir.Value]) -> None:
        first = em.emit(loop.initArgs[0], strip)
        sums.store(em, strip, window.start(em, strip, first) if blocks.window else first)

    strips(False, start)
    lower, upper, step = (em.scalar(operand) for operand in blocks.cut.operands[:3])
    with em.loop(lower, upper, em.index(blocks.size)) as block:
        first = block.induction_variable
        with em.here():
            end = arith.MinSIOp(em.sum(first, em.index(blocks.size)), upper).result
        em.block = None if blocks.channels else (first, end)

        def add(strip: Strip, _: Sequence[ir.Value]) -> None:
            before = sums.load(em, strip)
            if blocks.channels:
                turns = [em.scalar(operand) for operand in loop.operands[:3]]
                with knowing(em, bounds={blocks.channels.operation: (first, end)}):
                    after = run_turns(em, total, strip, before, turns)
            elif blocks.window:
                after = run_turns(em, total, strip, before, (first, end, step))
            else:
                after = run_loop(em, total, strip, {0: before}, (first, end, step))
            sums.store(em, strip, after)

        strips(True, add)
    em.block = None
    if blocks.window:
        window.finish(em, sums, strips)
    sums.depth = em.depth
    em.scratches[total] = sums


def _asks_along(root: ir.OpView, dim: int, target: ir.Value) -> bool:
    """Whether a root's positions along a dim need other ones of a tile; else that is broadcast along it."""
    first = [UNIT] * len(sizes_of(root.valueToStore))
    second = [Axis(offset=1) if each == dim else UNIT for each in range(len(first))]
    return _asked_of(root, tuple(first), target) != _asked_of(root, tuple(second), target)


def _asked_of(root: ir.OpView, strip: Strip, target: ir.Value) -> Strip:
    """The strip at which a tile is needed for its root's strip."""
    pending = [(root.valueToStore, strip)]
    while pending:
        value, at = pending.pop()
        if value == target:
            return normal_strip(value, at)
        if not isinstance(value.owner, ir.Block):
            pending += rule_of(value.owner.opview).uses(value, at)
    raise AssertionError("the root is made from the contraction")
