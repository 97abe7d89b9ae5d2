"""torch-mlir's places of a max pooling become eager's: values and places are one window op.

    %best = pooling_nchw_max ins(%image, %window)
    %place = generic ins(%best, %window) { the first place where the image equals %best, or -1 }
  ->
    %best, %place = generic ins(%image, %window) { what is larger than all before it, or NaN }

torch-mlir's own has no place for NaN, where eager has the last one's, and one of the padding for a window
of -inf, where eager has the first inside the image.
Effect (one Zen 4 core): max_pool2d(3, 2, 1) of 8x64x112x112 with places takes a third of the time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from torch_mlir import ir

from .imported_ops import maker_named, ops_named

_POOLINGS = ("linalg.pooling_ncw_max", "linalg.pooling_nchw_max", "linalg.generic")  # a volume's is the last
_EQUAL, _GREATER, _UNORDERED = 1, 2, 14  # arith's "oeq", "ogt" and "uno" of floats,
_AT_LEAST = 5  # and "sge" of integers


class _Body(NamedTuple):
    """The pooling, and ops of torch-mlir's body: ``out == -1 ? (image == best ? place : out) : out``."""

    pooling: ir.Operation
    read: ir.Operation  # of the image, at its place with the padding
    equal: ir.Operation
    chosen: ir.Operation  # the place, or what there was
    none: ir.Operation  # out == -1
    result: ir.Operation


def restore_pool_places(module: ir.Module) -> None:
    """Rewrite all places of poolings of ``module``; it is what torch-mlir made, not yet fused."""
    for op in ops_named(module, "linalg.generic"):
        body = _body(op)
        if body is not None:
            with ir.InsertionPoint(op), op.location:
                _rewrite(op, body)


def _body(op: ir.Operation) -> _Body | None:
    """The parts of ``op``'s body, if it gives the places of a pooling."""
    block = op.regions[0].blocks[0]
    if len(op.operands) != 3 or len(op.results) != 1:
        return None
    best, _, out = block.arguments
    result = maker_named(block.operations[len(block.operations) - 1].operands[0], "arith.select")
    chosen = result and maker_named(result.operands[1], "arith.select")
    if result is None or chosen is None or not out == result.operands[2] == chosen.operands[2]:
        return None
    none, equal = maker_named(result.operands[0], "arith.cmpi"), maker_named(chosen.operands[0], "arith.cmpf")
    if none is None or equal is None or none.operands[0] != out or equal.operands[1] != best:
        return None
    read = maker_named(equal.operands[0], "tensor.extract")
    is_equal = ir.IntegerAttr(equal.attributes["predicate"]).value == _EQUAL
    pooling = maker_named(op.operands[0], *_POOLINGS)
    if read is None or pooling is None or not is_equal:
        return None
    start = pooling.operands[len(pooling.operands) - 1]
    if maker_named(start, "linalg.fill") is None:  # as a transpose's is not
        return None
    return _Body(pooling, read, equal, chosen, none, result)


def _rewrite(op: ir.Operation, body: _Body) -> None:
    pooling, old = body.pooling, op.regions[0].blocks[0]
    _, window, out = (attribute.value for attribute in op.attributes["indexing_maps"])
    image, *indices = body.read.operands
    at = ir.AffineMap.get(window.n_dims, 0, [_affine(index) for index in indices])
    inits = [pooling.operands[len(pooling.operands) - 1], op.operands[2]]
    attributes = {
        "indexing_maps": ir.ArrayAttr.get([ir.AffineMapAttr.get(map_) for map_ in (at, window, out, out)]),
        "iterator_types": op.attributes["iterator_types"],
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([2, 2]),
    }
    operands = [_read_part(image, at, {window: op.operands[1], out: op.operands[2]}), op.operands[1], *inits]
    new = ir.Operation.create(
        "linalg.generic", [init.type for init in inits], operands, attributes, regions=1
    )
    types = [old.arguments[i].type for i in (0, 1, 0, 2)]
    _choose(new.regions[0].blocks.append(*types, arg_locs=[op.location] * 4), old, body)
    pooling.results[0].replace_all_uses_with(new.results[0])
    op.results[0].replace_all_uses_with(new.results[1])
    op.erase()
    pooling.erase()


