"""The matrices of wgmma as arrays: from registers and shared memory, and back. Section 9.7.15.5 of the ISA.

With g = lane / 4 and t = lane % 4, warp w of a warpgroup has the rows 16 w + 8 h + g. With E elements in a
register, element e of register 2 c + h of A is in column 4 E c + E t + e, and accumulator 4 j + 2 h + p in
column 8 j + 2 t + p.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .boxes import UNIT
from .context import Context
from .descriptors import Descriptor
from .formats import narrow
from .fragments import elements
from .lanes import GROUP, WARP, Lanes
from .operands import Read, Write
from .ptx import Array, Instruction

THREADS = GROUP * WARP
M, K_BYTES = 64, 32
BITS = {"f16": 16, "bf16": 16, "tf32": 32, "e4m3": 8, "e5m2": 8, "u8": 8, "s8": 8, "b1": 1}


@dataclass(frozen=True, slots=True)
class Form:
    """What an instruction multiplies: sizes, the types of D, A and B, and its immediate operands."""

    n: int
    k: int
    d: str
    a: str
    b: str
    negative: bool
    a_by_columns: bool  # M-major, in shared memory
    b_by_rows: bool  # N-major


def in_registers(x: Context, reads: list[Read], form: Form) -> Array:
    """A of each warpgroup, from four registers of each thread."""
    words = np.stack([x.dense(read(x)) for read in reads], axis=0)
    values = elements(words.reshape(-1, 1), form.a).reshape(2, 2, -1, GROUP, 8, 4, 32 // BITS[form.a])
    found: Array = values.transpose(2, 3, 1, 4, 0, 5, 6).reshape(-1, M, form.k)  # from c, h, …, w, g, t, e
    return found


def in_shared(
    x: Context, i: Instruction, read: Read, lines: int, k: int, name: str, *, by_columns: bool
) -> tuple[Array, list[Array]]:
    """A matrix of ``lines`` by K from shared memory for each warpgroup, and its units there."""
    whole, found, units = x.lanes, [], []
    bits = x.dense(read(x)).reshape(-1, THREADS)[:, 0].tolist()
    size = (k, lines * BITS[name] // 128) if by_columns else (lines, K_BYTES // UNIT)
    for group, value in enumerate(bits):
        x.enter(Lanes.of(whole.shape, whole.index[group * THREADS : (group + 1) * THREADS]))
        mine = _units(x, i, Descriptor.decode(value), size, major_k=not by_columns)
        units.append(np.zeros(0, np.int64) if mine is None else mine)
        found.append(
            np.zeros((size[0], size[1] * UNIT), np.uint8)
            if mine is None
            else x.batch.warpgroups.take(x, i, mine).reshape(size[0], -1)
        )
    x.enter(whole)
    values = elements(np.concatenate(found), name).reshape(len(bits), size[0], -1)
    return values.swapaxes(1, 2) if by_columns else values, units


def _units(
    x: Context, i: Instruction, descriptor: Descriptor, size: tuple[int, int], *, major_k: bool
) -> Array | None:
    """The units of the batch's shared memory behind a descriptor; None for bad ones, which are reported."""
    everyone = np.ones(x.count, np.bool_)
    fault = descriptor.fault(*size, major_k=major_k)
    if fault:
        x.report(i, "descriptor", fault, everyone)
    places = descriptor.places(*size, major_k=major_k).reshape(-1)
    limit = x.batch.launch.shared_size
    if int(places.max()) + UNIT > limit:
        detail = f"a matrix up to byte {int(places.max()) + UNIT}, shared memory has {limit} bytes"
        addresses = np.full(x.count, places.max(), np.uint64)
        x.report(i, "out-of-bounds", detail, everyone, addresses, "shared")
        return None
    found: Array = (places + int(x.lanes.block[0]) * x.batch.shared_stride) // UNIT
    wrong = x.batch.warpgroups.other_swizzle(found, descriptor)
    if wrong and not fault:
        x.report(i, "swizzle", wrong, everyone)
    return found


def accumulators(x: Context, reads: list[Read], form: Form) -> Array:
    """D of each warpgroup."""
    words = np.stack([x.dense(read(x)) for read in reads], axis=0)
    values = elements(words.reshape(-1, 1), form.d)
    if form.d == "f16":
        pieces = values.reshape(-1, 2, x.count // THREADS, GROUP, 8, 4, 2).transpose(2, 3, 1, 4, 0, 5, 6)
    else:
        pieces = values.reshape(-1, 2, 2, x.count // THREADS, GROUP, 8, 4).transpose(3, 4, 1, 5, 0, 6, 2)
    return pieces.reshape(-1, M, form.n)


def give(x: Context, matrix: Array, form: Form, writes: list[Write]) -> None:
    """Round D of each warpgroup and write each thread's part of it."""
    if form.d == "s32":
        held = matrix.astype(np.int64).astype(np.uint32)
    else:
        held = np.asarray(narrow(matrix, form.d))
    pieces = held.reshape(-1, GROUP, 2, 8, form.n // 8, 4, 2)  # warpgroup, w, h, g, j, t, p
    if form.d == "f16":
        words = np.ascontiguousarray(pieces.transpose(4, 2, 0, 1, 3, 5, 6)).view(np.uint32)
    else:
        words = np.ascontiguousarray(pieces.transpose(4, 2, 6, 0, 1, 3, 5)).view(np.uint32)
    for write, row in zip(writes, words.reshape(len(writes), -1), strict=True):
        write(x, row)
