"""One view of every structured op: its loops, and where each tensor is accessed in them.

``linalg.generic`` and ``linalg.fill`` have loops of their own; ``tensor.extract_slice`` loops over its
result, ``tensor.insert_slice`` over its source. Everything that reasons about loops (which may fuse, which
tile sizes, what to read) works on `Nest` and never on the ops' syntax.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from operator import add
from typing import Any, TypeVar

from mlir import ir

from ..structured import ATTENTION, DYNAMIC, SCAN, kinds_of, same_size
from ..subsets import kept_dims, mixed

_Found = TypeVar("_Found")


@dataclass(frozen=True)
class Index:
    """The position in one dim of a tensor: ``start + stride * (sum of loops) + rest``.

    ``loops`` are the loops with coefficient ``stride``, ``rest`` is an affine expression of other loops (the
    window of a convolution), ``start`` a number or an index value of the function. ``partial`` says that the
    loops do not cover the dim, ``padded`` that the position may lie outside of it.
    """

    loops: tuple[int, ...] = ()
    rest: ir.AffineExpr | None = None
    start: int | ir.Value = 0
    stride: int = 1
    partial: bool = False
    padded: bool = False

    @property
    def plain(self) -> bool:
        """The dim is exactly one loop."""
        return len(self.loops) == 1 and self.rest is None and not self.partial

    @property
    def unit(self) -> bool:
        """The dim is read at 0 only: it has one element."""
        return not self.loops and self.rest is None and not self.partial


@dataclass(frozen=True)
class Access:
    """A tensor (or scalar, without indices) and the index of each of its dims.

    ``padding`` is the scalar that is read outside of the tensor, where an index is padded.
    """

    value: ir.Value
    indices: tuple[Index, ...]
    padding: ir.Value | None = None


@dataclass(frozen=True, eq=False)
class Nest:
    """The loops of a structured op.

    ``reads`` are in the order of the body's arguments for a generic (an unused init is None); ``writes``
    are the results. ``onto`` is the tensor that an insert_slice writes into.
    """

    op: ir.Operation
    kinds: tuple[str, ...]
    reads: tuple[Access | None, ...]
    writes: tuple[Access, ...]
    onto: ir.Value | None = None
    extents: tuple[int | None, ...] = field(default=())
    _found: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)

    def once(self, question: Callable[[Nest], _Found]) -> _Found:
        """What ``question`` finds out of these loops alone; fusion asks for each kernel they may be in."""
        if question not in self._found:
            self._found[question] = question(self)
        found: _Found = self._found[question]
        return found

    def on(self, op: ir.Operation) -> Nest:
        """The same loops of another op that is like this one, but reads other values."""
        reads = tuple(
            read and Access(value, read.indices) for value, read in zip(op.operands, self.reads, strict=False)
        )
        writes = tuple(
            Access(value, write.indices) for value, write in zip(op.results, self.writes, strict=True)
        )
        return Nest(op, self.kinds, reads, writes, extents=self.extents)

    @cached_property
    def body(self) -> ir.Block | None:
        """The body of a generic."""
        return self.op.regions[0].blocks[0] if self.op.name == "linalg.generic" else None

    @cached_property
    def gathered(self) -> tuple[ir.Value, ...]:
        """The tensors of which the body reads single elements, at places that it computes."""
        ops = [op.operation for op in self.body.operations] if self.body else []
        return tuple(op.operands[0] for op in ops if op.name == "tensor.extract")

    @cached_property
    def reductions(self) -> tuple[int, ...]:
        """The numbers of the reduction loops."""
        return tuple(number for number, kind in enumerate(self.kinds) if kind == "reduction")

    @cached_property
    def parallels(self) -> tuple[int, ...]:
        """The numbers of the parallel loops."""
        return tuple(number for number, kind in enumerate(self.kinds) if kind == "parallel")


def nest_of(op: ir.Operation | ir.OpView) -> Nest:
    """The loops of ``op``, whose name is one of `structured.STRUCTURED`."""
    op = op.operation
    return _NESTS[op.name](op)


def indices_of(indexing_map: ir.AffineMap) -> tuple[Index, ...]:
    """An indexing map as one `Index` for each result."""
    return tuple(_index_of(expr) for expr in indexing_map.results)


def _index_of(expr: ir.AffineExpr) -> Index:
    loops: list[int] = []
    start = 0
    rest: ir.AffineExpr | None = None
    for term in _terms(expr):
        if isinstance(term, ir.AffineDimExpr):
            loops.append(term.position)
        elif isinstance(term, ir.AffineConstantExpr):
            start += term.value
        else:
            rest = term if rest is None else rest + term
    return Index(tuple(loops), rest, start, partial=bool(start) or len(loops) > 1)


def _terms(expr: ir.AffineExpr) -> list[ir.AffineExpr]:
    if not isinstance(expr, ir.AffineAddExpr):
        return [expr]
    return _terms(expr.lhs) + _terms(expr.rhs)


def _extents(count: int, accesses: Sequence[Access | None]) -> tuple[int | None, ...]:
    """The static extent of each loop that a plain index shows."""
    extents: list[int | None] = [None] * count
    for access in accesses:
        if access is None:
            continue
        for index, size in zip(access.indices, shape_of(access.value), strict=True):
            if index.plain and size is not None:
                extents[index.loops[0]] = size
    return tuple(extents)


def shape_of(value: ir.Value) -> tuple[int | None, ...]:
    """The shape of a tensor or buffer, None where dynamic; () for a scalar."""
    if not isinstance(value.type, (ir.RankedTensorType, ir.MemRefType)):
        return ()
    return tuple(None if size == DYNAMIC else size for size in value.type.shape)


def _generic(op: ir.Operation) -> Nest:
    maps = [attribute.value for attribute in op.attributes["indexing_maps"]]
    kinds = tuple(kinds_of(op))
    outputs = len(op.results)
    inputs = len(maps) - outputs
    accesses = [Access(value, indices_of(where)) for value, where in zip(op.operands, maps, strict=True)]
    extents = _extents(len(kinds), accesses)
    accesses = [
        Access(each.value, tuple(_stepped(_part_from_zero(index, extents), kinds) for index in each.indices))
        for each in accesses
    ]
    reads = tuple(
        access if number < inputs or _is_read(op, number) else None for number, access in enumerate(accesses)
    )
    writes = tuple(
        Access(result, access.indices) for result, access in zip(op.results, accesses[inputs:], strict=True)
    )
    return Nest(op, kinds, reads, writes, extents=extents)


def _is_read(op: ir.Operation, number: int) -> bool:
    """Whether the body of a generic reads an init."""
    return op.name == "linalg.generic" and any(True for _ in op.regions[0].blocks[0].arguments[number].uses)


def _part_from_zero(index: Index, extents: Sequence[int | None]) -> Index:
    """``loop mod size`` is how a map says that a loop ends before the dim does."""
    rest = index.rest
    if not isinstance(rest, ir.AffineModExpr) or not isinstance(rest.lhs, ir.AffineDimExpr) or index.loops:
        return index
    extent = extents[rest.lhs.position]
    if extent is None or extent > rest.rhs.value:
        return index
    return Index((rest.lhs.position,), None, index.start, partial=True)


def _stepped(index: Index, kinds: Sequence[str]) -> Index:
    """``i * 2 + k`` of a strided window: a parallel loop's steps, and the rest from the reduced ones."""
    if index.rest is None or any(kinds[loop] == "parallel" for loop in index.loops):
        return index
    terms = [*_terms(index.rest), *(ir.AffineDimExpr.get(loop) for loop in index.loops)]
    steps = [
        term
        for term in terms
        if isinstance(term, ir.AffineMulExpr)
        and isinstance(term.lhs, ir.AffineDimExpr)
        and isinstance(term.rhs, ir.AffineConstantExpr)
        and kinds[term.lhs.position] == "parallel"
    ]
    if len(steps) != 1:
        return index
    rest = [term for term in terms if term != steps[0]]
    return Index(
        (steps[0].lhs.position,),
        reduce(add, rest) if rest else None,
        index.start,
        steps[0].rhs.value,
        partial=True,
    )


