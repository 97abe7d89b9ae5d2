"""What a gather reads of an element-wise result is computed for the elements that it reads.

::

    %d = generic {sub} (i, j) ins(%x at (i, j), %m at (i))
    generic {gather} (i) ins(%t) { tensor.extract %d[%i, %t] }
  ->
    generic {gather} (i) ins(%t, %m at (i)) { tensor.extract %x[%i, %t] - %m }

The loss of a class is then computed from the row of scores, and no row of log-probabilities is written to
memory. Legal where the element-wise body checks nothing: each element is computed as before, bit for bit.
Done where no more elements are read than there were, or than before where whole rows are gathered that nobody
else reads, or all was but moved; not for what weights alone determine.
"""

from __future__ import annotations

from mlir import ir
from mlir.dialects import tensor

from ..constants import index_constant
from ..divisions import may_trap
from ..hoist import made_of_weights
from ..operations import defining_op
from ..structured import (
    body_of,
    elements_of,
    has_one_use,
    inits_of,
    inputs_of,
    kinds_of,
    label_of,
    make_generic,
    maps_of,
    replace_op,
    structured_ops,
    word_for,
)
from .expansions import rests_on_rows
from .gathers import is_whole
from .places import maker_behind, read_behind_views

_PURE = ("arith.", "math.", "linalg.index", "linalg.yield", "tensor.extract")


def compute_what_is_gathered(func: ir.Operation) -> None:
    """Let each gather of ``func`` read what its tables are made of, and what that is made of."""
    gathers = [op for op in structured_ops(func) if _tables(op)]
    weights = made_of_weights(func) if gathers else set()
    for op in gathers:
        gather: ir.Operation | None = op
        while gather is not None:
            gather = next(
                (
                    _computed(gather, read_behind_views(extract), maker)
                    for extract, maker in _tables(gather)
                    if can_compute(gather, maker) and should_compute(gather, extract, maker, weights) is None
                ),
                None,
            )


def _tables(op: ir.Operation) -> list[tuple[ir.Operation, ir.Operation]]:
    """The tensor.extracts of a body, with the generic that makes the table of each, views aside."""
    found = []
    for inner in [each.operation for each in body_of(op).operations]:
        if inner.name == "tensor.extract" and len(inner.operands) > 1:
            maker = maker_behind(inner.operands[0])
            if maker is not None:
                found.append((inner, maker))
    return found


def can_compute(op: ir.Operation, maker: ir.Operation) -> bool:
    """Whether one element of what ``maker`` makes can be computed in the body of ``op``."""
    if "reduction" in kinds_of(op) or "reduction" in kinds_of(maker):
        return False
    outputs = list(body_of(maker).arguments)[len(inputs_of(maker)) :]
    if any(list(each.uses) for each in outputs):
        return False
    work = [inner.operation for inner in body_of(maker).operations]
    if any(may_trap(inner) or not inner.name.startswith(_PURE) for inner in work):
        return False
    maps = maps_of(maker)
    identity = ir.AffineMap.get_identity(maps[0].n_dims, op.context)
    plain = (ir.AffineDimExpr, ir.AffineConstantExpr)
    return all(where == identity for where in maps[len(inputs_of(maker)) :]) and all(
        isinstance(expr, plain) for where in maps for expr in where.results
    )


def should_compute(
    op: ir.Operation, extract: ir.Operation, maker: ir.Operation, weights: set[ir.Value]
) -> str | None:
    """Why not: it would read more than ``maker`` writes, across memory, or at each call what is kept now."""
    tables, last = 0, len(kinds_of(maker)) - 1
    for where in maps_of(maker)[: len(inputs_of(maker))]:
        loops = [expr.position for expr in where.results if isinstance(expr, ir.AffineDimExpr)]
        if loops != sorted(loops) and loops[-1] != last:
            return f"{word_for(maker)} at the places of a gather would be read across memory"
        tables += len(loops) > 0
    count, writes = elements_of(op.results[0]), elements_of(maker.results[0])
    reads = count * max(tables, 1)
    is_alone = count <= writes and _goes_with(extract, maker)
    if reads > writes and not is_alone and not _only_moves(maker):
        word = word_for(maker)
        return f"{word} at the places of a gather would read {reads} elements to save writing {writes}"
    return "it is made of weights alone" if maker.results[0] in weights else None


def _only_moves(maker: ir.Operation) -> bool:
    """Whether ``maker`` reads each element at a place that its loops say: no more is read there than here."""
    yielded = body_of(maker).operations[-1].operation.operands[0]
    return not inputs_of(maker) and defining_op(yielded, "tensor.extract") is not None


