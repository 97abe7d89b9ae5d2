"""Reading and building linalg.generic: the few helpers that all passes at the linalg level share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

from mlir import ir
from mlir.dialects import linalg, tensor

from ..dialects.attributes import OP
from .constants import index_constant, scalar_constant
from .operations import block_ops, defining_op
from .remembered import remembered

DYNAMIC = ir.ShapedType.get_dynamic_size()
ATTENTION = "mlopt.attention"
SCAN = "mlopt.scan"
OWN_OPS = (ATTENTION, SCAN)  # with loops, maps and inits as a linalg.generic has them, but no body
COPY = "memref.copy"  # what the host function copies itself, from buffer to buffer
SCORES = "scores"  # the label of the product before it
ROW_SCORES = "row_scores"  # of one that a GPU's tensor cores make, however few rows it has
# What has loops, and so can be part of a kernel.
STRUCTURED = ("linalg.generic", "linalg.fill", "tensor.extract_slice", "tensor.insert_slice", *OWN_OPS)
BYTE = 8
ASSUMED = 64  # the size that a dynamic dim is taken for where a decision needs a number
_WORDS = {"tensor.expand_shape": "reshape", "tensor.collapse_shape": "reshape"}
# Ops of a body that change a number's type: all, and those that are exact.
WIDENING = ("arith.extf", "arith.extsi", "arith.extui")
CASTS = (
    *WIDENING,
    "arith.truncf",
    "arith.trunci",
    "arith.sitofp",
    "arith.uitofp",
    "arith.fptosi",
    "arith.fptoui",
    "arith.index_cast",
    "arith.bitcast",
)


def label_of(op: ir.Operation) -> str | None:
    """What a generic is, for names and reports."""
    return OP.get(op)


def word_for(op: ir.Operation) -> str:
    """What a report calls any op: its label, or else what PyTorch or its dialect calls it."""
    return label_of(op) or _WORDS.get(op.name) or op.name.split(".")[-1]


def is_pointwise(op: ir.Operation) -> bool:
    """Whether ``op`` is a generic that makes one tensor, and reduces nothing."""
    return op.name == "linalg.generic" and len(op.results) == 1 and "reduction" not in kinds_of(op)


def maps_of(op: ir.Operation) -> list[ir.AffineMap]:
    """The indexing maps of a generic, one an operand."""
    return list(_maps(op.attributes["indexing_maps"]))


@remembered
def _maps(attribute: ir.Attribute) -> tuple[ir.AffineMap, ...]:
    return tuple(each.value for each in attribute)


def named_maps_of(op: ir.Operation) -> list[ir.AffineMap]:
    """The indexing maps of any linalg op; named ops compute theirs."""
    return [attribute.value for attribute in linalg.get_indexing_maps(op)]


def loop_extents(op: ir.Operation) -> list[int | None]:
    """The size that some operand shows for each loop of a generic."""
    extents: list[int | None] = [None] * maps_of(op)[0].n_dims
    for value, where in zip(op.operands, maps_of(op), strict=True):
        for expr, size in zip(where.results, value.type.shape if where.results else (), strict=True):
            if isinstance(expr, ir.AffineDimExpr):
                extents[expr.position] = None if size == DYNAMIC else size
    return extents


def shows_all_loops(maps: list[ir.AffineMap]) -> bool:
    """Whether each loop's extent is the size of some operand's dim."""
    shown = {expr.position for each in maps for expr in each.results if isinstance(expr, ir.AffineDimExpr)}
    return len(shown) == maps[0].n_dims


def kinds_of(op: ir.Operation) -> list[str]:
    """The iterator types of a generic: "parallel" or "reduction", one a loop."""
    return list(_kinds(op.attributes["iterator_types"]))


@remembered
def _kinds(attribute: ir.Attribute) -> tuple[str, ...]:
    return tuple("parallel" if "parallel" in str(kind) else "reduction" for kind in attribute)


def body_of(op: ir.Operation) -> ir.Block:
    """The body of a structured op."""
    return op.regions[0].blocks[0]


def inputs_of(op: ir.Operation) -> list[ir.Value]:
    """The input operands of a generic on tensors (there, each result has one init)."""
    operands = list(op.operands)
    return operands[: len(operands) - len(op.results)]


def inits_of(op: ir.Operation) -> list[ir.Value]:
    """The init operands of a generic on tensors, one a result."""
    operands = list(op.operands)
    return operands[len(operands) - len(op.results) :]


def is_used(value: ir.Value) -> bool:
    """Whether anything reads the value."""
    return any(True for _ in value.uses)


def replace_op(op: ir.Operation, values: Sequence[ir.Value]) -> None:
    """Let ``values`` stand for the results of ``op``, and erase it."""
    for old, new in zip(op.results, values, strict=True):
        old.replace_all_uses_with(new)
    op.erase()


def has_one_use(value: ir.Value) -> bool:
    """Whether exactly one operand reads the value."""
    uses = iter(value.uses)
    return next(uses, None) is not None and next(uses, None) is None


def iterator_types(kinds: Iterable[str]) -> ir.ArrayAttr:
    """The iterator_types attribute of a generic."""
    return ir.ArrayAttr.get([ir.Attribute.parse(f"#linalg.iterator_type<{kind}>") for kind in kinds])


def indexing_maps(maps: Iterable[ir.AffineMap]) -> ir.ArrayAttr:
    """The indexing_maps attribute of a generic."""
    return ir.ArrayAttr.get([ir.AffineMapAttr.get(each) for each in maps])


def stored_bits(value: ir.Value) -> ir.Value:
    """The byte that an 8-bit float of a body is stored as (mlopt-fp8-storage); other values as they are."""
    bits = defining_op(value, "arith.bitcast")
    is_byte = bits is not None and isinstance(value.type, ir.FloatType) and value.type.width == BYTE
    return bits.operands[0] if bits is not None and is_byte else value


def make_generic(
    inputs: Sequence[ir.Value],
    inits: Sequence[ir.Value],
    maps: Sequence[ir.AffineMap],
    kinds: Sequence[str],
    label: str | None,
    *,
    location: ir.Location,
    at: ir.InsertionPoint,
    body: ir.Block | None = None,
) -> ir.Operation:
    """A new generic; it takes over ``body``, or gets one with arguments only."""
    attributes = {
        "indexing_maps": indexing_maps(maps),
        "iterator_types": iterator_types(kinds),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(inputs), len(inits)]),
    }
    if label is not None:
        attributes[OP.name] = OP.kind.build(label)
    op = ir.Operation.create(
        "linalg.generic",
        results=[init.type for init in inits],
        operands=[*inputs, *inits],
        attributes=attributes,
        regions=1,
        loc=location,
        ip=at,
    )
    if body is not None:
        body.append_to(op.regions[0])
    else:
        types = [element_type(value) for value in (*inputs, *inits)]
        op.regions[0].blocks.append(*types, arg_locs=[location] * len(types))
    return op


def copy_generic(
    op: ir.Operation,
    operands: Sequence[ir.Value],
    *,
    at: ir.InsertionPoint,
    maps: Sequence[ir.AffineMap] | None = None,
    kinds: Sequence[str] | None = None,
) -> ir.Operation:
    """One like ``op`` on other ``operands``, by other ``maps`` and loops of other ``kinds`` if given."""
    copy = op.clone(at).operation
    for number, value in enumerate(operands):
        copy.operands[number] = value
    if maps is not None:
        copy.attributes["indexing_maps"] = indexing_maps(maps)
    if kinds is not None:
        copy.attributes["iterator_types"] = iterator_types(kinds)
    for result, init in zip(copy.results, inits_of(copy), strict=True):
        result.set_type(init.type)
    return copy


def element_type(value: ir.Value) -> ir.Type:
    """The element type of a tensor, or a scalar's own type."""
    return value.type.element_type if isinstance(value.type, ir.ShapedType) else value.type


