"""What a group of ops reads from outside and makes for others: the signature of its kernel."""

from __future__ import annotations

from dataclasses import dataclass, field

from mlir import ir

from ..groups import operands_of
from ..naming.parts import by_named_ops
from ..operations import defining_op
from ..structured import DYNAMIC, label_of, same_size

_QUIET = ("fill",)


@dataclass
class Group:
    """What a kernel needs from outside and gives back.

    ``destinations`` are the operands (an op and a number) that the results are written onto. ``sizes`` are
    index values that the kernel reads off its arguments: the number of an argument, and a dim of it.
    """

    ops: list[ir.Operation]
    results: list[ir.Value] = field(default_factory=list)
    destinations: list[tuple[ir.Operation, int]] = field(default_factory=list)
    inputs: list[ir.Value] = field(default_factory=list)
    sizes: dict[ir.Value, tuple[int, int]] = field(default_factory=dict)

    @property
    def labels(self) -> list[str]:
        """What the kernel does, op by op; named ops as a whole."""
        labels = [name or _label(ops[0]) for name, ops in by_named_ops(self.ops)]
        return [label for label in labels if label not in _QUIET] or labels


def _label(op: ir.Operation) -> str:
    return label_of(op) or op.name.split(".")[-1].removesuffix("_slice")


def analyse(ops: list[ir.Operation]) -> Group:
    """The signature of the kernel that ``ops`` would be."""
    group = Group(ops)
    inside = made_by(ops)
    for op in ops:
        for result in op.results:
            if is_read_outside(result, ops):
                group.results.append(result)
                group.destinations.append(_destination(result, inside))
    needed: dict[ir.Value, None] = {}
    for op in ops:
        for owner, operand, value in operands_of(op):
            if (owner, operand) not in group.destinations and is_outside(value, op, inside):
                needed.update(dict.fromkeys(_arguments_for(value)))
    tensors = [value for value in needed if isinstance(value.type, ir.ShapedType)]
    scalars = [value for value in needed if not isinstance(value.type, ir.ShapedType)]
    onto = [owner.operands[operand] for owner, operand in group.destinations]
    for scalar in scalars:
        where = _size_of(scalar, [*onto, *tensors])
        if where is not None:
            group.sizes[scalar] = where
    group.inputs = tensors + [scalar for scalar in scalars if scalar not in group.sizes]
    # Destinations were looked at first, and are the last arguments.
    first = len(group.inputs)
    for scalar, (number, dim) in group.sizes.items():
        group.sizes[scalar] = (first + number if number < len(onto) else number - len(onto), dim)
    return group


def made_by(ops: list[ir.Operation]) -> set[ir.Value]:
    """What ``ops`` make: unlike an op's, a value's hash stays as it is while operands change."""
    return {value for op in ops for value in op.results}


def is_outside(value: ir.Value, op: ir.Operation, inside: set[ir.Value]) -> bool:
    """Whether ``value`` is made neither by the group nor inside ``op``."""
    if isinstance(value, ir.BlockArgument):
        return value.owner.owner.operation == op.parent.operation
    return value not in inside and value.owner.operation.parent.operation == op.parent.operation


def is_read_outside(value: ir.Value, ops: list[ir.Operation]) -> bool:
    """Whether an op of the host function that is not one of ``ops`` reads ``value``."""
    inside = set(ops)
    host = ops[0].parent.operation
    return any(top_op(use.owner.operation, host) not in inside for use in value.uses)


def top_op(op: ir.Operation, host: ir.Operation) -> ir.Operation:
    """The op directly in the host function that holds ``op``."""
    while op.parent is not None and op.parent.operation != host:
        op = op.parent.operation
    return op


def is_scalar_constant(value: ir.Value) -> bool:
    """Whether the kernel can make ``value`` itself, as a constant."""
    return defining_op(value, "arith.constant") is not None and not isinstance(value.type, ir.ShapedType)


def _arguments_for(value: ir.Value) -> list[ir.Value]:
    """What is passed so that the kernel has ``value``: it makes constants and empty tensors itself."""
    if is_scalar_constant(value):
        return []
    empty = defining_op(value, "tensor.empty")
    if empty is None:
        return [value]
    return [size for size in empty.operands if not is_scalar_constant(size)]


def _size_of(scalar: ir.Value, tensors: list[ir.Value]) -> tuple[int, int] | None:
    """Which tensor has the index value ``scalar`` as its size, and in which dim."""
    if not isinstance(scalar.type, ir.IndexType):
        return None
    for number, value in enumerate(tensors):
        for dim, size in enumerate(value.type.shape):
            if size == DYNAMIC and same_size(scalar, value, dim):
                return number, dim
    return None


def _destination(value: ir.Value, inside: set[ir.Value]) -> tuple[ir.Operation, int]:
    """The operand inside the group that ``value`` is written onto: the inits lead to the group's edge."""
    while True:
        op = value.owner.operation
        is_insert = op.name == "tensor.insert_slice"
        operand = 1 if is_insert else len(op.operands) - len(op.results) + value.result_number
        below = op.operands[operand]
        if below not in inside:
            return op, operand
        value = below