def _fill(op: ir.Operation) -> Nest:
    rank = op.results[0].type.rank
    write = Access(op.results[0], tuple(Index((number,)) for number in range(rank)))
    return Nest(op, ("parallel",) * rank, (), (write,), extents=shape_of(op.results[0]))


def _slice_indices(op: ir.Operation, whole: ir.Value) -> tuple[Index, ...]:
    """How the dims of a part lie in ``whole``, which it is cut from or put into."""
    view = op.opview
    starts = mixed(view.static_offsets, view.offsets)
    covers = [
        same_size(size, whole, dim) if isinstance(size, ir.Value) else size == whole.type.shape[dim]
        for dim, size in enumerate(mixed(view.static_sizes, view.sizes))
    ]
    kept = kept_dims(op)
    indices = []
    for dim, (start, covered, stride) in enumerate(zip(starts, covers, view.static_strides, strict=True)):
        if stride == DYNAMIC:
            stride = 0  # not known: no rule takes it
        full = start == 0 and stride == 1 and covered
        loops = (kept.index(dim),) if dim in kept else ()
        indices.append(Index(loops, None, start, stride, partial=not full))
    return tuple(indices)


def _extract_slice(op: ir.Operation) -> Nest:
    source, result = op.operands[0], op.results[0]
    plain = tuple(Index((number,)) for number in range(result.type.rank))
    read = Access(source, _slice_indices(op, source))
    return Nest(op, ("parallel",) * len(plain), (read,), (Access(result, plain),), extents=shape_of(result))


def _insert_slice(op: ir.Operation) -> Nest:
    source, onto = op.operands[0], op.operands[1]
    plain = tuple(Index((number,)) for number in range(source.type.rank))
    write = Access(op.results[0], _slice_indices(op, onto))
    return Nest(op, ("parallel",) * len(plain), (Access(source, plain),), (write,), onto, shape_of(source))


_NESTS = {
    "linalg.generic": _generic,
    ATTENTION: _generic,
    SCAN: _generic,
    "linalg.fill": _fill,
    "tensor.extract_slice": _extract_slice,
    "tensor.insert_slice": _insert_slice,
}
