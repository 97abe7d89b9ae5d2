"""Tensor maps that a kernel changes: tensormap.replace, and the fences of their proxy."""

from __future__ import annotations

import numpy as np

from .. import access
from ..context import Context
from ..decode import Decoder
from ..errors import EmulatorError
from ..ptx import RAW, Array, Instruction, Memory, Number
from ..registry import Run, instruction
from ..tensor_map_fields import FIELDS, replaced
from ..tensor_maps import ALIGN, SIZE
from .barrier import SYNC
from .memory import memory_space

_ORDERED = ("box_dim", "global_dim", "global_stride", "element_stride")
_WORDS = SIZE // 8
_MAPS = "9.7.9 Data Movement and Conversion: tensormap"


def _fields(i: Instruction) -> str:
    return next(mod for mod in i.mods if mod in FIELDS)


@instruction("tensormap.replace", section=_MAPS + ".replace", kind="store")
def replace(i: Instruction, d: Decoder) -> Run:
    """Changes one field of a tensor map in memory."""
    where, kind, field = i.operands[0], i.types[-1], _fields(i)
    assert isinstance(where, Memory)
    address, space = d.address(where), memory_space(i, d, where)
    place = i.operands[1] if field in _ORDERED else Number(0)
    if not isinstance(place, Number) or len(i.operands) != (3 if field in _ORDERED else 2):
        raise d.fail(f"of {field}, with a place that is no constant")
    value, at = d.read(i.operands[-1], kind), int(place.value)

    def run(x: Context) -> None:
        addresses, values = address(x), x.dense(value(x))
        for found, rows, inside in access.by_space(x, space, addresses):
            _replace(x, i, found, inside, field, at, values[rows])

    return run


def _replace(
    x: Context, i: Instruction, space: str, addresses: Array, field: str, at: int, values: Array
) -> None:
    words = np.stack(access.load(x, i, space, addresses, 8, _WORDS), axis=1)
    out = words.copy()
    for row, value in enumerate(values.tolist()):
        bad = np.arange(x.count) == row
        if int(addresses[row]) % ALIGN:
            x.report(i, "misaligned", f"a tensor map whose address is not a multiple of {ALIGN}", bad)
            continue
        try:
            changed = replaced(words[row].tobytes(), field, at, value)
        except EmulatorError as error:
            x.report(i, "tensor-map", str(error), bad)
            continue
        if changed is None:
            x.report(i, "tensor-map", "the 128 bytes there are no tensor map", bad)
            continue
        out[row] = np.frombuffer(changed, RAW[64])
    access.store(x, i, space, addresses, 8, [np.ascontiguousarray(out[:, word]) for word in range(_WORDS)])


@instruction("tensormap.cp_fenceproxy", section=_MAPS + ".cp_fenceproxy", kind="store", sync=True)
def copy(i: Instruction, d: Decoder) -> Run:
    """Copies a tensor map from shared to global memory, with the fence that releases it."""
    to, source, scope = d.address(i.operands[0]), d.address(i.operands[1]), _scope(i)

    def run(x: Context) -> None:
        targets, sources, lanes = to(x), source(x), x.lanes
        first = np.zeros(lanes.count, np.bool_)
        first[lanes.starts] = True
        x.enter(lanes.where(first))
        words = access.load(x, i, "shared", sources[first], 8, _WORDS)
        access.store(x, i, "global", targets[first], 8, words)
        x.batch.launch.watch.maps.release(x, scope)
        x.enter(lanes)
        x.batch.launch.watch.warp_barrier(x, np.full(lanes.count, 0xFFFFFFFF, np.uint32))

    return run


@instruction("fence.proxy.tensormap::generic", section=SYNC + ": fence.proxy", kind="barrier")
def fence(i: Instruction, d: Decoder) -> Run:
    """Orders what a kernel writes to tensor maps and copies by them, which read them by another path."""
    scope = _scope(i)
    if i.has("release"):
        return lambda x: x.batch.launch.watch.maps.release(x, scope)
    address, size = d.address(i.operands[0]), i.operands[1]
    if not isinstance(size, Number) or int(size.value) != SIZE:
        raise d.fail("of other than 128 bytes")
    return lambda x: x.batch.launch.watch.maps.acquire(x, scope, address(x))


def _scope(i: Instruction) -> str:
    return next(mod for mod in i.mods if mod in ("cta", "cluster", "gpu", "sys"))
