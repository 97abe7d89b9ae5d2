"""Products make the parts that their readers go through in another order, or with other tensors.

::

    %y = generic {matmul} (m, n | k) ins(%x at (m, k), %w at (k, n))
    %e = tensor.expand_shape %y : tensor<256x768xf32> into tensor<2x128x12x64xf32>
    %t = generic {transpose} (b, h, t, d) ins(%e at (b, t, h, d))
  ->
    %v = tensor.expand_shape %x; %u = tensor.expand_shape %w
    %e = generic {matmul} (b, t, h, d | k) ins(%v at (b, t, k), %u at (k, h, d))
    %t = generic {transpose} (b, h, t, d) ins(%e at (b, t, h, d))

The view between two kernels would keep them apart, and cannot move to the end. Legal where each split loop is
one factor's, the sizes are known, and the element-wise ops between are the product's alone. Done where
element-wise ops read all of the view along its rows, one of them not on joined dims: it wants another order,
or reads a tensor that has some of the parts only.

One thread of a Zen 4 core, time against two kernels, 256 rows of 768 products: heads of 32 columns 0.90, of
48 0.94, of 64 0.94, of 96 0.95, of 128 0.94, but of 16 1.12, and of 80, a strip of registers and a quarter,
1.33; parts of 197 rows 0.88, of 5 0.91, of 4 and of 8 1.01, but of 2 1.79. With rows stored as columns 1.04.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mlir import ir
from mlir.dialects import tensor

from ...dialects.attributes import WHOLE
from ..operations import block_ops, defining_op
from ..raising.bodies import is_contraction
from ..raising.reshape import grouped, joined_dims
from ..structured import (
    ATTENTION,
    erase_dead,
    inits_of,
    inputs_of,
    is_pointwise,
    maps_of,
    replace_op,
    structured_ops,
    word_for,
)
from .expansions import rests_on_rows
from .reads import is_move
from .reshapes import Groups, can_join
from .splits import can_split, parts_of, split

COLUMNS = 32  # half a strip of registers: columns are as many, or a multiple
ROWS = 4  # that share a vector of columns, at least


def split_products(func: ir.Operation) -> None:
    """Let the products of ``func`` make the parts that are read of them."""
    for view in structured_ops(func, "tensor.expand_shape"):
        _read_through_view(view)
    erase_dead(func)
    whole: list[tuple[ir.Operation, str]] = []
    for product in [op for op in structured_ops(func) if is_contraction(op)]:  # what follows one may go
        work, views = work_after(product)
        reason = can_part(work, views) or should_part(views)
        if reason is None:
            for op in sorted(work, key=block_ops(func).index, reverse=True):
                _part(op)
        else:
            whole.append((product, reason))
    _note(whole)


def _note(whole: Sequence[tuple[ir.Operation, str]]) -> None:
    """Note on the views behind products why the nearest of them does not make their parts."""
    seen: set[ir.Value] = set()
    for product, reason in reversed(whole):
        values = [product.results[0]]
        for value in values:  # grows
            for reader, goes_through in _readers(value):
                if goes_through and reader.results[0] not in seen:
                    seen.add(reader.results[0])
                    values.append(reader.results[0])
                elif reader.name == "tensor.expand_shape" and reader.results[0] not in seen:
                    seen.add(reader.results[0])
                    WHOLE.set(reader, reason)


def _read_through_view(view: ir.Operation) -> None:
    """Split at once what is split twice."""
    first = defining_op(view.operands[0], "tensor.expand_shape")
    kind = view.results[0].type
    if first is None or not kind.has_static_shape:
        return
    outer, inner = (joined_dims(op) for op in (first, view))
    groups = [[dim for each in group for dim in inner[each]] for group in outer]
    with view.location, ir.InsertionPoint(view):
        made = tensor.ExpandShapeOp(kind, first.operands[0], grouped(groups), [], kind.shape).result
    replace_op(view, [made])


def work_after(product: ir.Operation) -> tuple[list[ir.Operation], list[ir.Operation]]:
    """A product with the element-wise ops behind it that go through it in its order; what else reads it.

    Up to the first reader that is no view, which keeps it whole: in a model, all layers are behind a product.
    """
    work, others = [product], []
    for op in work:  # grows
        for reader, goes_through in _readers(op.results[0]):
            if not goes_through:
                others.append(reader)
                if reader.name != "tensor.expand_shape":
                    return work, others
            elif reader not in work:
                work.append(reader)
    return work, others


def _readers(value: ir.Value) -> Iterator[tuple[ir.Operation, bool]]:
    """Who reads ``value``, and whether that is an element-wise op that goes through it in its order."""
    for use in value.uses:
        reader = use.owner.operation
        in_order = is_pointwise(reader) and maps_of(reader)[use.operand_number] == maps_of(reader)[-1]
        yield reader, in_order


def can_part(work: Sequence[ir.Operation], views: Sequence[ir.Operation]) -> str | None:
    """Why a product and the work behind it cannot be made in the parts of ``views``, its only readers."""
    other = next((view for view in views if view.name != "tensor.expand_shape"), None)
    if other is not None or not views:
        return f"{'nothing' if other is None else word_for(other)} reads the product, too, as a whole"
    if len({(view.results[0].type, view.attributes["reassociation"]) for view in views}) > 1:
        return "the product is read in other parts, too"
    product, *others = work
    parts = parts_of(views[0], maps_of(product)[-1])
    if not parts:
        return "a loop of the product has parts of unknown sizes"
    if not all(map(can_split, work)) or defining_op(inits_of(product)[0], "linalg.fill") is None:
        return "the product's kernel has a loop that cannot have parts"
    one, other_factor = ({expr.position for expr in where.results} for where in maps_of(product)[:2])
    if not all((loop in one) != (loop in other_factor) for loop in parts):
        return "both factors of the product would have parts"
    made = [op.results[0] for op in work]
    if any(rests_on_rows(value) for op in others for value in inputs_of(op) if value not in made):
        return "the product's kernel reads rows that are not made in parts"
    return None


def should_part(views: Sequence[ir.Operation]) -> str | None:
    """Why it does not pay: registers would not hold the parts as well, or no reader wants them."""
    kind = views[0].results[0].type
    groups = joined_dims(views[0])
    *rows, columns = ([kind.shape[dim] for dim in group] for group in groups)
    return too_small(rows, columns) or _unwanted(views, groups)


def too_small(rows: Sequence[Sequence[int]], columns: Sequence[int]) -> str | None:
    """Why a product should not be made in parts of these sizes; None if registers hold them as well."""
    if len(columns) > 1 and columns[-1] % COLUMNS:
        return (
            f"in parts of {columns[-1]} columns, no multiple of {COLUMNS}, a product leaves registers empty"
        )
    few = next((sizes[-1] for sizes in rows if len(sizes) > 1 and sizes[-1] < ROWS), None)
    if few is not None:
        return f"in parts of {few} rows, fewer than {ROWS}, a product reads its columns too often"
    return None


def _unwanted(views: Sequence[ir.Operation], groups: Groups) -> str | None:
    """Why no element-wise op reads all of the ``views`` along their rows, and not on dims that are joined."""
    found = False
    values = [view.results[0] for view in views]
    for value in values:  # grows
        for use in value.uses:
            op = use.owner.operation
            if not is_pointwise(op) or (is_move(op) and is_for_products(op.results[0])):
                continue
            read = maps_of(op)[use.operand_number]
            if not read.is_permutation or _is_taken_apart(op):
                return f"{word_for(op)} reads some parts of the product only"
            identity = ir.AffineMap.get_identity(read.n_dims, read.context)
            if read.results[-1] != identity.results[-1]:
                return f"{word_for(op)} reads the product across its rows"
            if read == identity and can_join(op, groups) is None:
                values.append(op.results[0])
            else:
                found = True
    return None if found else "no element-wise op needs the parts of the product"


def _is_taken_apart(op: ir.Operation) -> bool:
    """Whether ``op`` only moves what it reads, for others that move parts of it: `columns` looks at these."""
    readers = [use.owner.operation for use in op.results[0].uses]
    return is_move(op) and all(
        is_pointwise(reader) and is_move(reader) and not maps_of(reader)[0].is_permutation
        for reader in readers
    )


def is_for_products(value: ir.Value) -> bool:
    """Whether products and attention alone read ``value``: where it is."""
    readers = [use.owner.operation for use in value.uses]
    return all(reader.name == ATTENTION or is_contraction(reader) for reader in readers)


def _part(op: ir.Operation) -> None:
    """Make what ``op`` makes in the parts of its readers, views that go."""
    views = [use.owner.operation for use in op.results[0].uses]
    parts = parts_of(views[0], maps_of(op)[-1])
    assert parts, "can_part has looked"
    made = split(op, parts)
    for view in views:
        replace_op(view, made)
    op.erase()
