"""`mlopt-hoist`: what depends on weights alone is computed once, in @prepare."""

from __future__ import annotations

import math
from collections.abc import Set
from dataclasses import dataclass
from typing import ClassVar

from mlir import ir
from mlir.dialects import func

from ..dialects.attributes import PREPARED, WEIGHT, WIDENS, argument_attributes
from .base import Pass
from .fusion.widened import only_widens, should_widen_late
from .groups import entry_ops, operands_of
from .operations import ops_named
from .raising.bodies import is_contraction
from .structured import DYNAMIC, OWN_OPS, erase_dead, inputs_of

SMALL = 1 << 16  # bytes that may be kept whatever they were made from
GROWTH = 2  # else what is kept may be this many times as large as what it was made from

_WORK = ("linalg.generic", "tensor.insert_slice", "tensor.extract_slice", *OWN_OPS)
_MOVABLE = ("linalg.", "tensor.", "arith.", "math.")


@dataclass(frozen=True)
class Hoist(Pass):
    """Move what depends on arguments marked ``mlopt.weight`` and on constants alone from @main to @prepare.

    ::

        func.func @main(%x: tensor<…>, %w: tensor<…> {mlopt.weight}) {
          %t = linalg.generic {mlopt.op = "transpose"} ins(%w) …
          … %t …
        }
      ->
        func.func @prepare(%w: tensor<…>) -> tensor<…> { transpose }
        func.func @main(%x: tensor<…>, %w: tensor<…> {mlopt.weight}, %t: tensor<…> {mlopt.prepared}) {

    Legal: the caller runs @prepare again whenever a weight has changed. Not moved: views and fills, which
    cost nothing; what would be kept in much more memory than it was made from, and what is only made wider
    where products do not read it: a cast costs nothing in a kernel; what is written onto in @main; what
    mlopt-gpu-narrow-weights leaves to a product, whose marks go.
    A transposed weight is read once a change of the weight instead of once a call.

    Effect: a ResNet BasicBlock (64 channels, 56x56) is 2 kernels that move 4.31 MB a call; without this pass
    3, and 4.90 MB.
    """

    name: ClassVar[str] = "mlopt-hoist"

    def run(self, op: ir.Operation) -> None:
        for function in [each.operation for each in op.regions[0].blocks[0].operations]:
            if function.name == "func.func" and function.attributes["sym_name"].value == "main":
                _hoist(function)
        for widens in ops_named(op, *WIDENS.on):
            WIDENS.drop(widens)


def _hoist(main: ir.Operation) -> None:
    constant_ops = _constant_ops(main)
    kept = [
        value
        for op in entry_ops(main)
        if op in constant_ops and op.name in _WORK
        for value in op.results
        if _is_read_by_others(value, constant_ops)
    ]
    if not kept:
        return
    _make_prepare(main, kept)
    _pass_prepared(main, kept)


def _marks(main: ir.Operation) -> list[bool]:
    """Whether each argument is a weight."""
    return [bool(WEIGHT.get(each)) for each in argument_attributes(main)]


def made_of_weights(main: ir.Operation) -> set[ir.Value]:
    """The arguments marked ``mlopt.weight`` and what depends on them and on constants alone."""
    entry = main.regions[0].blocks[0]
    known: set[ir.Value] = {
        value for value, marked in zip(entry.arguments, _marks(main), strict=True) if marked
    }
    for op in entry_ops(main):
        if not op.name.startswith(_MOVABLE):
            continue
        if not all(value in known for value in op.operands):  # most read what a call brings
            continue
        inner = (value for owner, _, value in operands_of(op) if owner != op and _is_from(value, main))
        if all(value in known for value in inner):
            known.update(op.results)
    return known


def weights_factor(op: ir.Operation, weights: Set[ir.Value]) -> int | None:
    """The number of the one factor of a contraction that is made of ``weights``; None if none is, or both."""
    if not is_contraction(op):
        return None
    known = [value in weights for value in inputs_of(op)]
    return known.index(True) if known.count(True) == 1 else None


def _constant_ops(main: ir.Operation) -> set[ir.Operation]:
    """The ops that depend on weights and constants alone, but for those that each call should do itself."""
    known = made_of_weights(main)
    ops = {op for op in entry_ops(main) if len(op.results) and all(value in known for value in op.results)}
    for op in reversed(entry_ops(main)):  # what is left to the calls leaves them its operands too
        is_left = op in ops and op.name in _WORK and (not should_keep(op) or _is_widened_late(op))
        if is_left and _reach_others(op, ops):
            ops.discard(op)
        if op not in ops:
            ops -= {
                value.owner.operation
                for value in _destinations(op)
                if not isinstance(value, ir.BlockArgument)
            }
    return ops


