"""What reads a concat element by element is computed part by part, and its parts are put together.

::

    %c = insert_slice %b into (insert_slice %a into tensor.empty)[0, 32]        %a, %b : tensor<8x32xf32>
    %r = generic {mul} (i, j) ins(%c at (i, j), %y at (i, j))                   %y : tensor<8x64xf32>
  ->
    %r1 = generic {mul} (i, j) ins(%a at (i, j), %y at (i, j mod 64))
    %r2 = generic {mul} (i, j) ins(%b at (i, j), %y at (i, j + 32))
    %r = insert_slice %r2 into (insert_slice %r1 into tensor.empty)[0, 32]

So the concat itself is never written, and a rotary embedding, whose parts are halves of what it reads anyway,
is one kernel. Legal where the loop that reads the concat's dim is parallel, and reads other tensors along it
one step apart, and all that it reads of what is in parts along them; no part may be made of another concat's
parts. Done for all that follows at once, if no more is put together after it than before.
"""

from __future__ import annotations

from mlir import ir
from mlir.dialects import linalg, tensor

from ...dialects.attributes import WHOLE
from ..operations import defining_op
from ..raising.bodies import is_contraction
from ..raising.slices import insert
from ..structured import (
    DYNAMIC,
    body_of,
    copy_generic,
    elements_of,
    has_one_use,
    inits_of,
    inputs_of,
    is_used,
    kinds_of,
    maps_of,
    sizes_of,
    structured_ops,
    word_for,
)
from ..tiling.analysis import loops_in
from .casts import repeat_casts
from .concat_parts import Concat, concat_of
from .reads import is_move

MOST_COPIES = 8  # each repeats the code of all that reads it


def split_by_concats(func: ir.Operation) -> bool:
    """Compute part by part what reads concats in ``func``; whether there was anything."""
    found = False
    waiting = structured_ops(func, "tensor.insert_slice")
    if waiting:
        repeat_casts(func)
    while waiting:
        op = waiting.pop(0)
        concat = concat_of(op.results[0])
        if concat is None or len(concat.values) < 2 or not is_used(op.results[0]):
            continue
        if len(concat.values) > MOST_COPIES:
            WHOLE.set(
                op, f"for each of its {len(concat.values)} parts the code of its readers would be repeated"
            )
            continue
        region = _Region(op.results[0], concat)
        region.grow(structured_ops(func))
        reason = region.can_split() or region.should_split()
        if reason is not None:
            WHOLE.set(op, reason)
        else:
            found = True
            dead = region.split()
            waiting = [each for each in waiting if each not in dead]  # an op's hash changes with its operands
            for each in dead:
                each.erase()
    return found


