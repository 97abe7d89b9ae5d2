"""mov and its kin: registers, addresses, packing, bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..access import window
from ..clusters import RANK
from ..context import Context
from ..decode import Decoder
from ..definite import names
from ..memory import LOCAL_WINDOW, SHARED_WINDOW
from ..ptx import TYPES, Instruction, Name, Number, Type, Vector
from ..registry import Run, instruction

DATA = "9.7.9 Data Movement and Conversion"


@instruction("mov", section=DATA + ": mov", kind="move")
def mov(i: Instruction, d: Decoder) -> Run:
    """Copies, takes an address, packs a vector into a register or unpacks it."""
    run = _unpack(i, d) if isinstance(i.operands[0], Vector) else _mov(i, d)
    return _rename(i, d, run) if d.renames() else run


def _mov(i: Instruction, d: Decoder) -> Run:
    kind = i.types[-1]
    to, source = i.operands
    if isinstance(source, Vector):
        return _pack(i, d)
    read, write = d.read(source, kind), d.write(to, kind)
    if d.is_register(source) or (isinstance(source, Name) and source.text.startswith("%")):
        return lambda x: write(x, read(x).copy())
    return lambda x: write(x, read(x))


def _rename(i: Instruction, d: Decoder, run: Run) -> Run:
    """A move of registers that a wgmma may be using still: as a whole, or in parts."""
    to, source = ({d.awaited[name]: name for name in names(each) if name in d.awaited} for each in i.operands)

    def carried(x: Context) -> None:
        x.batch.warpgroups.carry(x, i, source, to)
        run(x)

    return carried


def _pack(i: Instruction, d: Decoder) -> Run:
    kind = i.types[-1]
    to, source = i.operands
    assert isinstance(source, Vector)
    part = TYPES[f"b{kind.bits // len(source.items)}"] if kind.bits != 128 else TYPES["b64"]
    reads, write = [d.read_part(item, part) for item in source.items], d.write(to, TYPES[f"b{kind.bits}"])
    width = part.bits

    def run(x: Context) -> None:
        value: Any = None
        for number, read in enumerate(reads):
            piece = read(x).astype(kind.raw)
            value = piece if number == 0 else value | (piece << kind.raw.type(width * number))
        write(x, value)

    return run


def _unpack(i: Instruction, d: Decoder) -> Run:
    kind = i.types[-1]
    to, source = i.operands
    assert isinstance(to, Vector)
    part = TYPES[f"b{kind.bits // len(to.items)}"]
    read, writes = d.read(source, TYPES[f"b{kind.bits}"]), d.writes(to, part)
    width = part.bits

    def run(x: Context) -> None:
        value = read(x)
        for number, write in enumerate(writes):
            write(x, (value >> kind.raw.type(width * number)).astype(part.raw))

    return run


@instruction("cvta", section=DATA + ": cvta", kind="move")
def cvta(i: Instruction, d: Decoder) -> Run:
    """Converts an address to a generic one, or back with .to."""
    kind = i.types[-1]
    read, write = d.read(i.operands[1], kind), d.write(i.operands[0], kind)
    space = next(mod.partition("::")[0] for mod in i.mods if mod != "to" and mod not in TYPES)
    if space not in ("global", "const", "param", "shared", "local"):
        raise d.fail(f"state space {space!r}")
    base = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW}.get(space, 0)
    if kind.bits == 32 and base:
        raise d.fail("generic addresses have 64 bits")
    offset = kind.dtype.type(base)
    if not base:
        return lambda x: write(x, read(x).copy())
    if i.has("to"):
        return lambda x: write(x, read(x) - offset)
    return lambda x: write(x, read(x) + offset)


def _generic(i: Instruction, d: Decoder, kind: Type) -> bool:
    """Whether an address is a generic one; refuses those of 32 bits."""
    generic = not any(mod.startswith("shared") for mod in i.mods)
    if generic and kind.bits == 32:
        raise d.fail("generic addresses have 64 bits")
    return generic


@instruction("mapa", section=DATA + ": mapa", kind="move")
def mapa(i: Instruction, d: Decoder) -> Run:
    """The address, in another block of the cluster, of what is in shared memory here."""
    kind = i.types[-1]
    write, rank = d.write(i.operands[0], kind), d.read(i.operands[2], TYPES["u32"])
    read = d.read(i.operands[1], kind)
    generic = _generic(i, d, kind)
    mask = kind.dtype.type((1 << RANK) - 1)
    base = kind.dtype.type(SHARED_WINDOW if generic else 0)

    def run(x: Context) -> None:
        number = x.dense(rank(x))
        bad = number >= x.batch.shape.cluster
        if bad.any():
            detail = f"block {int(number[bad][0])} of a cluster of {x.batch.shape.cluster}"
            x.report(i, "cluster", detail, bad)
        tag = (number.astype(kind.dtype) + kind.dtype.type(1)) << kind.dtype.type(RANK)
        write(x, ((x.dense(read(x)) & mask) | tag) + base)

    return run


@instruction("getctarank", section=DATA + ": getctarank", kind="move")
def getctarank(i: Instruction, d: Decoder) -> Run:
    """The block of the cluster in whose shared memory an address is."""
    kind = i.types[-1]
    _generic(i, d, kind)
    write, read = d.write(i.operands[0], TYPES["u32"]), d.read(i.operands[1], kind)

    def run(x: Context) -> None:
        tag = (x.dense(read(x)) >> kind.dtype.type(RANK)).astype(np.uint32) & np.uint32(0xFF)
        mine = (x.lanes.block % x.batch.shape.cluster).astype(np.uint32)
        write(x, np.where(tag == 0, mine, tag - np.uint32(1)))

    return run


@instruction("isspacep", section=DATA + ": isspacep", kind="move")
def isspacep(i: Instruction, d: Decoder) -> Run:
    """Whether a generic address points to a state space."""
    read, write = d.read(i.operands[1], TYPES["u64"]), d.write(i.operands[0], TYPES["pred"])
    space = i.mods[0].partition("::")[0]
    number = {"shared": 1, "local": 2}.get(space)
    own = i.has("shared", "shared::cta")

    def run(x: Context) -> None:
        found = window(read(x))
        if own:
            tag = (x.dense(read(x)) >> np.uint64(RANK)).astype(np.intp) & 0xFF
            rank = x.lanes.block % x.batch.shape.cluster + 1
            write(x, (found == number) & ((tag == 0) | (tag == rank)))
        elif number is not None:
            write(x, found == number)
        elif space == "global":
            write(x, (found != 1) & (found != 2))
        else:
            address = read(x)
            launch = x.batch.launch
            low, high = launch.parameters.base, launch.parameters.end
            write(
                x, (address >= low) & (address < high) if space == "param" else np.zeros_like(found, np.bool_)
            )

    return run


_MODES = {
    "f4e": ((0, 1, 2, 3), (1, 2, 3, 4), (2, 3, 4, 5), (3, 4, 5, 6)),
    "b4e": ((0, 7, 6, 5), (1, 0, 7, 6), (2, 1, 0, 7), (3, 2, 1, 0)),
    "rc8": ((0,) * 4, (1,) * 4, (2,) * 4, (3,) * 4),
    "ecl": ((0, 1, 2, 3), (1, 1, 2, 3), (2, 2, 2, 3), (3, 3, 3, 3)),
    "ecr": ((0, 0, 0, 0), (0, 1, 1, 1), (0, 1, 2, 2), (0, 1, 2, 3)),
    "rc16": ((0, 1, 0, 1), (2, 3, 2, 3), (0, 1, 0, 1), (2, 3, 2, 3)),
}


@instruction("prmt", section=DATA + ": prmt", kind="move")
def prmt(i: Instruction, d: Decoder) -> Run:
    """Picks four bytes from two registers; the second has no value where a constant takes none of it."""
    u32 = TYPES["u32"]
    write = d.write(i.operands[0], u32)
    first, second, last = i.operands[1:]
    mode = next((mod for mod in i.mods if mod in _MODES), None)
    if mode is None and isinstance(last, Number) and not int(last.value) & 0x4444:
        second = first
    low, high, selector = (d.read(operand, u32) for operand in (first, second, last))
    table = None if mode is None else np.array(_MODES[mode], np.uint64)

    def run(x: Context) -> None:
        pair = low(x).astype(np.uint64) | (high(x).astype(np.uint64) << np.uint64(32))
        select = selector(x)
        value: Any = np.uint32(0)
        for byte in range(4):
            if table is None:
                pick = ((select >> np.uint32(4 * byte)) & np.uint32(7)).astype(np.uint64)
            else:
                pick = table[(select & np.uint32(3)).astype(np.intp), byte]
            found = ((pair >> (pick * np.uint64(8))) & np.uint64(255)).astype(np.uint32)
            if table is None:
                sign = (select >> np.uint32(4 * byte + 3)) & np.uint32(1)
                found = np.where(sign != 0, (found >> np.uint32(7)) * np.uint32(255), found)
            value = value | (found.astype(np.uint32) << np.uint32(8 * byte))
        write(x, value)

    return run
