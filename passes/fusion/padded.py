"""What is padded, or written over in part, is computed where it is read: no kernel writes a buffer in parts.

::

    %e = generic {exp} ins(%x)                                    %x : 4x5
    %p = insert_slice %e into (fill %c)[0, 1] [4, 5]              4x8
    %r = generic {sub} (i, j) ins(%p at (i, j), …)
  ->
    %q = insert_slice %x into (fill 0.0)[0, 1] [4, 5]             never made: read through (tiling/pads.py)
    %f = generic {exp} (i, j) ins(%q)
    %w = generic {pad} (i, j) ins(%f) { select (1 <= j < 6), %f, %c }
    %r = generic {sub} (i, j) ins(%w at (i, j), …)

All that is element by element is one kernel then, with the reductions that read it; a pad of the caller's is
one that no kernel fills before (64x60x60 floats in 0.45 of the time). Legal where places are known, and what
stands beside the elements that are put in may be computed and dropped: nothing divides integers or asserts.
What another kernel can write to its place in a buffer as it makes it stays so, and special functions that
would be computed for many more elements, unless a copy of what is written over takes longer (`sinking.py`).
Each such tensor is a decision: computed, it is neither written nor read, which is a kernel less; what is
computed beside the elements that are put in is the price.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from mlir import ir

from ...dialects.attributes import WHOLE
from ...dialects.decisions import Decision
from ..constants import scalar_constant
from ..costs.cost import Cost
from ..costs.count import bytes_of
from ..costs.machine import Machine
from ..costs.roofline import arithmetic_of, busy_part
from ..groups import is_init
from ..operations import block_ops, defining_op
from ..rewrites import rewrite_of, seconds_of
from ..structured import ASSUMED, DYNAMIC, elements_of, has_one_use, origin_of_size, word_for
from ..tiling.access import nest_of
from ..tiling.stages import is_moved
from .kinds import Kind, kind_of
from .pads import can_read_through
from .placed import Parts, computed
from .sinking import can_sink, is_in_memory, is_made_once, should_sink, work_beside

MOST_TESTED = 16  # all are code in each reader, which is to compile in bounded time
# Instructions to tell of an element whether it is in a part of its row. (Two Zen 5 cores, columns written
# over in 4096x3072 floats from memory, then doubled: 2.3 ms for one part, 0.9 for each more; in three kernels
# 5.8 to 7.9 for up to six. In 512x768 floats a part of whole rows takes 2 µs, one of columns 25.)
TESTED = 3


def compute_padded(func: ir.Operation, machine: Machine) -> list[Decision]:
    """Let generics stand for what ``func`` pads or writes over, but for pads that windows read through.

    ``machine``: whose arithmetic is compared with its bandwidth. Returns what was decided about each.
    """
    decisions = []
    for op in block_ops(func):
        parts = parts_of(op) if op.name == "tensor.insert_slice" else None
        if parts is None or all(
            _is_written(use.owner.operation, use.operand_number) for use in parts.whole.uses
        ):
            continue  # unread, or part of what is completed later
        readers = _readers_of(parts.whole)
        if not readers:
            continue
        reason = why_not_computed(parts)
        if reason is not None:
            decisions.append(_decision(parts, reason, 0, (), machine))
            continue
        copied = _copied_before(parts)
        sinking = [value for value in parts.values if can_sink(value) and is_made_once(value)]
        sunk = [value for value in sinking if should_sink(value, parts.whole, copied, machine)]
        is_quick = should_test(parts, machine)
        if is_quick and should_compute(parts, readers, sunk):
            decisions.append(_decision(parts, "", copied, sunk, machine))
            made = computed(parts, sunk)
            for use in list(parts.whole.uses):
                if use.owner.operation in readers:
                    use.owner.operation.operands[use.operand_number] = made
        else:
            dear, reason = [value for value in sinking if value not in sunk], _why_made(readers)
            if not is_quick:
                reason = f"telling in which of {len(parts.inserts)} parts an element is takes too long"
                WHOLE.set(op, reason)
            elif dear:
                many, few = len(dear) * elements_of(parts.whole), sum(map(elements_of, dear))
                reason = f"special functions would be computed for {many} elements, not for {few}"
                WHOLE.set(op, reason)
            decisions.append(_decision(parts, reason, copied, sinking, machine))
    return decisions


def _decision(
    parts: Parts, reason: str, copied: int, sunk: Collection[ir.Value], machine: Machine
) -> Decision:
    """What it saves to compute the tensor, and not to copy so many bytes; ``sunk``: what it makes itself."""
    op, whole = parts.inserts[0], parts.whole
    size = 2 * bytes_of(whole, ASSUMED) + copied
    more = sum((work_beside(value, whole) for value in sunk), _tests_of(parts))
    seconds = seconds_of(Cost(size), machine) - sum(arithmetic_of(more, machine)) / busy_part(
        machine, machine.tasks
    )
    return rewrite_of(op, reason, size, seconds, word=f"{word_for(op)} computed where it is read")


def parts_of(op: ir.Operation) -> Parts | None:
    """What the tensor is made of that ``op`` completes; None of a concat, and if parts of it are read."""
    inserts = [op]
    while (below := defining_op(inserts[-1].operands[1], "tensor.insert_slice")) is not None:
        if not has_one_use(below.results[0]):
            return None
        inserts.append(below)
    base = inserts[-1].operands[1]
    fill = defining_op(base, "linalg.fill")
    if defining_op(base, "tensor.empty") is not None or (fill and scalar_constant(fill.operands[0]) is None):
        return None
    return Parts(tuple(inserts), base if fill is None else fill.operands[0])


def why_not_computed(parts: Parts) -> str | None:
    """Why not, if there are many parts, or their places are not known, or more is written over them."""
    if len(parts.inserts) > MOST_TESTED:
        return f"each element would be looked for in {len(parts.inserts)} parts"
    if any(_is_written(use.owner.operation, use.operand_number) for use in parts.whole.uses):
        return "it is written over once more"
    if not all(map(_has_known_place, parts.inserts)):
        return "nobody knows where its parts lie before a call"
    return None


def _why_made(readers: Sequence[ir.Operation]) -> str:
    """Why the tensor stays in memory for its ``readers``, if nothing would be dear to compute there."""
    reader = next((each for each in readers if not _computes(each)), None)
    if reader is None:
        return "its parts are written to their places as they are made"
    word = "the caller" if reader.name == "func.return" else word_for(reader)
    return f"{word} takes it from memory, where parts can be written as they are made"


def _is_written(op: ir.Operation, number: int) -> bool:
    """Whether an operand is what ``op`` writes into."""
    return is_init(op, number) or (op.name == "tensor.insert_slice" and number == 1)


def _has_known_place(op: ir.Operation) -> bool:
    """Whether the part that ``op`` puts in lies at known places of each dim that it is not all of."""
    part, whole, view = op.operands[0], op.operands[1], op.opview
    if part.type.rank != whole.type.rank or any(step != 1 for step in view.static_strides):
        return False
    if DYNAMIC in view.static_offsets:
        return False
    sizes = enumerate(zip(part.type.shape, whole.type.shape, strict=True))
    return all(
        DYNAMIC not in both or origin_of_size(part, dim) == origin_of_size(whole, dim) for dim, both in sizes
    )


def _copied_before(parts: Parts) -> int:
    """The bytes that are moved to copy the tensor that parts are written into, if it is still needed."""
    base = parts.base
    is_tensor = isinstance(base.type, ir.RankedTensorType)
    is_needed = isinstance(base, ir.BlockArgument) or not has_one_use(base)
    return 2 * bytes_of(base, ASSUMED) if is_tensor and is_needed else 0


def should_test(parts: Parts, machine: Machine) -> bool:
    """Whether telling in which part each element is takes no longer than storing and loading the tensor."""
    moved = seconds_of(Cost(2 * bytes_of(parts.whole, ASSUMED)), machine)
    return sum(arithmetic_of(_tests_of(parts), machine)) / busy_part(machine, machine.tasks) <= moved


def _tests_of(parts: Parts) -> Cost:
    """What it takes to tell of each element in which part of its row it is; of whole rows next to nothing."""
    width = parts.whole.type.shape[-1:]
    in_rows = sum(value.type.shape[-1:] != width for value in parts.values)
    return Cost(0, elementwise={"f32": TESTED * in_rows * elements_of(parts.whole)})


def should_compute(parts: Parts, readers: Sequence[ir.Operation], sunk: Collection[ir.Value]) -> bool:
    """Whether it saves a kernel, and no part would be written to its place as it is made.

    Those that are ``sunk`` would be made where they are read.
    """
    at_hand = [is_in_memory(value) or value in sunk for value in parts.values]
    compute = all(map(_computes, readers))
    if isinstance(parts.base.type, ir.RankedTensorType):
        return compute and any(at_hand)
    return compute or all(at_hand)  # else a kernel fills it, and another one writes the part


def _readers_of(whole: ir.Value) -> list[ir.Operation]:
    """What reads a tensor, but for what reads through it: windows, contractions, moves in turns."""
    readers = (use.owner.operation for use in whole.uses)
    return [each for each in readers if not (_is_made_of_moved(each) and can_read_through(each))]


def _is_made_of_moved(op: ir.Operation) -> bool:
    """Whether ``op`` is a contraction or a window, or reads at sums of loops."""
    if op.name != "linalg.generic":
        return False
    nest = nest_of(op)
    return kind_of(op, lambda _: nest) is Kind.ANCHOR or any(map(is_moved, filter(None, nest.reads)))


def _computes(op: ir.Operation) -> bool:
    """Whether ``op`` is element by element, or a reduction that is no contraction and no window."""
    return op.name == "linalg.generic" and kind_of(op, nest_of) in (Kind.POINTWISE, Kind.ROW)
