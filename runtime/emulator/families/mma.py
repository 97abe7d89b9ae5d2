"""mma.sync: matrix multiply-accumulate of a warp. Section 9.7.14.5 of the PTX ISA.

The ISA leaves the order and rounding of the sums open. Here each element is summed in float64
and rounded once; integers are exact.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .. import fragments
from ..context import Context
from ..decode import Decoder
from ..formats import narrow
from ..operands import Read, Write
from ..ptx import TYPES, Array, Instruction
from ..registry import Run, instruction
from .matrix import MATRIX

_FLOATS = {"f16": 16, "bf16": 16, "tf32": 32, "f64": 64, "e4m3": 8, "e5m2": 8}
_INTEGERS = {"u8": 8, "s8": 8, "u4": 4, "s4": 4, "b1": 1}
_BITS = _FLOATS | _INTEGERS
# For each pair of operand types, the (m, n, k) that the ISA has.
_SHAPES: dict[str, set[tuple[int, int, int]]] = {
    "f16": {(8, 8, 4), (16, 8, 8), (16, 8, 16)},
    "bf16": {(16, 8, 8), (16, 8, 16)},
    "tf32": {(16, 8, 4), (16, 8, 8)},
    "f64": {(8, 8, 4), (16, 8, 4), (16, 8, 8), (16, 8, 16)},
    "e4m3": {(16, 8, 16), (16, 8, 32)},
    "e5m2": {(16, 8, 16), (16, 8, 32)},
    "u8": {(8, 8, 16), (16, 8, 16), (16, 8, 32)},
    "u4": {(8, 8, 32), (16, 8, 32), (16, 8, 64)},
    "b1": {(8, 8, 128), (16, 8, 128), (16, 8, 256)},
}


@dataclass(frozen=True, slots=True)
class Shape:
    """What an instruction multiplies: sizes, and the types of D, A, B and C."""

    m: int
    n: int
    k: int
    d: str
    a: str
    b: str
    c: str


def shape_of(i: Instruction, d: Decoder) -> Shape:
    """The sizes and types among the modifiers; an error for those that the ISA does not have."""
    sizes = next(
        (re.fullmatch(r"m(\d+)n(\d+)k(\d+)", mod) for mod in i.mods if re.match(r"m\d+n\d", mod)), None
    )
    names = [mod for mod in i.mods if mod in _BITS or mod in ("f32", "s32")]
    if sizes is None or len(names) != 4:
        raise d.fail("without a shape and four types")
    m, n, k = (int(size) for size in sizes.groups())
    shape = Shape(m, n, k, *names)
    known = _SHAPES.get(shape.a.replace("s8", "u8").replace("s4", "u4"), set())
    if (m, n, k) not in known or _BITS.get(shape.b) != _BITS[shape.a]:
        raise d.fail(f"shape m{m}n{n}k{k} of {shape.a} and {shape.b}")
    layouts = [mod for mod in i.mods if mod in ("row", "col")]
    if layouts != ["row", "col"] and (m, n, k, shape.a) != (8, 8, 4, "f16"):
        raise d.fail(f"layouts {'.'.join(layouts)}: A is in rows, B in columns")
    return shape


@instruction("mma.sync", section=MATRIX + ": mma", kind="matrix", sync=True)
def mma(i: Instruction, d: Decoder) -> Run:
    """D = A B + C for the matrices that the lanes of a warp hold together."""
    shape = shape_of(i, d)
    if (shape.m, shape.n, shape.k, shape.a) == (8, 8, 4, "f16"):
        return _quad(i, d, shape)
    width = _BITS[shape.a]
    register = TYPES["b64"] if width == 64 else TYPES["b32"]
    read_a, read_b = d.reads(i.operands[1], register), d.reads(i.operands[2], register)
    wide = TYPES["b64"] if shape.c == "f64" else TYPES["b32"]
    read_c, writes = d.reads(i.operands[3], wide), d.writes(i.operands[0], wide)
    elements = register.bits // width
    places_a = fragments.places_a(shape.m, len(read_a), elements)
    places_b = fragments.places_b(len(read_b), elements)
    places_c = fragments.places_c(shape.m * shape.n // 32)
    if len(read_a) * elements * 32 != shape.m * shape.k or len(read_b) * elements * 32 != shape.k * shape.n:
        raise d.fail("with that many registers")
    multiply = _multiply(i, shape)

    def run(x: Context) -> None:
        a = fragments.gathered(_values(x, read_a, shape.a), places_a, shape.m, shape.k)
        b = fragments.gathered(_values(x, read_b, shape.b), places_b, shape.k, shape.n)
        c = fragments.gathered(_values(x, read_c, shape.c), places_c, shape.m, shape.n)
        _give(x, fragments.scattered(multiply(a, b, c), places_c), shape.d, writes)

    return run


def _multiply(i: Instruction, shape: Shape) -> Callable[[Array, Array, Array], Array]:
    if shape.a == "b1":
        xor = i.has("xor")

        def bits(a: Array, b: Array, c: Array) -> Array:
            both = a @ b
            if xor:  # ones of a ^ b: those of a, those of b, less twice those of both
                both = a.sum(axis=2, keepdims=True) + b.sum(axis=1, keepdims=True) - 2 * both
            return both + c

        return bits
    if shape.d == "s32" and i.has("satfinite"):
        return lambda a, b, c: np.clip(a @ b + c, -(2.0**31), 2.0**31 - 1)
    return lambda a, b, c: a @ b + c


def _values(x: Context, reads: list[Read], name: str) -> Array:
    """The elements in some registers, as float64: (warp, then lane, register and element in one)."""
    words = np.stack([x.dense(read(x)) for read in reads], axis=1)
    return fragments.elements(words, name).reshape(x.lanes.warps, -1)


def _give(x: Context, values: Array, name: str, writes: list[Write]) -> None:
    """Write each lane's elements of D, packed two to a register for f16."""
    flat = values.reshape(x.count, -1)
    if name == "s32":
        words = flat.astype(np.int64).astype(np.uint32)
    else:
        rounded = np.ascontiguousarray(narrow(flat, name))
        words = rounded.view({"f16": np.uint32, "f32": np.uint32, "f64": np.uint64}[name])
    for number, write in enumerate(writes):
        write(x, np.ascontiguousarray(words[:, number]))