class _Region:
    """The generics that are computed part by part for a concat, each with its loop along the concat's dim."""

    def __init__(self, root: ir.Value, concat: Concat) -> None:
        self.root = root
        self.places = concat.places
        self.loops: dict[ir.Operation, int] = {}
        # Concats with these places, and what is made of them: the dim along which they lie.
        self.dims = {root: concat.dim}
        self.concats = {root: concat}

    def grow(self, ops: list[ir.Operation]) -> None:
        """Take in all that reads the concat, and what reads that, of the generics ``ops``."""
        for op in ops:
            read = next((value for value in inputs_of(op) if value in self.dims), None)
            loop = None if read is None else _loop_along(op, read, self.dims[read])
            if loop is None:
                continue
            before = dict(self.loops), dict(self.dims), dict(self.concats)
            if not self._take(op, loop):
                self.loops, self.dims, self.concats = before
        self.loops = {op: self.loops[op] for op in ops if op in self.loops}

    def _take(self, op: ir.Operation, loop: int) -> bool:
        """Take in ``op``, and what makes operands for it alone, if it can be computed in parts."""
        if op in self.loops:
            return self.loops[op] == loop
        if is_move(op) or not can_split(op, loop):
            return False
        for value, where in zip(inputs_of(op), maps_of(op), strict=False):
            dims = _dims_along(where, loop)
            if len(dims) > 1 or (dims and not self._has_parts(value, dims[0], where)):
                return False
        self.loops[op] = loop
        (self.dims[op.results[0]],) = _dims_along(maps_of(op)[-1], loop)
        return True

    def _has_parts(self, value: ir.Value, dim: int, where: ir.AffineMap) -> bool:
        """Whether what is read at ``where`` lies in memory anyway, or can be computed part by part."""
        concat = concat_of(value)
        if concat is not None and concat.places == self.places and concat.dim == dim:
            self.dims[value], self.concats[value] = dim, concat
        is_plain = isinstance(where.results[dim], ir.AffineDimExpr)
        if is_plain and value.type.shape[dim] == DYNAMIC:
            return False
        if value in self.dims:
            return is_plain and self.dims[value] == dim
        maker = defining_op(value, "linalg.generic")
        if maker is None or _is_stored(value):
            return True
        expr = maps_of(maker)[len(inputs_of(maker)) + value.result_number].results[dim]
        alone = is_plain and has_one_use(value) and "reduction" not in kinds_of(maker)
        return alone and isinstance(expr, ir.AffineDimExpr) and self._take(maker, expr.position)

    def can_split(self) -> str | None:
        """Why a generic does not read what will be in parts along its loop, or makes a part."""
        parts = [part for concat in self.concats.values() for part in concat.values]
        for op, loop in self.loops.items():
            if op.results[0] in parts:
                return f"what {word_for(op)} makes of it is a part of another one"
            read = [value for value in inputs_of(op) if value in self.dims]
            if any(_loop_along(op, value, self.dims[value]) != loop for value in read):
                return f"each of its parts would be read by {word_for(op)} with all of another one"
        return None

    def should_split(self) -> str | None:
        """Why more would be put together afterwards than the concats that need not be any more."""
        gone = [value for value in self.concats if self._is_all_of(value)]
        if self.root not in gone:
            readers = (use.owner.operation for use in self.root.uses)
            other = next(op for op in readers if op not in self.loops)
            how = (
                "cannot be computed in its parts" if other.name == "linalg.generic" else "reads it as a whole"
            )
            return f"{word_for(other)} {how}"
        exits = [value for value in self._exits() if not _is_stored(value)]
        if sum(map(_bytes, exits)) <= sum(map(_bytes, gone)):
            return None
        return f"what {word_for(exits[0].owner.operation)} makes of it is more to put together"

    def _is_all_of(self, value: ir.Value) -> bool:
        """Whether nothing but these generics reads ``value``."""
        readers = [use.owner.operation for use in value.uses]
        return bool(readers) and all(op in self.loops for op in readers)

    def _exits(self) -> list[ir.Value]:
        """What others read of what is made here."""
        return [op.results[0] for op in self.loops if not self._is_all_of(op.results[0])]

    def split(self) -> list[ir.Operation]:
        """Make each generic part by part, and put together what others read; returns what is not read now."""
        parts = {value: list(concat.values) for value, concat in self.concats.items()}
        exits = self._exits()
        for op, loop in self.loops.items():
            result = op.results[0]
            parts[result] = [
                _part(op, loop, place, {value: made[number] for value, made in parts.items()})
                for number, place in enumerate(self.places)
            ]
            if result in exits:
                whole = self._put_together(op, parts[result])
                for use in list(result.uses):
                    if use.owner.operation not in self.loops:
                        use.owner.operation.operands[use.operand_number] = whole
        dead = list(reversed(self.loops))
        for value in self.concats:
            if self._is_all_of(value):
                dead += _chain(value)
        return dead

    def _put_together(self, op: ir.Operation, values: list[ir.Value]) -> ir.Value:
        dim = self.dims[op.results[0]]
        with op.location, ir.InsertionPoint(op):
            sizes = sizes_of(op.results[0])
            whole = tensor.EmptyOp(sizes, op.results[0].type.element_type).result
            for value, (start, size) in zip(values, self.places, strict=True):
                offsets = [start if each == dim else 0 for each in range(len(sizes))]
                own = [size if each == dim else other for each, other in enumerate(sizes)]
                whole = insert(value, whole, offsets, own, "concat")
        return whole


def can_split(op: ir.Operation, loop: int) -> bool:
    """Whether ``op`` computes the elements of its result along ``loop`` each by itself, and reads so."""
    if len(op.results) != 1 or kinds_of(op)[loop] != "parallel" or is_contraction(op):
        return False
    for inner in body_of(op).operations:
        if inner.operation.name == "linalg.index" and inner.operation.attributes["dim"].value == loop:
            return False
    if defining_op(inits_of(op)[0], "tensor.empty", "linalg.fill") is None:
        return False
    *reads, write = maps_of(op)
    return all(isinstance(expr, ir.AffineDimExpr) for expr in write.results) and all(
        _steps_along(expr, loop) for where in reads for expr in where.results
    )


