"""The numbers 0, 1, 2, … of as many places as nobody knows are computed by what reads them.

::

    %n = generic {arange} (i) { linalg.index 0 }
    %d = generic {sub} (i, j) ins(%n at (j), %n at (i))
  ->
    %d = generic {sub} (i, j) { linalg.index 1 - linalg.index 0 }

Known ones are made ahead, by @prepare. A kernel that made these could not have both: its loops over queries
and keys would be one. Legal always; done for element-wise readers, of what is made by integer arithmetic and
casts from one loop's number alone. Attention whose mask or bias depends on distances is one kernel on a CPU
for all lengths, too (3 before).
"""

from __future__ import annotations

from collections.abc import Iterator

from mlir import ir
from mlir.dialects import linalg

from ..constants import index_constant
from ..moving.gathered import clone_body
from ..structured import (
    body_of,
    inits_of,
    inputs_of,
    is_pointwise,
    is_used,
    kinds_of,
    label_of,
    make_generic,
    maps_of,
    replace_op,
    structured_ops,
)


def compute_counts(func: ir.Operation) -> None:
    """Let the readers of such numbers in ``func`` compute them."""
    for maker in [op for op in structured_ops(func) if is_count(op)]:
        while (read := next(_reads(maker), None)) is not None:
            _compute(maker, *read)
        if not is_used(maker.results[0]):
            maker.erase()


def _reads(maker: ir.Operation) -> Iterator[tuple[ir.Operation, int]]:
    """Who can compute what ``maker`` makes, and the number of the operand."""
    reads = ((use.owner.operation, use.operand_number) for use in maker.results[0].uses)
    return (read for read in reads if can_compute(*read))


def is_count(op: ir.Operation) -> bool:
    """Whether a generic makes a row of unknown length from the numbers of its places alone."""
    if not is_pointwise(op) or inputs_of(op) or op.results[0].type.rank != 1:
        return False
    names = [inner.operation.name for inner in body_of(op).operations][:-1]
    plain = all(name == "linalg.index" or name.startswith("arith.") for name in names)
    return plain and "linalg.index" in names and not op.results[0].type.has_static_shape


def can_compute(reader: ir.Operation, number: int) -> bool:
    """Whether an op works element by element, and operand ``number`` is read along one loop."""
    if not is_pointwise(reader) or number >= len(inputs_of(reader)):
        return False
    return isinstance(maps_of(reader)[number].results[0], (ir.AffineDimExpr, ir.AffineConstantExpr))


def _compute(maker: ir.Operation, reader: ir.Operation, number: int) -> None:
    """Let ``reader`` do what ``maker`` does instead of reading its result as operand ``number``."""
    (place,) = maps_of(reader)[number].results
    body, inputs, maps = body_of(reader), inputs_of(reader), maps_of(reader)
    with reader.location, ir.InsertionPoint.at_block_begin(body):
        is_loop = isinstance(place, ir.AffineDimExpr)
        at = linalg.IndexOp(place.position).result if is_loop else index_constant(place.value)
        (made,) = clone_body(maker, [at], {})
    body.arguments[number].replace_all_uses_with(made)
    body.erase_argument(number)
    del inputs[number], maps[number]
    where = ir.InsertionPoint(reader)
    new = make_generic(
        inputs,
        inits_of(reader),
        maps,
        kinds_of(reader),
        label_of(reader),
        location=reader.location,
        at=where,
        body=body,
    )
    for name in reader.attributes:
        if name not in new.attributes:
            new.attributes[name] = reader.attributes[name]
    replace_op(reader, list(new.results))