def make_copy(
    source: ir.Value,
    init: ir.Value,
    read: ir.AffineMap,
    label: str,
    *,
    location: ir.Location,
    at: ir.InsertionPoint,
) -> ir.Operation:
    """A generic that yields ``source`` as the map ``read`` reads it, into ``init`` in its own order."""
    rank = init.type.rank
    maps = [read, ir.AffineMap.get_identity(rank)]
    op = make_generic([source], [init], maps, ["parallel"] * rank, label, location=location, at=at)
    block = body_of(op)
    with ir.InsertionPoint(block), location:
        linalg.YieldOp([block.arguments[0]])
    return op


def make_empty(
    like: ir.Value, *, location: ir.Location, at: ir.InsertionPoint, element: ir.Type | None = None
) -> ir.Value:
    """A tensor.empty of the shape of ``like``, and of its element type unless ``element`` is given."""
    with at, location:
        return tensor.EmptyOp(sizes_of(like), element or like.type.element_type).result


def dim_of(value: ir.Value, dim: int) -> ir.Value:
    """The size of a dynamic dim as an index value, at the insertion point; from where it was given first."""
    dynamic = sum(size == DYNAMIC for size in value.type.shape[:dim])
    first = shaped_like(value)
    maker = defining_op(first, "tensor.empty", "tensor.expand_shape")
    if maker is None:
        return tensor.dim(first, index_constant(dim))
    return list(maker.operands if maker.name == "tensor.empty" else maker.opview.output_shape)[dynamic]