def _goes_with(extract: ir.Operation, maker: ir.Operation) -> bool:
    """Whether ``maker``, which reads what is in memory anyway, is there for the rows of ``extract`` alone."""
    value, row = extract.operands[0], defining_op(extract.operands[-1], "linalg.index")
    while value != maker.results[0] and has_one_use(value):
        value = value.owner.operands[0]
    alone = value == maker.results[0] and has_one_use(value)
    return alone and row is not None and not any(map(rests_on_rows, inputs_of(maker)))


def why_not_computed(op: ir.Operation, value: ir.Value) -> str | None:
    """Why ``op``, a gather from ``value``, does not compute what it reads; None if it could not."""
    tables = (table for table in _tables(op) if table[0].operands[0] == value)
    extract, maker = next(tables, (None, None))
    if extract is None or maker is None or not can_compute(op, maker):
        return None
    return should_compute(op, extract, maker, set())


def _computed(op: ir.Operation, extract: ir.Operation, maker: ir.Operation) -> ir.Operation:
    """``op`` again, with the body of ``maker`` in place of ``extract``."""
    positions = list(extract.operands)[1:]
    inputs, maps = inputs_of(op), maps_of(op)
    old = len(inputs)
    read_by_loops: dict[int, int] = {}  # the number of an input of the maker -> that of the op
    for number, (value, where) in enumerate(zip(inputs_of(maker), maps_of(maker), strict=False)):
        loops = _loops_read(op, maker.results[0], where, positions)
        if loops is not None and isinstance(value.type, ir.RankedTensorType):
            read_by_loops[number] = len(inputs)
            maps.insert(len(inputs), ir.AffineMap.get(maps[0].n_dims, 0, loops, op.context))
            inputs.append(value)
    at = ir.InsertionPoint(op)
    new = make_generic(inputs, inits_of(op), maps, kinds_of(op), label_of(op), location=op.location, at=at)
    given = list(body_of(new).arguments)
    known = dict(zip(body_of(op).arguments, given[:old] + given[len(inputs) :], strict=True))
    with ir.InsertionPoint(body_of(new)):
        for inner in [each.operation for each in body_of(op).operations]:
            if inner != extract:
                clone(inner, known)
                continue
            places = [known.get(position, position) for position in positions]
            table = {
                argument: given[read_by_loops[number]]
                if number in read_by_loops
                else _element(inputs_of(maker)[number], maps_of(maker)[number], places, extract.location)
                for number, argument in enumerate(list(body_of(maker).arguments)[: len(inputs_of(maker))])
                if list(argument.uses)
            }
            yielded = clone_body(maker, places, table)
            known[extract.results[0]] = yielded[extract.operands[0].result_number]
    replace_op(op, list(new.results))
    return new


def clone(op: ir.Operation, known: dict[ir.Value, ir.Value]) -> None:
    """A copy of an op of a body at the insertion point, which reads the ``known`` values instead."""
    copy = op.clone(ir.InsertionPoint.current).operation
    for number, value in enumerate(op.operands):
        copy.operands[number] = known.get(value, value)
    known.update(zip(op.results, copy.results, strict=True))


def clone_body(
    maker: ir.Operation, places: list[ir.Value], known: dict[ir.Value, ir.Value]
) -> list[ir.Value]:
    """The body of ``maker`` for the element at ``places``; what it yields."""
    for inner in [each.operation for each in body_of(maker).operations]:
        if inner.name == "linalg.index":
            known[inner.results[0]] = places[inner.attributes["dim"].value]
        elif inner.name == "linalg.yield":
            return [known.get(value, value) for value in inner.operands]
        else:
            clone(inner, known)
    raise AssertionError("a body ends with linalg.yield")


def _element(value: ir.Value, where: ir.AffineMap, places: list[ir.Value], location: ir.Location) -> ir.Value:
    """The element of an input of the maker that its loops at ``places`` read."""
    if not isinstance(value.type, ir.RankedTensorType):
        return value
    with location:
        indices = [
            places[expr.position] if isinstance(expr, ir.AffineDimExpr) else index_constant(expr.value)
            for expr in where.results
        ]
        return tensor.ExtractOp(value, indices).result


def _loops_read(
    op: ir.Operation, table: ir.Value, where: ir.AffineMap, positions: list[ir.Value]
) -> list[ir.AffineExpr] | None:
    """Where the loops of ``op`` read what ``table`` is made of; None: at computed places."""
    exprs: list[ir.AffineExpr] = []
    for expr in where.results:
        if isinstance(expr, ir.AffineConstantExpr):
            exprs.append(expr)
            continue
        index = defining_op(positions[expr.position], "linalg.index")
        loop = None if index is None else index.attributes["dim"].value
        if loop is None or not is_whole(loop, table, expr.position, op):
            return None
        exprs.append(ir.AffineDimExpr.get(loop, op.context))
    return exprs
