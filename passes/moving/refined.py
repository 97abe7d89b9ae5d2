"""Rows, and what reads a view of them, run through the parts that both have: nothing lies between them then.

::

    %n = generic {mul} (g, k) ins(%d at (g, k), %scale at (g))
    %c = tensor.collapse_shape %n : tensor<8x8192xf32> into tensor<65536xf32>
    %v = tensor.expand_shape %c into tensor<64x1024xf32>
    %r = generic {mul} (c, p) ins(%v at (c, p), %weight at (c))
  ->
    %e = tensor.expand_shape %d into tensor<8x8x1024xf32>
    %n = generic {mul} (g, j, p) ins(%e at (g, j, p), %scale at (g))
    %v = tensor.collapse_shape %n into tensor<64x1024xf32>
    %r = generic {mul} (c, p) ins(%v at (c, p), %weight at (c))

`collapses` then splits the loops of the reader. Legal where the sizes are known, and those of one side divide
those of the other; all ops that share the loops through values split them, and none is a product. A group
norm with a weight for each channel is one kernel so. Not done for short rows: of 16x512 images in 32 groups
those of 64x64 take 0.55 of the time, of 4x4 0.78, but of 3x3 1.26.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate, pairwise
from operator import mul

from mlir import ir
from mlir.dialects import tensor

from ..operations import defining_op
from ..raising.bodies import is_contraction
from ..raising.reshape import grouped
from ..structured import (
    ASSUMED,
    DYNAMIC,
    STRUCTURED,
    inputs_of,
    kinds_of,
    maps_of,
    replace_op,
    structured_ops,
    word_for,
)
from .collapses import sink, takes_parts
from .splits import Parts, can_split
from .views import View, is_made, view_of_made

SHORTEST = 16  # elements of a row

_Dims = list[list[int]]  # the sizes of the parts of each dim
_Ops = dict[ir.Operation, Parts]


def refine_views(func: ir.Operation) -> None:
    """Split loops of ops of ``func`` so that views of what they make only join dims, the first op first."""
    readers = structured_ops(func)
    for number in range(len(readers)):
        view = view_of_made(readers[number])
        dims = None if view is None else common_parts(view)
        if view is None or dims is None:
            continue
        ops = _tied(view.source, dims[0])
        if ops and should_refine(readers[number], view, dims[1], ops) is None:
            _refine(func, view, dims[1], ops)
            readers = structured_ops(func)  # as many, some of them new


def common_parts(view: View) -> tuple[_Dims, _Dims] | None:
    """What the dims of the source, and those of the view, both split into; None if there is no such thing."""
    sources, results = [], []
    for one, other in zip(*(each.attributes["reassociation"] for each in view), strict=True):
        source = [view.source.type.shape[dim.value] for dim in one]
        result = [view.result.type.shape[dim.value] for dim in other]
        if len(source) == len(result) == 1:
            sources.append(source)
            results.append(result)
            continue
        if any(size < 2 for size in (*source, *result)):  # unknown ones are below 0
            return None
        ends = sorted({*accumulate(source, mul), *accumulate(result, mul)})
        if any(end % start for start, end in pairwise(ends)):
            return None
        for sizes, found in ((source, sources), (result, results)):
            starts = [1, *accumulate(sizes, mul)]
            for start, end in pairwise(starts):
                inside = [start, *(each for each in ends if start < each <= end)]
                found.append([high // low for low, high in pairwise(inside)])
    return sources, results


def should_refine(op: ir.Operation, view: View, dims: _Dims, ops: _Ops) -> str | None:
    """Why ``op`` cannot be in the kernel of ``ops``, or would run along rows that are too short there."""
    where = maps_of(op)[inputs_of(op).index(view.result)]
    if op in ops or not can_split(op):
        return f"the loops of {word_for(op)} cannot have these parts"
    reason = takes_parts(op, view.result, _loops_of(where, dims))
    if reason is not None:
        return reason
    if "reduction" in kinds_of(op) and any("reduction" in kinds_of(each) for each in ops):
        return f"{word_for(op)} reduces what is made of reductions"
    row = _row(op, view.result, where)
    slow = f"{word_for(op)} would run along rows of {row} elements, fewer than {SHORTEST}"
    return slow if row < SHORTEST else None


def why_not_refined(op: ir.Operation, view: View) -> str | None:
    """Why ``op``, which reads ``view``, and what makes its source do not run through parts that both have."""
    dims = common_parts(view)
    if dims is None:
        return f"{view.source.type} and {view.result.type} have no parts in common, or unknown ones"
    ops = _tied(view.source, dims[0])
    if not ops:
        return f"{word_for(view.source.owner)} has loops, or shares them, that cannot have these parts"
    return should_refine(op, view, dims[1], ops)


def _row(op: ir.Operation, value: ir.Value, where: ir.AffineMap) -> int:
    """The elements of ``value``, read at ``where``, that ``op`` runs through as if they were one dim."""
    loops = [expr.position for expr in where.results]
    used = [{expr.position for expr in each.results} for each in maps_of(op)]
    row = 1
    for dim in reversed(range(len(loops))):
        inner = {*loops[dim:]}
        if any(inner & each not in (set(), inner) for each in used):
            break
        row *= ASSUMED if value.type.shape[dim] == DYNAMIC else value.type.shape[dim]
    return row


def _tied(value: ir.Value, dims: _Dims) -> _Ops | None:
    """The parts of loops in all ops that share the split dims of ``value``; None if one op cannot split.

    Those that what makes ``value`` depends on share inputs, too: they read the same rows.
    """
    found: _Ops = {}
    before = _makers(value)
    pending = [(value, dims)]
    while pending:
        value, dims = pending.pop()
        for op, where in _accesses(value, None if is_made(value) else before):
            if where is None or is_contraction(op) or not can_split(op):
                return None
            known, parts = found.setdefault(op, {}), _loops_of(where, dims)
            if any(known.get(loop, sizes) != sizes for loop, sizes in parts.items()):
                return None
            if not parts.keys() <= known.keys():
                known |= parts
                values = [*inputs_of(op), *op.results]  # inits are what results are
                shared = zip(values, maps_of(op), strict=True)
                pending += [(each, _dims_of(at, known)) for each, at in shared if at.results]
    return found


def _makers(value: ir.Value) -> set[ir.Operation]:
    """The generics that make ``value``, directly or not, up to products."""
    found: set[ir.Operation] = set()
    pending = [value]
    while pending:
        maker = defining_op(pending.pop(), "linalg.generic")
        if maker is not None and maker not in found and not is_contraction(maker):
            found.add(maker)
            pending += inputs_of(maker)
    return found


def _accesses(
    value: ir.Value, among: set[ir.Operation] | None
) -> Iterator[tuple[ir.Operation, ir.AffineMap | None]]:
    """The structured ops, or those ``among`` them, that make and read ``value``, and at which loops."""
    accesses = [(use.owner.operation, use.operand_number) for use in value.uses]
    if is_made(value):
        maker = value.owner.operation
        accesses.append((maker, len(inputs_of(maker)) + value.result_number))
    for op, number in accesses:
        if op.name in STRUCTURED and (among is None or op in among):
            yield op, maps_of(op)[number] if op.name == "linalg.generic" else None


def _loops_of(where: ir.AffineMap, dims: _Dims) -> Parts:
    """The loops that run through dims which split, and what they become."""
    loops = zip(where.results, dims, strict=True)
    return {expr.position: sizes for expr, sizes in loops if len(sizes) > 1}


def _dims_of(where: ir.AffineMap, parts: Parts) -> _Dims:
    """What dims, read or written at ``where``, split into if loops do; one number for one that does not."""
    return [parts.get(expr.position, [DYNAMIC]) for expr in where.results]


def _refine(func: ir.Operation, view: View, dims: _Dims, ops: _Ops) -> None:
    """Split the loops of ``ops``, and let the view join parts to ``dims``."""
    for op, parts in [
        (op, ops[op]) for op in structured_ops(func) if op in ops
    ]:  # by hash, which will change
        sink(op, parts)
    source = view.source.owner.operation.operands[0]  # what is made now, before its parts are joined
    ends = list(accumulate(map(len, dims), initial=0))
    groups = [list(range(start, end)) for start, end in pairwise(ends)]
    with ir.InsertionPoint(view.expand), view.expand.location:
        joined = tensor.CollapseShapeOp(view.result.type, source, grouped(groups)).result
    replace_op(view.expand, [joined])
