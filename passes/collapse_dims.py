"""Let neighbouring dims that every op of a kernel runs through together be one dim.

Before::

    func.func private @relu(%x: tensor<64x56x56xf32>, %out: tensor<64x56x56xf32>) -> … {
      %r = linalg.generic {maps (a, b, c) -> (a, b, c) …} ins(%x) outs(%out) …

    %r = call @relu(%x, %e)

After::

    func.func private @relu(%x: tensor<200704xf32>, %out: tensor<200704xf32>) -> … {
      %r = linalg.generic {maps (a) -> (a) …} ins(%x) outs(%out) …

    %x1 = tensor.collapse_shape %x [[0, 1, 2]] …
    %r1 = call @relu(%x1, %e1)
    %r = tensor.expand_shape %r1 …

Long rows keep vectors full and accesses aligned, where rows of 56 or 7 do not. The batch and the rows of a
softmax become one dim, the height and width of a mean, too.

Legal for two dims that stand side by side, whole, in each tensor of the kernel that has one of them, and are
both reduced or both not. Their sizes may be known at the call only: the kernel then asks for that of the
merged dim, which some argument has, and the host function multiplies. Kernels that compute with a size, ask
for an index, gather, or write into a part of a tensor are left alone. Not done to unknown many rows whose
length is known and fills accesses (`should_merge`). Runs after mlopt-outline; the reshapes in host functions
are views.

Effect: on a Zen 5 core the mean of 64x256x7x7 floats over their pixels takes 50 microseconds for 355,
and relu(2x) + 1 of them 77 for 91; on two cores, of a batch that is known at the call only, the mean 46 for
207, and relu(x) / 2 + 1 of 30,000 rows of 7 28 for 91. On GPUs that is 53 instructions for 94, of any size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod
from typing import ClassVar

from mlir import ir
from mlir.dialects import arith, linalg, memref, tensor

from ..dialects.attributes import KERNEL, OP
from .base import Pass
from .collapsing.pairs import Groups, Pair, groups_of, maps_of_nest, neighbours, tensors_of
from .constants import index_constant
from .domain import Dim, Domain
from .operations import callee_of, defining_op, nested_ops, ops_named
from .raising.reshape import joined_dims
from .structured import DYNAMIC, SCAN, body_of, copy_generic, erase_dead, kinds_of, make_generic, sizes_of
from .tile import kernel_domain
from .tiling.access import Nest

_PLAIN = ("linalg.generic", "linalg.fill", SCAN, "tensor.empty", "tensor.dim", "arith.constant")
_BOUND_TO_INDICES = ("linalg.index", "tensor.extract")


@dataclass(frozen=True)
class CollapseDims(Pass):
    """Merge neighbouring dims in each kernel, and reshape what it is called with."""

    name: ClassVar[str] = "mlopt-collapse-dims"

    def run(self, op: ir.Operation) -> None:
        """Collapse every kernel that allows it."""
        functions = list(op.regions[0].blocks[0].operations)
        for function in functions:
            if not KERNEL.get(function.operation):
                continue
            domain = can_collapse(function.operation)
            pairs = neighbours(domain) if domain is not None else set()
            if domain is not None and pairs:
                name = ir.StringAttr(function.attributes["sym_name"]).value
                calls = [call for call in ops_named(op, "func.call") if callee_of(call) == name]
                with function.location:
                    collapse(function.operation, domain, pairs, calls)
        for function in functions:
            if function.operation.name == "func.func" and not KERNEL.get(function.operation):
                erase_dead(function.operation)


def can_collapse(function: ir.Operation) -> Domain | None:
    """The kernel's domain, if all of its ops run through whole tensors."""
    *ops, _ = function.regions[0].blocks[0].operations
    if any(op.operation.name not in _PLAIN for op in ops):
        return None
    if any(inner.name in _BOUND_TO_INDICES for op in ops for inner in nested_ops(op.operation)):
        return None
    domain = kernel_domain(function)
    if isinstance(domain, str):
        return None
    asked = [op.operation for op in ops if op.operation.name == "tensor.dim"]
    return domain if not asked or _are_of_loops(asked, domain) else None


