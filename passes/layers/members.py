"""Which layer ops and values belong to: the last one of those whose arguments they depend on."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from mlir import ir

from ...dialects.attributes import LAYER, PREPARED, RESULT, argument_attributes
from ..groups import entry_ops, operands_of
from ..operations import defining_op

Members = dict[ir.Value, int]
FIRST = 3  # layers that stay beside the last one; the others are copies of the third


def members_of(module: ir.Operation) -> Members:
    """The layer of each value of @main and @prepare that belongs to one."""
    functions = host_functions(module)
    known: Members = {}
    prepared: list[int | None] = []
    if "prepare" in functions:
        prepare = functions["prepare"]
        known |= _members(prepare, _marked(prepare))
        prepared = [known.get(value) for value in _results(prepare)]
    if "main" in functions:
        main = functions["main"]
        kept = [value for value, marks in _arguments(main) if PREPARED.get(marks)]
        of_prepared = zip(kept, prepared, strict=False)  # a caller's own @prepare has none
        given = _marked(main) | {value: layer for value, layer in of_prepared if layer is not None}
        known |= _members(main, given)
    return known


def layers_of_each(module: ir.Operation) -> Callable[[ir.Operation], int]:
    """How many layers an op stands for: those of one with layers around it for all that are left out."""
    main = host_functions(module).get("main")
    numbers = [] if main is None else list(_marked(main).values())
    if not numbers:
        return lambda _: 1
    members, left_out = members_of(module), max(numbers) - FIRST
    return lambda op: 1 + left_out * (layer_of(op, members) == FIRST - 2)


def host_functions(module: ir.Operation) -> dict[str, ir.Operation]:
    """The functions of a module that are not kernels, by name."""
    return {
        op.attributes["sym_name"].value: op.operation
        for op in module.regions[0].blocks[0].operations
        if op.operation.name == "func.func"
    }


def layer_of(op: ir.Operation, members: Members) -> int | None:
    """The layer that an op of a host function belongs to."""
    return max((members[value] for _, _, value in operands_of(op) if value in members), default=None)


def written_to(op: ir.Operation) -> ir.Value | None:
    """The argument that ``op`` writes a result to, views of it aside."""
    if op.name != "bufferization.materialize_in_destination":
        return None
    memory = op.operands[1]
    while (view := defining_op(memory)) is not None:
        memory = view.operands[0]
    return memory


def _arguments(function: ir.Operation) -> Iterator[tuple[ir.Value, ir.DictAttr]]:
    return zip(function.regions[0].blocks[0].arguments, argument_attributes(function), strict=True)


def _marked(function: ir.Operation) -> Members:
    return {value: layer for value, marks in _arguments(function) if (layer := LAYER.get(marks)) is not None}


def _members(function: ir.Operation, given: Members) -> Members:
    known = dict(given)
    for op in entry_ops(function):
        layer = layer_of(op, known)
        if layer is not None:
            known.update(dict.fromkeys(op.results, layer))
            memory = written_to(op)
            if memory is not None:
                known[memory] = layer
    return known


def _results(function: ir.Operation) -> list[ir.Value]:
    """What a function returns, or the arguments that it writes its results to."""
    returned = list(function.regions[0].blocks[0].operations[-1].operation.operands)
    return returned or [value for value, marks in _arguments(function) if RESULT.get(marks) is not None]