def _quad(i: Instruction, d: Decoder, shape: Shape) -> Run:
    """m8n8k4 of f16: four multiplications, each by the eight lanes of a quad pair."""
    layouts = [mod for mod in i.mods if mod in ("row", "col")]
    b32 = TYPES["b32"]
    read_a, read_b = d.reads(i.operands[1], b32), d.reads(i.operands[2], b32)
    read_c, writes = d.reads(i.operands[3], b32), d.writes(i.operands[0], b32)
    places_a = fragments.quad_a(layouts[0] == "col")
    places_b = fragments.quad_b(layouts[1] == "col")
    places_c, places_d = fragments.quad_c(shape.c == "f32"), fragments.quad_c(shape.d == "f32")

    def run(x: Context) -> None:
        matrices = []
        for reads, name, places, size in (
            (read_a, "f16", places_a, (8, 4)),
            (read_b, "f16", places_b, (4, 8)),
            (read_c, shape.c, places_c, (8, 8)),
        ):
            whole = np.zeros((x.lanes.warps, 4, *size))
            values = _values(x, reads, name).reshape(x.lanes.warps, 32, -1)
            whole[:, fragments.PAIR[:, None], places[0], places[1]] = values
            matrices.append(whole)
        a, b, c = matrices
        out = a @ b + c
        _give(x, out[:, fragments.PAIR[:, None], places_d[0], places_d[1]], shape.d, writes)

    return run
