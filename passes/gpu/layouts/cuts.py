"""What to copy for a cut, where a tile cannot have the layout that its reader has: as little as there is.

A tile that is a row stretched along another dim has few elements, each of them many times; and so have
comparisons of such tiles. All of it would pass through shared memory; the row does for a small part of that,
and each reader stretches its own, which costs nothing, and compares it again, which costs less.

Effect on sm_80, ranks of 64 f64 in their rows (kernel_2 of the corpus's ``sorting``): 367,200 instructions of
warps, not 471,136; 45 thousand passes through shared memory, none of them conflicts, not 255 with 135; a
block has 4.7 KB of shared memory, not 34. A thread has 150 registers, not 128.
"""

from __future__ import annotations

from math import prod

from mlir import ir

from ...operations import defining_op
from ...reshapes import RESHAPES
from .tiles import is_tile, is_uniform, sizes_of

Operand = tuple[ir.Operation, int]
# What takes no more instructions than an element's way through shared memory.
_CHEAP = ("arith.add", "arith.and", "arith.cmp", "arith.ext", "arith.max", "arith.min", "arith.mul",
          "arith.or", "arith.select", "arith.sub", "arith.trunc", "arith.xor")  # fmt: skip


def smallest_cuts(op: ir.Operation, number: int) -> list[Operand]:
    """The operands to copy so that operand ``number`` of ``op`` may have another layout.

    Of what several ops read, ``op`` gets its own. What is a copy of its own already follows the others.
    """
    found = _sources(op, number)
    return [(each, at) for each, at in found if not _is_own_copy(each.operands[at])] or found


def _sources(op: ir.Operation, number: int) -> list[Operand]:
    value = op.operands[number]
    is_only = len(list(value.uses)) == 1
    is_small = _copied(value, {}) < prod(sizes_of(value))
    if not is_small and not (is_only and defining_op(value, *RESHAPES)):
        return [(op, number)]
    maker = value.owner.operation
    if not is_only:
        maker = maker.clone(ir.InsertionPoint(op)).operation
        op.operands[number] = maker.results[0]
    return [source for each in _laid_out(maker) for source in _sources(maker, each)]


def _is_own_copy(value: ir.Value) -> bool:
    return defining_op(value, "mlopt.convert_layout") is not None and len(list(value.uses)) == 1


def _copied(value: ir.Value, known: dict[ir.Value, int]) -> int:
    """The elements that must be copied for a tile, if what it is made of cheaply is copied instead."""
    if value not in known:
        known[value] = prod(sizes_of(value))
        if not isinstance(value.owner, ir.Block) and value.owner.name.startswith((*RESHAPES, *_CHEAP)):
            maker = value.owner.operation
            known[value] = min(
                known[value], sum(_copied(maker.operands[each], known) for each in _laid_out(maker))
            )
    return known[value]


def _laid_out(op: ir.Operation) -> list[int]:
    """The operands that have layouts."""
    return [number for number, value in enumerate(op.operands) if is_tile(value) and not is_uniform(value)]