def _steps_along(expr: ir.AffineExpr, loop: int) -> bool:
    """Whether an index is ``loop``, ``loop + number`` or ``loop mod size``, or has nothing to do with it."""
    if isinstance(expr, ir.AffineDimExpr) or loop not in loops_in(expr):
        return True
    step = isinstance(expr, (ir.AffineAddExpr, ir.AffineModExpr))
    return step and isinstance(expr.lhs, ir.AffineDimExpr) and isinstance(expr.rhs, ir.AffineConstantExpr)


def _loop_along(op: ir.Operation, value: ir.Value, dim: int) -> int | None:
    """The loop of ``op`` that runs through ``dim`` of ``value``, wherever it is read."""
    reads = [where for each, where in zip(op.operands, maps_of(op), strict=True) if each == value]
    expr, *others = (where.results[dim] for where in reads)
    same = all(other == expr for other in others)
    return expr.position if same and isinstance(expr, ir.AffineDimExpr) else None


def _dims_along(where: ir.AffineMap, loop: int) -> list[int]:
    return [dim for dim, expr in enumerate(where.results) if loop in loops_in(expr)]


def _is_stored(value: ir.Value) -> bool:
    """Whether what reads ``value`` keeps it from being part of a kernel only."""
    for use in value.uses:
        reader = use.owner.operation
        if reader.name != "linalg.generic" or is_contraction(reader):
            return True
        if not all(
            isinstance(expr, ir.AffineDimExpr) for expr in maps_of(reader)[use.operand_number].results
        ):
            return True
    return False


def _bytes(value: ir.Value) -> int:
    kind = value.type.element_type
    width = kind.width if isinstance(kind, (ir.FloatType, ir.IntegerType)) else 64
    return elements_of(value) * max(width // 8, 1)


def _part(op: ir.Operation, loop: int, place: tuple[int, int], known: dict[ir.Value, ir.Value]) -> ir.Value:
    """``op`` for the elements of ``loop`` at ``place``; ``known`` has the parts of what it reads."""
    start, size = place
    with op.location, ir.InsertionPoint(op):
        sizes = sizes_of(op.results[0])
        (dim,) = _dims_along(maps_of(op)[-1], loop)
        sizes[dim] = size
        init = tensor.EmptyOp(sizes, op.results[0].type.element_type).result
        fill = defining_op(inits_of(op)[0], "linalg.fill")
        if fill is not None:
            init = linalg.fill(fill.operands[0], outs=[init])
        maps = [
            where if value in known or value in inits_of(op) else _shifted(where, value, loop, start)
            for value, where in zip(op.operands, maps_of(op), strict=True)
        ]
        operands = [known.get(value, value) for value in inputs_of(op)] + [init]
    return copy_generic(op, operands, at=ir.InsertionPoint(op), maps=maps).results[0]


def _shifted(where: ir.AffineMap, value: ir.Value, loop: int, start: int) -> ir.AffineMap:
    """Where the part of ``value`` is read that begins at ``start``."""
    exprs = []
    for dim, expr in enumerate(where.results):
        if loop not in loops_in(expr):
            exprs.append(expr)
        elif start:
            offset = expr.rhs.value if isinstance(expr, ir.AffineAddExpr) else 0
            exprs.append(ir.AffineDimExpr.get(loop) + (start + offset))
        elif isinstance(expr, ir.AffineDimExpr):
            exprs.append(ir.AffineExpr.get_mod(expr, value.type.shape[dim]))
        else:
            exprs.append(expr)
    return ir.AffineMap.get(where.n_dims, 0, exprs)


def _chain(value: ir.Value) -> list[ir.Operation]:
    """The insert_slices that make this concat only, the last first."""
    op = defining_op(value, "tensor.insert_slice")
    found = []
    while op is not None:
        found.append(op)
        alone = has_one_use(op.operands[1])
        op = defining_op(op.operands[1], "tensor.insert_slice") if alone else None
    return found