def shaped_like(value: ir.Value) -> ir.Value:
    """The first tensor that ``value`` has its shape from: what it is written onto, and what that is, ..."""
    maker = defining_op(value)
    while maker is not None and maker.name.startswith(_ON_INITS):
        first = len(maker.operands) - len(maker.results)
        value = maker.operands[1 if maker.name == "tensor.insert_slice" else first + value.result_number]
        maker = defining_op(value)
    return value


def same_size(size: ir.Value, value: ir.Value, dim: int) -> bool:
    """Whether an index value is known to be the size of a dim of ``value``."""
    made_by = defining_op(size, "tensor.dim")
    which = None if made_by is None else scalar_constant(made_by.operands[1])
    known = size if which is None or made_by is None else origin_of_size(made_by.operands[0], which.value)
    return bool(known == origin_of_size(value, dim))


def origin_of_size(value: ir.Value, dim: int) -> ir.Value | tuple[ir.Value, int]:
    """The index value that a dim was made with; else the first tensor that has it, and the dim there."""
    value = shaped_like(value)
    maker = defining_op(value, "tensor.empty", "tensor.expand_shape")
    if maker is None:
        return value, dim
    if value.type.shape[dim] != DYNAMIC:
        return value, dim
    sizes = maker.operands if maker.name == "tensor.empty" else list(maker.opview.output_shape)
    size = sizes[sum(each == DYNAMIC for each in value.type.shape[:dim])]
    made_by = defining_op(size, "tensor.dim")
    which = None if made_by is None else scalar_constant(made_by.operands[1])
    return size if which is None or made_by is None else origin_of_size(made_by.operands[0], which.value)


def elements_of(value: ir.Value) -> int:
    """The elements of a tensor, a dynamic size counted as `ASSUMED`."""
    return prod(ASSUMED if size == DYNAMIC else size for size in value.type.shape)


def sizes_of(value: ir.Value) -> list[int | ir.Value]:
    """The shape of a tensor, dynamic sizes as index values."""
    return [dim_of(value, dim) if size == DYNAMIC else size for dim, size in enumerate(value.type.shape)]


def fill_value(value: ir.Value) -> ir.Attribute | None:
    """The number that all of ``value`` is filled with, if it comes from a linalg.fill of a constant."""
    fill = defining_op(value, "linalg.fill")
    return scalar_constant(fill.operands[0]) if fill is not None else None


def structured_ops(func: ir.Operation, name: str = "linalg.generic") -> list[ir.Operation]:
    """The ops called ``name`` in the entry block of a function, in order; safe to erase from."""
    return [op for op in block_ops(func) if op.name == name]


def erase_dead(func: ir.Operation) -> None:
    """Erase what has no effect and no reader in the entry block of a function."""
    for op in reversed(block_ops(func)):
        if op.name.startswith(_PURE) and not any(is_used(result) for result in op.results):
            op.erase()


_PURE = ("linalg.", "tensor.", "arith.", "math.", "complex.", *OWN_OPS)
_ON_INITS = ("linalg.", "tensor.insert_slice", *OWN_OPS)
