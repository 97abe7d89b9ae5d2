"""The host function in destination-passing form: results become memref arguments that it writes."""

from __future__ import annotations

from mlir import ir
from mlir.dialects import bufferization, func, memref

from ...dialects.attributes import GROUP, RESULT, RESULT_SIZES, argument_attributes
from ..base import UnsupportedError
from ..groups import group_of, is_init
from ..operations import defining_op
from ..raising.reshape import RESHAPES
from ..structured import DYNAMIC, make_copy, make_empty, sizes_of, structured_ops
from .sizes import size_expression
from .written import filled_by_loops

_READ_ONLY = "bufferization.writable"
_VIEWS = (*RESHAPES, "tensor.cast")
_NOT_WRITTEN = ("arith.constant", "tensor.empty")


def give_results_memory(function: ir.Operation) -> None:
    """Copy each returned value that would share memory with an argument, a constant or another result::

        %v = tensor.expand_shape %y …                  %c = copy %y
        return %y, %v                          ->      %v = tensor.expand_shape %c …
                                                       return %y, %v

    What makes %y may so write both, for it is %y that is copied, and not a view of it.
    """
    terminator = _terminator(function)
    at, location = ir.InsertionPoint(terminator), terminator.location
    taken: set[ir.Value] = set()
    for number, value in enumerate(terminator.operands):
        base = _base(value)
        shared = isinstance(base, ir.BlockArgument) or base.owner.operation.name in _NOT_WRITTEN
        if isinstance(value.type, ir.RankedTensorType) and (shared or base in taken):
            terminator.operands[number] = _copied(value, at, location)
        taken.add(base)


def _copied(value: ir.Value, at: ir.InsertionPoint, location: ir.Location) -> ir.Value:
    """``value`` in memory of its own; of a reshape, the same reshape of a copy."""
    view = defining_op(value, *RESHAPES)
    if view is not None:
        source = _copied(view.operands[0], at, location)
        again = view.clone(at).operation
        again.operands[0] = source
        return again.results[0]
    empty = make_empty(value, location=location, at=at)
    read = ir.AffineMap.get_identity(value.type.rank, context=value.type.context)
    with location:
        return make_copy(value, empty, read, "copy", location=location, at=at).results[0]


def give_destinations_memory(function: ir.Operation) -> None:
    """Copy what an op writes into, if another op writes into it too, or it is returned or an argument::

        %c = tensor.insert_slice %x into %v[0] …          %w = copy %v
        return %c, %v                              ->     %c = tensor.insert_slice %x into %w[0] …
                                                          return %c, %v

    Results are written in place, and the memory of one may hold only what becomes that result.
    """
    for op in [*structured_ops(function), *structured_ops(function, "tensor.insert_slice")]:
        for number in _destinations(op):
            value = op.operands[number]
            base = _base(value)
            if not _wants_memory(op, number, base):
                continue
            at, location = ir.InsertionPoint(op), op.location
            fill = defining_op(base, "linalg.fill")
            if fill is not None and value == base:
                fill = fill.clone(at).operation
                GROUP.drop(fill)  # a kernel of its own: fills of one kernel share no loops
                op.operands[number] = fill.results[0]
                continue
            empty = make_empty(value, location=location, at=at)
            read = ir.AffineMap.get_identity(value.type.rank, context=function.context)
            with location:
                copy = make_copy(value, empty, read, "copy", location=location, at=at)
            op.operands[number] = copy.results[0]


def _wants_memory(op: ir.Operation, number: int, base: ir.Value) -> bool:
    """Whether ``base``, which operand ``number`` of ``op`` is, stays as it is while ``op`` writes."""
    if isinstance(base, ir.BlockArgument) or base.owner.operation.name in _NOT_WRITTEN:
        # A kernel copies it with all threads, into the result; bufferization would copy it twice with one.
        return isinstance(base, ir.BlockArgument) and op.name == "tensor.insert_slice"
    maker = base.owner.operation
    in_one_kernel = group_of(maker) is not None and group_of(maker) == group_of(op)
    return not in_one_kernel and _has_other_claim(base, op, number)


def _destinations(op: ir.Operation) -> list[int]:
    """The operands that ``op`` writes into and keeps parts of, or starts from."""
    if op.name == "tensor.insert_slice":
        return [1]
    return [number for number in range(len(op.operands)) if is_init(op, number)]


