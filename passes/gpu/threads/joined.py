"""Accesses of one thread to neighbours in memory become one: its tasks are neighbours.

Each task has written its own loads and stores of one element; where a thread has neighbouring tasks, those of
one buffer are sorted by place, in whatever order the tasks had them (a flip has them backwards), and up to 16
bytes from an aligned place on are accessed at once. Legal where nothing branches: all of them are made.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mlir import ir

from ..layouts.access import WIDE, bytes_of
from ..layouts.linear import Linear, linear_of
from .emitter import Buffer, Emitter
from .streamed import store_result

_DYNAMIC_INDEX = -(1 << 31)  # llvm.getelementptr's mark of an index that is an operand


def join_accesses(em: Emitter, block: ir.Block) -> None:
    """Join the loads of what nobody writes, and the stores, among the ops of ``block``."""
    buffers = {buffer.pointer: buffer for buffer in em.buffers.values()}
    for name, operand, join in (("llvm.load", 0, _join_loads), ("llvm.store", 1, _join_stores)):
        ops = [op.operation for op in block.operations]
        number = {op: at for at, op in enumerate(ops)}
        found: dict[ir.Value, dict[int, ir.Operation]] = {}
        terms: dict[ir.Value, dict[ir.Value, int]] = {}
        apart: set[ir.Value] = set()  # whose places cannot be compared, or are accessed twice
        for op in ops:
            if op.name != name:
                continue
            base, at = _place(op.operands[operand])
            members = found.setdefault(base, {})
            if terms.setdefault(base, at.terms) != at.terms or at.constant in members:
                apart.add(base)
            members[at.constant] = op
        for base, members in found.items():
            if base not in apart and (name == "llvm.store" or buffers[base].constant):
                for first, run in _runs(members, terms[base], buffers[base]):
                    join(em, buffers[base], first, run, number)
                    for each in run.values():
                        each.erase()
                    em.wide = em.wide or len(run) > 1


def _runs(
    members: dict[int, ir.Operation], terms: dict[ir.Value, int], buffer: Buffer
) -> Iterator[tuple[int, dict[int, ir.Operation]]]:
    """The place of the first, and the places and ops, of each access that can be one."""
    left = dict(sorted(members.items()))
    while left:
        first = next(iter(left))
        width = WIDE // bytes_of(buffer.element)
        while width > 1 and not _is_whole(first, width, left, terms):
            width //= 2
        yield first, {first + step: left.pop(first + step) for step in range(width)}


def _is_whole(first: int, width: int, members: dict[int, ir.Operation], terms: dict[ir.Value, int]) -> bool:
    aligned = all(number % width == 0 for number in (first, *terms.values()))
    return aligned and all(first + step in members for step in range(width))


def _place(pointer: ir.Value) -> tuple[ir.Value, Linear]:
    """The buffer that a pointer comes from, and how many elements after its beginning it points to."""
    total = Linear()
    while not isinstance(pointer.owner, ir.Block) and pointer.owner.name == "llvm.getelementptr":
        op = pointer.owner.operation
        (constant,) = ir.DenseI32ArrayAttr(op.attributes["rawConstantIndices"])
        total = total.plus(linear_of(op.operands[1]) if constant == _DYNAMIC_INDEX else Linear(constant))
        pointer = op.operands[0]
    return pointer, total


def _join_loads(
    em: Emitter,
    buffer: Buffer,
    first: int,
    run: dict[int, ir.Operation],
    number: dict[ir.Operation, int],
) -> None:
    at, op = min(run.items(), key=lambda one: number[one[1]])
    width = len(run)
    with ir.InsertionPoint(op), op.location:
        pointer = em.build.offset(op.operands[0], buffer.element, first - at)
        align = width * bytes_of(buffer.element)
        values = em.build.load(pointer, op.results[0].type, width, align, buffer.constant)
    _replace([op.results[0] for op in run.values()], values)


def _join_stores(
    em: Emitter,
    buffer: Buffer,
    first: int,
    run: dict[int, ir.Operation],
    number: dict[ir.Operation, int],
) -> None:
    at, op = max(run.items(), key=lambda one: number[one[1]])
    with ir.InsertionPoint(op), op.location:
        pointer = em.build.offset(op.operands[1], buffer.element, first - at)
        values = [each.operands[0] for each in run.values()]
        store_result(em.build, buffer, values, pointer, len(run) * bytes_of(buffer.element))


def _replace(old: Sequence[ir.Value], new: Sequence[ir.Value]) -> None:
    for one, other in zip(old, new, strict=True):
        one.replace_all_uses_with(other)