def _read_part(image: ir.Value, at: ir.AffineMap, others: dict[ir.AffineMap, ir.Value]) -> ir.Value:
    """``image`` without padding that no window reaches.

    For ceil_mode torch-mlir pads by a stride. Along a dim with one window the map is a loop over the window,
    and would say that this is as long as the padded image.
    """
    sizes = list(image.type.shape)
    for map_, value in others.items():
        for loop, size in zip(map_.results, value.type.shape, strict=True):
            for dim, index in enumerate(at.results):
                sizes[dim] = size if index == loop and not image.type.is_dynamic_dim(dim) else sizes[dim]
    if sizes == list(image.type.shape):
        return image
    kind = ir.RankedTensorType.get(sizes, image.type.element_type)
    known = [_size(image, dim) for dim in range(len(sizes)) if image.type.is_dynamic_dim(dim)]
    attributes = {
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 0, len(known), 0]),
        "static_offsets": ir.DenseI64ArrayAttr.get([0] * len(sizes)),
        "static_sizes": ir.DenseI64ArrayAttr.get(sizes),
        "static_strides": ir.DenseI64ArrayAttr.get([1] * len(sizes)),
    }
    return ir.Operation.create("tensor.extract_slice", [kind], [image, *known], attributes).results[0]


def _size(image: ir.Value, dim: int) -> ir.Value:
    index = ir.IndexType.get()
    return _make(
        "tensor.dim", [image, _make("arith.constant", [], index, value=ir.IntegerAttr.get(index, dim))], index
    )


def _choose(block: ir.Block, old: ir.Block, body: _Body) -> None:
    """The body: torch-mlir's arithmetic of the place, copied from ``old``, and our choice."""
    x, _, best, place = block.arguments
    copies = {old.arguments[2]: place}
    with ir.InsertionPoint(block):
        for op in list(old.operations)[:-1]:
            if op.operation in (body.read, body.equal, body.chosen, body.result):
                continue
            copy = op.operation.clone()
            for i, operand in enumerate(op.operands):
                copy.operands[i] = copies.get(operand, operand)
            copies[op.results[0]] = copy.results[0]
        first = copies[body.none.results[0]]
        for copy in list(block.operations):
            if copy.operation.name == "arith.subi":  # the padding, from a coordinate
                kind = copy.results[0].type
                zero = _make("arith.constant", [], kind, value=ir.IntegerAttr.get(kind, 0))
                inside = _compare("arith.cmpi", _AT_LEAST, copy.results[0], zero)
                first = _make("arith.andi", [first, inside])
        larger, nan = _compare("arith.cmpf", _GREATER, x, best), _compare("arith.cmpf", _UNORDERED, x, x)
        better = _make("arith.ori", [_make("arith.ori", [larger, nan]), first])
        results = [
            _make("arith.select", [better, x, best], x.type),
            _make("arith.select", [better, copies[body.chosen.operands[1]], place], place.type),
        ]
        ir.Operation.create("linalg.yield", [], results)


def _compare(name: str, predicate: int, a: ir.Value, b: ir.Value) -> ir.Value:
    kind = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), predicate)
    return _make(name, [a, b], ir.IntegerType.get_signless(1), predicate=kind)


def _make(name: str, operands: list[ir.Value], kind: ir.Type | None = None, **attributes: Any) -> ir.Value:
    """An op of one result, of the first operand's type if none is given."""
    return ir.Operation.create(name, [kind or operands[0].type], operands, attributes).results[0]


def _affine(value: ir.Value) -> ir.AffineExpr:
    """An index that is a sum of products of loops and constants."""
    op = value.owner.operation
    if op.name == "linalg.index":
        return ir.AffineExpr.get_dim(ir.IntegerAttr(op.attributes["dim"]).value)
    if op.name == "arith.constant":
        return ir.AffineExpr.get_constant(ir.IntegerAttr(op.attributes["value"]).value)
    a, b = map(_affine, op.operands)
    return a + b if op.name == "arith.addi" else a * b
