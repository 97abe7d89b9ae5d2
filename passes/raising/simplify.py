"""Take out of generics what does no work: splat operands, results that nobody reads, folded casts.

And one op for powers: fpowi has no form for the lanes of a vector.

::

    generic ins(%x, dense<2.0>) { ^(%a, %b): %a * %b }        ->  generic ins(%x) { ^(%a): %a * %cst }
    %m, %i = generic {argmax of which only %m is read}        ->  %m = generic {amax}
    arith.truncf %cst : f64 to f32 of a constant, in a body   ->  the rounded constant
    math.fpowi %a, %n : f32, i64                              ->  math.powf %a, (sitofp %n)

Each keeps every value that is still read, bit for bit; powf, in f32 at least, is nearer than fpowi.
"""

from __future__ import annotations

import math
import struct

from mlir import ir
from mlir.dialects import arith, linalg
from mlir.dialects import math as math_ops

from ..constants import constant, scalar_constant, splat_of
from ..operations import defining_op
from ..structured import (
    body_of,
    inits_of,
    inputs_of,
    is_used,
    kinds_of,
    label_of,
    make_generic,
    maps_of,
    shows_all_loops,
    structured_ops,
)


def simplify_generics(func: ir.Operation) -> None:
    """Simplify all generics of ``func``, last first, so that what becomes unused is seen."""
    for op in reversed(structured_ops(func)):
        _inline_splats(op)
        _fold_casts(op)
        _raise_to_floats(op)
        _drop_unused(op)


def _inline_splats(op: ir.Operation) -> None:
    """Read the one value of a constant or a fill in the body instead of as a tensor."""
    arguments = body_of(op).arguments
    for number, value in enumerate(inputs_of(op)):
        if is_used(arguments[number]):
            inline_splat(op, arguments[number], value)


def inline_splat(op: ir.Operation, argument: ir.Value, value: ir.Value) -> None:
    """Let the body of ``op`` use the one value of a constant or a fill instead of the ``argument`` for it."""
    splat, fill = splat_of(value), defining_op(value, "linalg.fill")
    if splat is not None:
        with ir.InsertionPoint(op), op.location:
            argument.replace_all_uses_with(constant(splat))
    elif fill is not None and fill.operands[0].type == argument.type:
        argument.replace_all_uses_with(fill.operands[0])


def _fold_casts(op: ir.Operation) -> None:
    """Round constants now that the importer rounds for each element."""
    for cast in [each.operation for each in body_of(op).operations]:
        number = scalar_constant(cast.operands[0]) if cast.name == "arith.truncf" else None
        if isinstance(number, ir.FloatAttr) and _can_round(number, cast.results[0].type):
            with ir.InsertionPoint(op), cast.location:
                cast.results[0].replace_all_uses_with(constant(_rounded(number.value, cast.results[0].type)))
            cast.erase()


def _raise_to_floats(op: ir.Operation) -> None:
    """Let powers of integer exponents be those of floats, which hold them: in f32 up to 2^24."""
    for power in [each.operation for each in body_of(op).operations if each.operation.name == "math.fpowi"]:
        base, exponent = power.operands
        narrow = base.type.width < ir.F32Type.get().width
        kind = ir.F32Type.get() if narrow else base.type
        with ir.InsertionPoint(power), power.location:
            raised = math_ops.powf(arith.extf(kind, base) if narrow else base, arith.sitofp(kind, exponent))
            power.results[0].replace_all_uses_with(arith.truncf(base.type, raised) if narrow else raised)
        power.erase()


def _can_round(number: ir.FloatAttr, kind: ir.Type) -> bool:
    """f64 to f32 only; narrower formats are left to the code that runs."""
    return isinstance(number.type, ir.F64Type) and isinstance(kind, ir.F32Type)


def _rounded(number: float, kind: ir.Type) -> ir.FloatAttr:
    """To nearest even, as the hardware does; what is too large becomes infinite."""
    try:
        return ir.FloatAttr.get(kind, struct.unpack("f", struct.pack("f", number))[0])
    except OverflowError:
        return ir.FloatAttr.get(kind, math.copysign(math.inf, number))


def _drop_unused(op: ir.Operation) -> None:
    """Rebuild the op without results that nobody reads and inputs that its body does not read."""
    if not any(is_used(result) for result in op.results):
        return op.erase()
    inputs, inits, maps, body = inputs_of(op), inits_of(op), maps_of(op), body_of(op)
    needed = _needed_results(op)
    outputs = [number for number, keep in enumerate(needed) if keep]
    _trim_yield(body, outputs)
    kept = [number for number in range(len(inputs)) if is_used(body.arguments[number])]
    kept += [len(inputs) + number for number in outputs]
    if len(kept) == len(maps) or not shows_all_loops([maps[number] for number in kept]):
        kept = [*range(len(inputs)), *(len(inputs) + number for number in outputs)]
    if len(kept) == len(maps):
        return None
    for number in reversed(range(len(maps))):
        if number not in kept:
            body.erase_argument(number)
    new = make_generic(
        [inputs[number] for number in kept if number < len(inputs)],
        [inits[number] for number in outputs],
        [maps[number] for number in kept],
        kinds_of(op),
        label_of(op),
        location=op.location,
        at=ir.InsertionPoint(op),
        body=body,
    )
    for number, result in zip(outputs, new.results, strict=True):
        op.results[number].replace_all_uses_with(result)
    return op.erase()


def _needed_results(op: ir.Operation) -> list[bool]:
    """Which results are read, or are what another one accumulates from."""
    body, first = body_of(op), len(inputs_of(op))
    yielded = list(body.operations[-1].operation.operands)
    needed = [is_used(result) for result in op.results]
    todo = [yielded[number] for number, keep in enumerate(needed) if keep]
    seen: set[ir.Value] = set()
    while todo:
        value = todo.pop()
        if value in seen:
            continue
        seen.add(value)
        if isinstance(value, ir.BlockArgument):
            number = value.arg_number - first
            if value.owner == body and number >= 0 and not needed[number]:
                needed[number] = True
                todo.append(yielded[number])
            continue
        if value.owner.operation.parent.operation == op:
            todo += list(value.owner.operation.operands)
    return needed


def _trim_yield(body: ir.Block, outputs: list[int]) -> None:
    """Yield the values numbered ``outputs`` only, and erase what fed the others."""
    terminator = body.operations[-1].operation
    if len(outputs) != len(terminator.operands):
        values = [terminator.operands[number] for number in outputs]
        with ir.InsertionPoint(terminator), terminator.location:
            linalg.YieldOp(values)
        terminator.erase()
    for op in list(reversed(list(body.operations)))[1:]:
        if op.operation.name != "cf.assert" and not any(is_used(result) for result in op.operation.results):
            op.operation.erase()