def _are_of_loops(sizes: Sequence[ir.Operation], domain: Domain) -> bool:
    """Whether the sizes that a kernel asks for are only those of its tensors: a loop's, and an argument's."""
    readers = [use.owner.operation.name for op in sizes for use in op.results[0].uses]
    if domain.stages or any(name != "tensor.empty" for name in readers):
        return False
    tensors = [found for nest in domain.nests for found in tensors_of(domain, nest)]
    known = {dim for tensor, dims in tensors if isinstance(tensor, ir.BlockArgument) for dim in dims}
    return all(
        dim is not None and dim in known
        for tensor, dims in tensors
        if defining_op(tensor, "tensor.empty") is not None
        for dim, size in zip(dims, tensor.type.shape, strict=True)
        if size == DYNAMIC
    )


def collapse(function: ir.Operation, domain: Domain, pairs: set[Pair], calls: Sequence[ir.Operation]) -> None:
    """Merge ``pairs`` in the kernel and in its calls."""
    dims_of = {tensor: dims for nest in domain.nests for tensor, dims in tensors_of(domain, nest)}
    groups = {tensor: groups_of(dims, pairs) for tensor, dims in dims_of.items()}
    block = function.regions[0].blocks[0]
    arguments = [groups.get(argument) for argument in block.arguments]
    made: dict[ir.Value, ir.Value] = {}
    # Of merged dims the first: an argument that has them, and where.
    sized = {
        dims_of[argument][group[0]]: (argument, number)
        for argument, parts in zip(block.arguments, arguments, strict=True)
        for number, group in enumerate(parts or ())
    }
    for argument, parts in zip(block.arguments, arguments, strict=True):
        if parts is not None:
            argument.set_type(_merged(argument.type, parts))
    *ops, end = list(block.operations)
    nests = {nest.op: nest for nest in domain.nests}
    for op in ops:
        with ir.InsertionPoint(op), op.location:
            if op.operation in nests:
                _rebuild(nests[op.operation], domain.loops(nests[op.operation]), pairs, groups, made)
            elif op.operation.name == "tensor.empty" and op.results[0] in groups:
                firsts = [dims_of[op.results[0]][group[0]] for group in groups[op.results[0]]]
                kind = _merged(op.results[0].type, groups[op.results[0]])
                sizes = [
                    size if size != DYNAMIC else _asked(*sized[dim])
                    for dim, size in zip(firsts, kind.shape, strict=True)
                ]
                made[op.results[0]] = tensor.EmptyOp(sizes, kind.element_type).result
    results = [groups[value] for value in end.operands]
    for number, value in enumerate(end.operands):
        end.operands[number] = made[value]
    for op in reversed(ops):
        if any(result in made for result in op.results):
            op.operation.erase()
    erase_dead(function)  # sizes that nobody asks for now
    inputs, outputs = [value.type for value in block.arguments], [value.type for value in end.operands]
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, outputs))
    for call in calls:
        with ir.InsertionPoint(call), call.location:
            _rebuild_call(call, arguments, results, outputs)


def _merged(kind: ir.Type, groups: Groups) -> ir.Type:
    parts = [[kind.shape[dim] for dim in group] for group in groups]
    shape = [DYNAMIC if DYNAMIC in sizes else prod(sizes) for sizes in parts]
    return type(kind).get(shape, kind.element_type)


def _asked(value: ir.Value, dim: int) -> ir.Value:
    return tensor.dim(value, index_constant(dim))


def _empty(value: ir.Value, groups: Groups) -> ir.Value:
    """A tensor.empty of the merged shape of another."""
    sizes = sizes_of(value)
    merged = [_product([sizes[dim] for dim in group]) for group in groups]
    return tensor.EmptyOp(merged, value.type.element_type).result


def _product(sizes: Sequence[int | ir.Value]) -> int | ir.Value:
    known = prod(size for size in sizes if not isinstance(size, ir.Value))
    values = [size for size in sizes if isinstance(size, ir.Value)]
    if not values:
        return known
    factors = values if known == 1 else [*values, index_constant(known)]
    return reduce(arith.muli, factors)


