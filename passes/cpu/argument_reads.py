"""A host function takes the array of its entry point, and reads each argument where it first needs it.

::

    func.func private @main(%x: memref<4xf32>, …, %w: memref<4xf32>, %threads: index {mlopt.threads}) {
      call @kernel_0(%x, …)
      …
      call @kernel_9(%w, …)

    func.func private @main(%threads: index {mlopt.threads}, %args: !llvm.ptr) {
      %x = entry 0 of %args
      call @kernel_0(%x, …)
      …
      %w = entry 99 of %args
      call @kernel_9(%w, …)

With hundreds of arguments that live from the start to the last call, LLVM's time is quadratic: with 48 layers
of GPT-2 that was more than half of it. Legal for a function of one block that only its entry point calls.
"""

from __future__ import annotations

from collections.abc import Sequence

from mlir import ir
from mlir.dialects import func

from ...dialects.attributes import argument_attributes
from ..groups import entry_ops, operands_of


def read_where_used(function: func.FuncOp, given: Sequence[int], reader: ir.Operation) -> None:
    """Replace the arguments ``given``: ``reader`` takes the array, computes them in turn, and is used up."""
    block = function.entry_block
    attributes = argument_attributes(function)
    array = block.add_argument(reader.regions[0].blocks[0].arguments[0].type, function.location)
    chains = dict(zip(given, _chains(reader, array), strict=True))
    for number, user in _first_users(function, set(given)).items():
        for op in chains[number]:
            op.move_before(user)
        block.arguments[number].replace_all_uses_with(chains[number][-1].results[0])
    for number in sorted(given, reverse=True):
        block.erase_argument(number)
        del attributes[number]
    types = [argument.type for argument in block.arguments]
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, []))
    function.attributes["arg_attrs"] = ir.ArrayAttr.get([*attributes, ir.DictAttr.get({})])
    reader.erase()


def _chains(reader: ir.Operation, array: ir.Value) -> list[list[ir.Operation]]:
    """The ops that compute each result of ``reader``, which come one after the other, from ``array``."""
    reader.regions[0].blocks[0].arguments[0].replace_all_uses_with(array)
    chains: list[list[ir.Operation]] = [[]]
    *ops, end = (op.operation for op in reader.regions[0].blocks[0].operations)
    for op in ops:
        chains[-1].append(op)
        if len(op.results) == 1 and op.results[0] == end.operands[len(chains) - 1]:
            chains.append([])
    return chains[:-1]


def _first_users(function: func.FuncOp, numbers: set[int]) -> dict[int, ir.Operation]:
    """The first op of the block that reads each of these arguments, itself or inside of it."""
    found: dict[int, ir.Operation] = {}
    for op in [*entry_ops(function.operation), function.entry_block.operations[-1].operation]:
        for _, _, value in operands_of(op):
            is_argument = isinstance(value, ir.BlockArgument) and value.owner == function.entry_block
            if is_argument and value.arg_number in numbers:
                found.setdefault(value.arg_number, op)
    return found
