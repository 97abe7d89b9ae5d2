"""ld and st in every state space."""

from __future__ import annotations

import numpy as np

from .. import access
from ..context import Context
from ..decode import Decoder
from ..operands import Read, Write
from ..ptx import TYPES, Array, Instruction, Memory, Name, Type
from ..registry import Run, instruction

DATA = "9.7.9 Data Movement and Conversion"
_SPACES = ("global", "shared", "local", "const", "param")


def state_space(i: Instruction) -> str:
    """The state space among the modifiers; "generic" if none is there."""
    for mod in i.mods:
        head = mod.partition("::")[0]
        if mod == "shared::cluster":
            return mod
        if head in _SPACES:
            return head
    return "generic"


def memory_space(i: Instruction, d: Decoder, where: Memory) -> str:
    """Which memory an access goes to: global, shared, local or generic.

    Constants and the parameters of a kernel are in global memory here; the parameters of device
    functions, and those that a caller prepares for them, in local memory.
    """
    space = state_space(i)
    if space == "const":
        return "global"
    if space == "param":
        base = where.base
        if isinstance(base, Name) and base.text in d.program.layout:
            return "local"
        return "global" if d.function.entry else "local"
    if space == "generic" and isinstance(where.base, Name) and not d.is_register(where.base):
        variable = d.variable(where.base.text)
        if variable is not None and variable.space in ("shared", "local"):
            return variable.space
        return "local" if where.base.text in d.program.layout else "global"
    return space


def element(kind: Type, d: Decoder) -> Type:
    """The type in which an element is kept in a register."""
    if kind.bits == 128:
        raise d.fail("elements of 128 bits")
    return kind


@instruction("ld", "ldu", section=DATA + ": ld", kind="load")
def ld(i: Instruction, d: Decoder) -> Run:
    """Loads one element, or a vector of 2, 4 or 8."""
    kind = element(i.types[-1], d)
    where = i.operands[1]
    if not isinstance(where, Memory):
        raise d.fail("an address in brackets is expected")
    space = memory_space(i, d, where)
    writes = d.writes(i.operands[0], kind)
    address = d.address(where)
    if isinstance(where.base, Name) and where.base.text in d.parameters:
        return _parameter(d, i, where.base, kind, writes)

    def run(x: Context) -> None:
        for write, value in zip(writes, load(x, i, space, address(x), kind.bytes, len(writes)), strict=True):
            write(x, value.view(kind.dtype))

    return run


def _parameter(d: Decoder, i: Instruction, base: Name, kind: Type, writes: list[Write]) -> Run:
    """A load of a kernel's parameter by its name: the same value for all lanes."""
    start = d.loaded.parameter_offset(d.function, base.text) + base.offset
    size = next(parameter.size for parameter in d.function.params if parameter.name == base.text)
    whole = kind.bytes * len(writes)
    if base.offset < 0 or base.offset + whole > size or start % whole:

        def bad(x: Context) -> None:
            outside = base.offset < 0 or base.offset + whole > size
            detail = f"an access of {whole} bytes at {base.offset} of parameter {base.text}, of {size} bytes"
            kind_of_finding = "out-of-bounds" if outside else "misaligned"
            x.report(i, kind_of_finding, detail, np.ones(x.count, np.bool_))
            for write in writes:
                write(x, kind.dtype.type(0))

        return bad

    def run(x: Context) -> None:
        data = x.batch.launch.parameters.data
        for number, write in enumerate(writes):
            at = start + number * kind.bytes
            write(x, data[at : at + kind.bytes].view(kind.dtype)[0])

    return run


def load(x: Context, i: Instruction, space: str, addresses: Array, size: int, count: int) -> list[Array]:
    """A load from one state space, or by generic addresses."""
    if space != "generic":
        return access.load(x, i, space, addresses, size, count)
    out: list[Array] = [np.zeros(x.count, f"u{size}") for _ in range(count)]
    for found, rows, inside in access.by_space(x, space, addresses):
        for whole, value in zip(out, access.load(x, i, found, inside, size, count), strict=True):
            whole[rows] = value
    return out


def store(x: Context, i: Instruction, space: str, addresses: Array, size: int, values: list[Array]) -> None:
    """A store to one state space, or by generic addresses."""
    for found, rows, inside in access.by_space(x, space, addresses):
        some = [value[rows] if value.ndim else value for value in values]
        access.store(x, i, found, inside, size, some)


@instruction("st", section=DATA + ": st", kind="store")
def st(i: Instruction, d: Decoder) -> Run:
    """Stores one element, or a vector of 2, 4 or 8."""
    kind = element(i.types[-1], d)
    where = i.operands[0]
    if not isinstance(where, Memory):
        raise d.fail("an address in brackets is expected")
    space = memory_space(i, d, where)
    raw = TYPES[f"b{kind.bits}"]
    reads: list[Read] = d.reads(i.operands[1], raw)
    address = d.address(where)
    return lambda x: store(x, i, space, address(x), kind.bytes, [read(x) for read in reads])


@instruction("createpolicy", section=DATA + ": createpolicy", kind="other")
def createpolicy(i: Instruction, d: Decoder) -> Run:
    """A hint for caches, in 64 bits without a meaning here."""
    write = d.write(i.operands[0], TYPES["b64"])
    return lambda x: write(x, np.uint64(0))


@instruction("prefetch", "prefetchu", "applypriority", "discard", section=DATA + ": prefetch", kind="other")
def prefetch(i: Instruction, d: Decoder) -> Run:
    """Hints about caches, without an effect on values."""
    return lambda x: None
