"""One group of ops becomes a private function in destination-passing form, and a call of it."""

from __future__ import annotations

from mlir import ir
from mlir.dialects import func, tensor

from ...dialects.attributes import GROUP, KERNEL, OPS, PART_OF
from ..constants import constant, index_constant
from ..groups import operands_of
from ..operations import defining_op
from ..structured import erase_dead, label_of, make_copy, origin_of_size, same_size
from ..subsets import mixed, part_sizes
from .group import Group, analyse, is_outside, is_read_outside, is_scalar_constant, made_by, top_op

_NAMED_OPS = 4  # how many ops a kernel's name spells out


def outline(ops: list[ir.Operation], number: int) -> tuple[ir.Operation, ir.Operation]:
    """Move ``ops``, which follow each other, to a function in front of theirs; return the call and it."""
    _write_slices(ops)
    group = analyse(ops)
    location = ops[-1].location
    host = ops[0].parent.operation
    with location, ir.InsertionPoint(host):
        kinds = [value.type for value in group.inputs]
        outs = [value.type for value in group.results]
        kernel = func.FuncOp(_name(group, number), (kinds + outs, outs), visibility="private")
        KERNEL.set(kernel, True)
        OPS.set(kernel, tuple(group.labels))
        entry = kernel.add_entry_block([value.location for value in (*group.inputs, *group.results)])
    with location, ir.InsertionPoint(ops[0]):
        operands = [
            *group.inputs,
            *(_own_buffer(owner.operands[operand]) for owner, operand in group.destinations),
        ]
        call = func.CallOp(outs, kernel.name.value, operands).operation
    inside = set(ops)
    for old, new in zip(group.results, call.results, strict=True):
        for use in [use for use in old.uses if top_op(use.owner.operation, host) not in inside]:
            use.owner.operation.operands[use.operand_number] = new
    _fill_in(group, entry, location)
    return call, kernel.operation


def _own_buffer(destination: ir.Value) -> ir.Value:
    """An empty tensor of its own where several results would start from the same one."""
    empty = defining_op(destination, "tensor.empty")
    return destination if empty is None else empty.clone(ir.InsertionPoint.current).operation.results[0]


def _write_slices(ops: list[ir.Operation]) -> None:
    """A slice that is read outside is copied to its destination: extract_slice itself has none."""
    for op in list(ops):
        if op.name != "tensor.extract_slice" or not is_read_outside(op.results[0], ops):
            continue
        result = op.results[0]
        with op.location, ir.InsertionPoint(op):
            empty = tensor.EmptyOp(part_sizes(op), result.type.element_type).result
        read = ir.AffineMap.get_identity(result.type.rank, context=op.context)
        with op.location:
            copy = make_copy(
                result,
                empty,
                read,
                label_of(op) or "slice",
                location=op.location,
                at=ir.InsertionPoint.after(op),
            )
        inside = set(ops)
        host = op.parent.operation
        for use in list(result.uses):
            owner = use.owner.operation
            if owner != copy and top_op(owner, host) not in inside:
                owner.operands[use.operand_number] = copy.results[0]
        ops.insert(ops.index(op) + 1, copy)


def _fill_in(group: Group, entry: ir.Block, location: ir.Location) -> None:
    """Move the ops into the kernel, and let them read its arguments."""
    known = dict(zip(group.inputs, entry.arguments, strict=False))
    outs = list(entry.arguments)[len(group.inputs) :]
    with location, ir.InsertionPoint(entry):
        for size, (number, dim) in group.sizes.items():
            known[size] = tensor.dim(entry.arguments[number], index_constant(dim))
        terminator = func.ReturnOp(group.results).operation
    inside = made_by(group.ops)
    covered = [_covered_dims(op) for op in group.ops]
    for op, dims in zip(group.ops, covered, strict=True):
        outside = [
            (owner, operand, value)
            for owner, operand, value in operands_of(op)
            if is_outside(value, op, inside)
        ]
        op.move_before(terminator)
        GROUP.drop(op)
        PART_OF.drop(op)
        for owner, operand, value in outside:
            if (owner, operand) in group.destinations:
                owner.operands[operand] = outs[group.destinations.index((owner, operand))]
                continue
            if value not in known:
                known[value] = _remake(value, known, op, entry)
            owner.operands[operand] = known[value]
        for operand, dim in dims:
            _read_off_whole(op, operand, dim, entry)
    erase_dead(entry.owner.operation)


def _whole(part: ir.Operation) -> ir.Value:
    """The larger tensor of a slice op."""
    return part.operands[1 if part.name == "tensor.insert_slice" else 0]


def _covered_dims(op: ir.Operation) -> list[tuple[int, int]]:
    """The operands of a slice op that are sizes of the larger tensor, as the host function shows; the dims.

    Its dim may be known there as the size of other tensors too, and the kernel gets them apart.
    """
    if op.name not in ("tensor.extract_slice", "tensor.insert_slice"):
        return []
    sizes = mixed(op.opview.static_sizes, op.opview.sizes)
    dynamic = [dim for dim, size in enumerate(sizes) if isinstance(size, ir.Value)]
    first = len(op.operands) - len(op.opview.strides) - len(dynamic)
    return [
        (first + number, dim) for number, dim in enumerate(dynamic) if same_size(sizes[dim], _whole(op), dim)
    ]


def _read_off_whole(op: ir.Operation, operand: int, dim: int, entry: ir.Block) -> None:
    """Let a slice op of a kernel show that its part covers a dim of the larger tensor."""
    whole = _whole(op)
    origin = origin_of_size(whole, dim)
    if same_size(op.operands[operand], whole, dim):
        return
    if isinstance(origin, tuple):
        with op.location, ir.InsertionPoint.at_block_begin(entry):
            origin = tensor.dim(origin[0], index_constant(origin[1]))
    op.operands[operand] = origin


def _remake(value: ir.Value, known: dict[ir.Value, ir.Value], op: ir.Operation, entry: ir.Block) -> ir.Value:
    """Make a constant or an empty tensor again inside the kernel."""
    with value.owner.operation.location:
        if is_scalar_constant(value):
            with ir.InsertionPoint.at_block_begin(entry):
                return constant(value.owner.operation.attributes["value"])
        empty = value.owner.operation
        for size in empty.operands:
            if size not in known:
                known[size] = _remake(size, known, op, entry)
        new = empty.clone(ir.InsertionPoint(op)).operation
        for number, size in enumerate(empty.operands):
            new.operands[number] = known[size]
        return new.results[0]


def _name(group: Group, number: int) -> str:
    words: list[str] = []
    for label in group.labels:
        if not words or words[-1] != label:
            words.append(label)
    more = [] if len(words) <= _NAMED_OPS else ["more"]
    return "_".join(["kernel", str(number), *words[:_NAMED_OPS], *more])