def _is_widened_late(op: ir.Operation) -> bool:
    """Whether ``op`` widens at each call: a cast that costs nothing there, or what was decided to."""
    return WIDENS.get(op) is not None or (only_widens(op) and should_widen_late(op.results[0]))


def _is_from(value: ir.Value, main: ir.Operation) -> bool:
    """Whether a value that a body reads comes from the function around it."""
    if isinstance(value, ir.BlockArgument):
        return value.owner == main.regions[0].blocks[0]
    return value.owner.operation.parent.operation == main


def should_keep(op: ir.Operation) -> bool:
    """Whether the results of ``op`` are worth their memory between calls."""
    made = sum(_bytes(value) for value in op.results)
    return made <= max(SMALL, GROWTH * sum(_bytes(value) for value in _sources(op)))


def _sources(op: ir.Operation) -> list[ir.Value]:
    """The tensors that ``op`` reads, its inits aside; each once."""
    has_inits = op.name in ("linalg.generic", *OWN_OPS)
    count = len(op.operands) - len(op.results) if has_inits else len(op.operands)
    return list(
        {
            value
            for owner, number, value in operands_of(op)
            if (owner != op or number < count) and isinstance(value.type, ir.RankedTensorType)
        }
    )


def _bytes(value: ir.Value) -> int:
    kind = value.type
    if not isinstance(kind, ir.RankedTensorType):
        return 0
    element = kind.element_type
    width = element.width if isinstance(element, (ir.IntegerType, ir.FloatType)) else 64
    return math.prod(1 if size == DYNAMIC else size for size in kind.shape) * max(width // 8, 1)


def _destinations(op: ir.Operation) -> list[ir.Value]:
    """What ``op`` writes onto; it must not be memory that outlives the call."""
    if op.name == "tensor.insert_slice":
        return [op.operands[1]]
    has_inits = op.name.startswith(("linalg.", *OWN_OPS))
    return list(op.operands)[len(op.operands) - len(op.results) :] if has_inits else []


def _reach_others(op: ir.Operation, ops: set[ir.Operation]) -> bool:
    return any(_is_read_by_others(value, ops) for value in op.results)


def _is_read_by_others(value: ir.Value, ops: set[ir.Operation]) -> bool:
    """Whether an op that stays reads ``value``, through views of it or not."""
    for use in value.uses:
        owner = use.owner.operation
        while owner.parent is not None and owner.parent.operation.name != "func.func":
            owner = owner.parent.operation
        if owner not in ops:
            return True
        if owner.name not in _WORK and any(_is_read_by_others(result, ops) for result in owner.results):
            return True
    return False


def _make_prepare(main: ir.Operation, kept: list[ir.Value]) -> None:
    """Write @prepare: a copy of everything that ``kept`` depends on."""
    needed = _depended_on(main, kept)
    weights = [
        value
        for value, marked in zip(main.regions[0].blocks[0].arguments, _marks(main), strict=True)
        if marked
    ]
    with main.location, ir.InsertionPoint(main):
        kinds = [value.type for value in weights]
        prepare = func.FuncOp("prepare", (kinds, [value.type for value in kept]))
        entry = prepare.add_entry_block([value.location for value in weights])
        if weights:
            prepare.attributes["arg_attrs"] = ir.ArrayAttr.get(
                [each for each in argument_attributes(main) if WEIGHT.get(each)]
            )
    known = dict(zip(weights, entry.arguments, strict=True))
    for op in entry_ops(main):
        if op in needed:
            copy = op.clone(ir.InsertionPoint(entry)).operation
            for owner, number, value in operands_of(copy):
                if value in known:
                    owner.operands[number] = known[value]
            known.update(zip(op.results, copy.results, strict=True))
    with main.location, ir.InsertionPoint(entry):
        func.ReturnOp([known[value] for value in kept])


def _depended_on(main: ir.Operation, kept: list[ir.Value]) -> set[ir.Operation]:
    needed: set[ir.Operation] = set()
    todo = [value.owner.operation for value in kept]
    while todo:
        op = todo.pop()
        if op not in needed:
            needed.add(op)
            todo += [
                value.owner.operation
                for _, _, value in operands_of(op)
                if not isinstance(value, ir.BlockArgument) and _is_from(value, main)
            ]
    return needed


def _pass_prepared(main: ir.Operation, kept: list[ir.Value]) -> None:
    """Give @main an argument for each kept value, and erase what is now done in @prepare."""
    entry = main.regions[0].blocks[0]
    with main.location:
        attributes = argument_attributes(main)
        for value in kept:
            value.replace_all_uses_with(entry.add_argument(value.type, value.location))
            attributes.append(PREPARED.added(None, True))
        results = main.attributes["function_type"].value.results
        kinds = [argument.type for argument in entry.arguments]
        main.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(kinds, results))
        main.attributes["arg_attrs"] = ir.ArrayAttr.get(attributes)
    erase_dead(main)
