"""atom and red: section 9.7.13 of the PTX ISA."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import access, atomics
from ..context import Context
from ..decode import Decoder
from ..formats import flush, narrow, pieces, widen
from ..ptx import RAW, TYPES, Array, Instruction, Memory, Type
from ..registry import Run, instruction
from .memory import memory_space

ATOMIC = "9.7.13 Parallel Synchronization and Communication: atom, red"
OPERATIONS = ("and", "or", "xor", "cas", "exch", "add", "inc", "dec", "min", "max")


def _float_add(kind: Type, *, flushes: bool) -> Callable[[Array, Array], Array]:
    name = kind.name.removesuffix("x2")

    def run(old: Array, value: Array) -> Array:
        if flushes:
            total: Array = flush(flush(old.view(kind.dtype)) + flush(value.view(kind.dtype)))
        elif kind.name in ("f32", "f64"):
            total = old.view(kind.dtype) + value.view(kind.dtype)
        else:
            left, right = pieces(old, name + "x2"), pieces(value, name + "x2")
            total = narrow(widen(left, name) + widen(right, name), name)
        return np.ascontiguousarray(total).view(kind.raw)

    return run


def _float_extreme(kind: Type, operation: str) -> Callable[[Array, Array], Array]:
    name = kind.name.removesuffix("x2")
    apply = np.fmin if operation == "min" else np.fmax

    def run(old: Array, value: Array) -> Array:
        left, right = pieces(old, name + "x2"), pieces(value, name + "x2")
        return np.ascontiguousarray(narrow(apply(widen(left, name), widen(right, name)), name)).view(kind.raw)

    return run


def flushes(operation: str, kind: Type, space: str) -> bool:
    """Whether it makes zeros of subnormal numbers: sums of f32 in global memory do, in shared memory not."""
    return operation == "add" and kind.name == "f32" and space == "global"


def update(operation: str, kind: Type, d: Decoder, space: str) -> Callable[[Array, Array, Any], Array]:
    """What an operation makes of the old value, its operand and (for cas) the second one; all in raw bits."""
    dtype, raw = kind.dtype, kind.raw
    if operation == "exch":
        return lambda old, value, _: value
    if operation == "cas":
        return lambda old, value, new: np.where(old == value, new, old)
    if kind.kind == "f":
        if operation == "add":
            combine = _float_add(kind, flushes=flushes(operation, kind, space))
        elif operation in ("min", "max") and kind.name.removesuffix("x2") in ("f16", "bf16"):
            combine = _float_extreme(kind, operation)
        else:
            raise d.fail(f"{operation} of {kind.name}")
        return lambda old, value, _: combine(old, value)
    if operation == "inc":
        return lambda old, value, _: np.where(old >= value, raw.type(0), old + raw.type(1))
    if operation == "dec":
        return lambda old, value, _: np.where((old == 0) | (old > value), value, old - raw.type(1))
    apply: Any = {
        "add": np.add,
        "and": np.bitwise_and,
        "or": np.bitwise_or,
        "xor": np.bitwise_xor,
        "min": np.minimum,
        "max": np.maximum,
    }[operation]
    return lambda old, value, _: apply(old.view(dtype), value.view(dtype)).view(raw)


@instruction("atom", "red", section=ATOMIC, kind="atomic")
def atom(i: Instruction, d: Decoder) -> Run:
    """Changes memory in one step; atom also gives the old value."""
    kind = i.types[-1]
    if kind.bits == 128:
        raise d.fail("of 128 bits")
    operation = next(mod for mod in i.mods if mod in OPERATIONS)
    gives = i.opcode == "atom"
    if i.has("v2", "v4", "v8"):
        return _vector(i, d, kind, operation, gives)
    where = i.operands[1 if gives else 0]
    assert isinstance(where, Memory)
    raw = TYPES[f"b{kind.bits}"]
    write = d.write(i.operands[0], raw) if gives else None
    reads = [d.read(operand, raw) for operand in i.operands[2 if gives else 1 :]]
    if operation != "cas":
        reads = reads[:1]
    elif len(reads) < 2:
        raise d.fail("without what it exchanges for")
    address, space = d.address(where), memory_space(i, d, where)
    changes = {found: update(operation, kind, d, found) for found in ("global", "shared", "local")}

    def run(x: Context) -> None:
        addresses = address(x)
        values = [x.dense(read(x)) for read in reads]
        old = np.zeros(x.count, RAW[kind.bits])
        for found, rows, inside in access.by_space(x, space, addresses):
            some = [value[rows] for value in values]
            old[rows] = _one_space(x, i, found, inside, kind, operation, changes, some, gives)
        if write is not None:
            write(x, old)

    return run


def _vector(i: Instruction, d: Decoder, kind: Type, operation: str, gives: bool) -> Run:
    """Of several elements that lie together: one after the other, each in one step."""
    where, raw = i.operands[1 if gives else 0], TYPES[f"b{kind.bits}"]
    assert isinstance(where, Memory)
    if kind.kind != "f" or memory_space(i, d, where) not in ("global", "generic"):
        raise d.fail("of vectors of other than floats in global memory")
    address, reads = d.address(where), d.reads(i.operands[2 if gives else 1], raw)
    writes = d.writes(i.operands[0], raw) if gives else []
    changes, width = {"global": update(operation, kind, d, "global")}, kind.bytes * len(reads)

    def run(x: Context) -> None:
        addresses = address(x)
        bad = addresses % np.uint64(width) != 0
        if bad.any():
            detail = f"an address that is not a multiple of {width}"
            x.report(i, "misaligned", detail, bad, addresses, "global")
        values = [x.dense(read(x)) for read in reads]
        for element, value in enumerate(values):
            inside = addresses + np.uint64(element * kind.bytes)
            old = _one_space(x, i, "global", inside, kind, operation, changes, [value], gives)
            if gives:
                writes[element](x, old)

    return run


def _one_space(
    x: Context,
    i: Instruction,
    space: str,
    addresses: Array,
    kind: Type,
    operation: str,
    changes: dict[str, Callable[[Array, Array, Any], Array]],
    values: list[Array],
    gives: bool,
) -> Array:
    """The atomic on addresses of one state space; gives the old values."""
    old = np.zeros(x.count, RAW[kind.bits])
    size = kind.bytes
    parts = access.resolve(x, i, space, addresses, size)
    space = access.plain(space)
    change, to_zero = changes[space], flushes(operation, kind, space)
    x.batch.launch.watch.access(x, i, space, "atomic", addresses, size, parts)
    for part in parts:
        allocation = part.allocation
        places = allocation.places(part.addresses, size)
        if allocation.written is not None:
            access.check_written(x, i, space, part, places, size, 1)
        rows = slice(None) if part.rows is None else part.rows
        some = [value[rows] for value in values]
        view = allocation.view(size)
        if to_zero and not gives:
            _flush(view, places)
            some = [flush(value.view(np.float32)).view(RAW[32]) for value in some]
        old[rows] = _update(view, places, kind, operation, change, some, gives)
        if to_zero and not gives:
            _flush(view, places)
        if allocation.written is not None:
            allocation.written_view(size)[places] = access.WRITTEN[size]
    return old


def _flush(view: Array, places: Array) -> None:
    values = view.view(np.float32)
    values[places] = flush(values[places])


def _update(
    view: Array,
    places: Array,
    kind: Type,
    operation: str,
    change: Callable[[Array, Array, Any], Array],
    values: list[Array],
    gives: bool,
) -> Array:
    typed = view.view(kind.dtype) if kind.kind != "f" or kind.name in ("f32", "f64") else None
    if (
        typed is not None
        and not gives
        and atomics.combine(typed, places, operation, values[0].view(kind.dtype))
    ):
        return np.zeros(len(places), view.dtype)
    if operation == "add" and kind.kind != "f":
        return atomics.fetch_add(view, places, values[0])
    return atomics.apply(view, places, change, values[0], values[1] if len(values) > 1 else None)