def _has_other_claim(base: ir.Value, op: ir.Operation, number: int) -> bool:
    """Whether anything but operand ``number`` of ``op`` returns ``base``, or writes into it."""
    for use in base.uses:
        user, operand = use.owner.operation, use.operand_number
        if user.name in _VIEWS:
            if _has_other_claim(user.results[0], op, number):
                return True
        elif user.name == "func.return" or (
            (user, operand) != (op, number) and operand in _destinations(user)
        ):
            return True
    return False


def record_result_sizes(function: ir.Operation) -> None:
    """Write down each dynamic size of a result as an expression over the arguments' sizes.

    What the ops do not show may have been stated by who wrote the function.
    """
    dims = [
        (value, dim)
        for value in _terminator(function).operands
        for dim, size in enumerate(value.type.shape)
        if size == DYNAMIC
    ]
    stated = RESULT_SIZES.get(function) or ()
    sizes = []
    for number, (value, dim) in enumerate(dims):
        try:
            sizes.append(size_expression(value, dim))
        except UnsupportedError:
            if len(stated) != len(dims):
                raise
            sizes.append(stated[number])
    if sizes:
        with function.location:
            RESULT_SIZES.set(function, tuple(sizes))


def pass_results_as_arguments(function: ir.Operation) -> None:
    """Give ``function`` one memref argument a result, write the results there, and return nothing."""
    terminator = _terminator(function)
    entry = function.regions[0].blocks[0]
    attributes = _argument_attributes(function)
    result_attributes = _result_attributes(function, len(terminator.operands))
    for number, value in enumerate(terminator.operands):
        with terminator.location, ir.InsertionPoint(terminator):
            kind = ir.MemRefType.get(value.type.shape, value.type.element_type)
            out = entry.add_argument(kind, value.location)
            _write(value, out)
            attributes.append(RESULT.added(result_attributes[number], number))
    with terminator.location, ir.InsertionPoint(terminator):
        func.ReturnOp([])
        inputs = [argument.type for argument in entry.arguments]
        function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, []))
        function.attributes["arg_attrs"] = ir.ArrayAttr.get(attributes)
        if "res_attrs" in function.attributes:
            del function.attributes["res_attrs"]
    terminator.erase()


def _argument_attributes(function: ir.Operation) -> list[ir.DictAttr]:
    """The attributes of the arguments, each of which is now read-only."""
    with function.location:
        read_only = ir.BoolAttr.get(False)
        return [
            ir.DictAttr.get({**{named.name: named.attr for named in each}, _READ_ONLY: read_only})
            for each in argument_attributes(function)
        ]


def _result_attributes(function: ir.Operation, count: int) -> list[ir.Attribute | None]:
    """The attributes of each result."""
    if "res_attrs" not in function.attributes:
        return [None] * count
    return list(function.attributes["res_attrs"])


def _write(value: ir.Value, out: ir.Value) -> None:
    """Write ``value`` to ``out``; what only reshapes a result reshapes the memory instead."""
    view = defining_op(value, *RESHAPES)
    while view is not None:
        source = view.operands[0]
        groups = view.attributes["reassociation"]
        kind = ir.MemRefType.get(source.type.shape, source.type.element_type)
        if view.name == "tensor.expand_shape":
            out = memref.CollapseShapeOp(kind, out, groups).result
        else:
            sizes = sizes_of(source)
            dynamic = [size for size in sizes if isinstance(size, ir.Value)]
            static = [DYNAMIC if isinstance(size, ir.Value) else size for size in sizes]
            out = memref.ExpandShapeOp(kind, out, groups, dynamic, static).result
        value = source
        view = defining_op(value, *RESHAPES)
    alloc = filled_by_loops(value, out.type)
    if alloc is not None and isinstance(out, ir.BlockArgument):
        alloc.results[0].replace_all_uses_with(out)
        alloc.erase()
        return
    bufferization.MaterializeInDestinationOp(None, value, out, restrict=True, writable=True)


def _base(value: ir.Value) -> ir.Value:
    """The tensor whose memory ``value`` is a view of."""
    view = defining_op(value, *_VIEWS)
    while view is not None:
        value = view.operands[0]
        view = defining_op(value, *_VIEWS)
    return value


def _terminator(function: ir.Operation) -> ir.Operation:
    return function.regions[0].blocks[0].operations[-1].operation