def _rebuild(
    nest: Nest,
    loops: Sequence[Dim],
    pairs: set[Pair],
    groups: dict[ir.Value, Groups],
    made: dict[ir.Value, ir.Value],
) -> None:
    """The op over merged loops; ``made`` has what stands for each value."""
    op = nest.op
    operands = [made.get(value, value) for value in op.operands]
    if op.name == "linalg.fill":
        made[op.results[0]] = linalg.fill(operands[0], outs=[operands[1]])
        return
    merged = {other for _, other in pairs}
    heads = [loop for loop, dim in enumerate(loops) if dim not in merged]
    number = {loop: place for place, loop in enumerate(heads)}
    # Of merged loops only the first stands in an expression that is kept.
    new = ir.AffineMap.get(
        len(heads), 0, [ir.AffineDimExpr.get(number.get(loop, 0)) for loop in range(len(loops))]
    )
    maps = [
        ir.AffineMap.get(
            len(heads), 0, [where.results[group[0]].compose(new) for group in groups.get(value, [])]
        )
        for value, where in maps_of_nest(nest)[: len(op.operands)]
    ]
    inits = len(op.results)
    kinds = [kinds_of(op)[loop] for loop in heads]
    if op.name == SCAN:
        scan = copy_generic(op, operands, at=ir.InsertionPoint(op), maps=maps, kinds=kinds)
        made[op.results[0]] = scan.results[0]
        return
    generic = make_generic(
        operands[: len(operands) - inits],
        operands[len(operands) - inits :],
        maps,
        kinds,
        OP.get(op),
        location=op.location,
        at=ir.InsertionPoint(op),
        body=body_of(op),
    )
    made.update(zip(op.results, generic.results, strict=True))


def _rebuild_call(
    call: ir.Operation,
    arguments: Sequence[Groups | None],
    results: Sequence[Groups],
    kinds: Sequence[ir.Type],
) -> None:
    operands = [
        value if groups is None else _collapsed(value, groups)
        for value, groups in zip(call.operands, arguments, strict=True)
    ]
    outs = list(call.operands)[len(operands) - len(results) :]
    new = ir.Operation.create(
        "func.call", results=list(kinds), operands=operands, attributes={"callee": call.attributes["callee"]}
    )
    for old, value, groups, out in zip(call.results, new.results, results, outs, strict=True):
        if value.type == old.type:
            old.replace_all_uses_with(value)
            continue
        for use in list(old.uses):
            if use.owner.operation.name == "bufferization.materialize_in_destination":
                _write_merged(use.owner.operation, value, groups)
        if list(old.uses):
            sizes = [size if isinstance(size, ir.Value) else int(size) for size in sizes_of(out)]
            dynamic = [size for size in sizes if isinstance(size, ir.Value)]
            static = [DYNAMIC if isinstance(size, ir.Value) else size for size in sizes]
            expanded = tensor.ExpandShapeOp(old.type, value, groups, dynamic, static)
            old.replace_all_uses_with(expanded.result)
    call.erase()


def _collapsed(value: ir.Value, groups: Groups) -> ir.Value:
    """The operand in its merged shape."""
    kind = _merged(value.type, groups)
    if kind == value.type:
        return value
    maker = defining_op(value, "tensor.empty", "tensor.expand_shape")
    if maker is not None and maker.name == "tensor.empty":
        return _empty(value, groups)
    if maker is not None and maker.operands[0].type == kind and joined_dims(maker) == groups:
        return maker.operands[0]
    return tensor.CollapseShapeOp(kind, value, groups).result


def _write_merged(op: ir.Operation, value: ir.Value, groups: Groups) -> None:
    """Write the merged result into a view of its destination: a reshape of the tensor would be copied."""
    with ir.InsertionPoint(op), op.location:
        target = op.operands[1]
        op.operands[1] = memref.CollapseShapeOp(_merged(target.type, groups), target, groups).result
        op.operands[0] = value
