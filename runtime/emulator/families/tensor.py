"""cp.async.bulk.tensor: boxes of tensors, by tensor maps. Section 9.7.9.25."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import gcd

import numpy as np

from .. import boxes
from ..access import Part
from ..box_elements import filled, loaded, open_when_stored
from ..bulk import Combine, Fetch, Store, fetch
from ..context import Context
from ..decode import Decoder
from ..errors import EmulatorError, unsupported
from ..operands import Read
from ..ptx import TYPES, Array, Instruction, Memory, Vector
from ..registry import Run, Step, control, instruction
from ..slices import bytes_of_slice, padded, sliced, unknown
from ..tensor_maps import ALIGN, SIZE, SWIZZLES, TensorMap, check
from .atomic import OPERATIONS
from .bulk import (
    BULK,
    Lane,
    barrier_places,
    combine_of,
    each_lane,
    multicast,
    shared_offset,
    shared_place,
    write_global,
)
from .mbarrier import object_place

Place = tuple[int, ...]


class Coordinates:
    """The operand ``[tensorMap, {c, w, h}]``, and the offsets of im2col."""

    def __init__(
        self,
        i: Instruction,
        d: Decoder,
        where: Memory,
        offsets: Vector | None = None,
        *,
        writes: bool = False,
    ) -> None:
        at = where.more[0]
        items = at.items if isinstance(at, Vector) else (at,)
        self.instruction, self.d, self.writes = i, d, writes
        self.address = d.address(Memory(where.base))
        self.rank = int(next(mod for mod in i.mods if mod in ("1d", "2d", "3d", "4d", "5d"))[0])
        if len(items) != self.rank:
            raise d.fail(f"{len(items)} coordinates of {self.rank}")
        self.coordinates: list[Read] = [d.read(item, TYPES["s32"]) for item in items]
        self.offsets: list[Read] = [d.read(item, TYPES["u16"]) for item in offsets.items] if offsets else []
        self.im2col = i.has("im2col", "im2col_no_offs")
        if self.im2col and (self.rank < 3 or (i.has("im2col") and len(self.offsets) != self.rank - 2)):
            raise d.fail("im2col with other than 3 to 5 dimensions and an offset for each of the pixels")

    def boxes(self, x: Context) -> Iterator[tuple[Lane, TensorMap, Place, Place]]:
        """Each lane whose map fits: its map, where its box is, and its offsets."""
        addresses, places = self.address(x), _stacked(x, self.coordinates)
        shifts = [tuple(each) for each in _stacked(x, self.offsets)] if self.offsets else None
        for row, at in enumerate(places):
            lane = Lane(x, row)
            known = self._box(lane, int(addresses[row]), tuple(at))
            if known is not None:
                yield lane, *known, shifts[row] if shifts else (0,) * max(0, self.rank - 2)

    def _box(self, lane: Lane, address: int, at: Place) -> tuple[TensorMap, Place] | None:
        """The map at an address, and where its box is; None, which is reported, if it does not fit."""
        i = self.instruction
        allocation = lane.x.batch.launch.memory.find(address)
        if address % ALIGN:
            lane.report(i, "misaligned", f"a tensor map whose address is not a multiple of {ALIGN}")
            return None
        if allocation is None or address + SIZE > allocation.end:
            lane.report(i, "out-of-bounds", "a tensor map outside of every allocation")
            return None
        start = address - allocation.base
        part = Part(allocation, np.zeros(1, np.intp), np.array([address], np.uint64))
        lane.x.batch.launch.watch.tensor_map(lane.x, i, part)
        found, why = _decoded(allocation.data[start : start + SIZE].tobytes())
        if found is None:
            lane.report(i, "tensor-map", why)
        elif found.rank != self.rank or found.im2col != self.im2col:
            mode = "an im2col" if found.im2col else "a tiled"
            lane.report(i, "tensor-map", f"{mode} map of {found.rank} dimensions, for {self.rank}d here")
        else:
            return self._known(found, at)
        return None

    def _known(self, box: TensorMap, at: Place) -> tuple[TensorMap, Place]:
        """Refuse what the ISA leaves open; slices of channels become a dimension."""
        row, size = box.counts[0] * box.element, bytes_of_slice(box) // box.element
        why = ""
        if size:
            why = unknown(box, writes=self.writes) or (
                f"channels from {at[0]} on, of slices of {size}" if at[0] % size else ""
            )
        elif box.swizzle != "none" and row != int(box.swizzle[:-1]):
            why = f"rows of {row} bytes in a swizzle of {box.swizzle}, whose distance the ISA leaves open"
        if why:
            raise unsupported(self.instruction, BULK, why)
        return sliced(box, at) if size else (box, at)


def _stacked(x: Context, reads: list[Read]) -> list[list[int]]:
    """The values of some operands, by lanes."""
    found: list[list[int]] = np.stack([x.dense(read(x)).astype(np.int64) for read in reads], axis=1).tolist()
    return found


@lru_cache(256)
def _decoded(raw: bytes) -> tuple[TensorMap | None, str]:
    """The map in 128 bytes, or why they are none: a kernel may have made it."""
    found = TensorMap.decode(raw)
    if found is None:
        return None, "the 128 bytes there are no tensor map"
    try:
        check(found)
    except EmulatorError as error:
        return None, str(error)
    return found, ""


def _elements(box: TensorMap, at: Place, offsets: Place) -> tuple[Array, Array, int]:
    """The addresses in global memory of a box's units, their places in the box, and the bytes of a unit."""
    addresses, good = boxes.rows(box, at, offsets)
    first, last = boxes.inside(box, at[0])
    start, size, row = first * box.element, (last - first) * box.element, box.counts[0] * box.element
    begin = addresses + (at[0] + first) * box.element
    if size <= 0 or not good.any():
        none = np.zeros(0, np.int64)
        return none, none, box.element
    unit = min(8, gcd(gcd(size, start), 16, *(int(value) for value in np.unique(begin[good] & 15))))
    steps = np.arange(0, size, unit)
    places = np.flatnonzero(good)[:, None] * row + start + steps[None, :]
    return (begin[good][:, None] + steps[None, :]).reshape(-1), places.reshape(-1), unit


def _moved(box: TensorMap, data: Array, place: int, *, back: bool = False) -> Array:
    """The bytes of a box as they are in shared memory, or from there ``back`` in order."""
    if box.swizzle == "none":
        return data
    which = boxes.swizzled(box, place, len(data))
    units = data.reshape(-1, boxes.UNIT)
    out = np.empty_like(units)
    if back:
        out[which] = units
    else:
        out[:] = units[which]
    return out.reshape(-1)


def _order(box: TensorMap, sources: Array, places: Array) -> int:
    """The number of the swizzle of a box in shared memory and 1; 0 if nothing says in which order it is.

    What lies together in global memory, and is copied so, may have been swizzled there.
    """
    apart = sources - places
    if box.swizzle == "none" and not (apart != apart[:1]).any():
        return 0
    return 1 + SWIZZLES.index(box.swizzle)


@control("cp.async.bulk.tensor", "cp.reduce.async.bulk.tensor", section=BULK + ".tensor", kind="async copy")
def tensor(i: Instruction, d: Decoder) -> Step:
    """Copies a box of a tensor between global and shared memory, or adds it up."""
    operands = list(i.operands)
    if i.has("cta_group::1", "cta_group::2"):
        raise d.fail("for pairs of blocks, which sm_100 has")
    first = operands[0]
    if isinstance(first, Memory) and first.more:
        return _store(i, d, first)
    there, where = shared_offset(d, first), operands[1]
    place_of = object_place(i, d, operands[2], remote=True)
    more = operands[3:]
    offsets = more.pop(0) if i.has("im2col") else None
    assert isinstance(where, Memory) and (offsets is None or isinstance(offsets, Vector))
    tensor_at = Coordinates(i, d, where, offsets)
    mask_of = d.read(more.pop(0), TYPES["u16"]) if i.has("multicast::cluster") else None

    def load(x: Context) -> None:
        places, barriers = there(x), barrier_places(x, i, place_of)
        masks = None if mask_of is None else x.dense(mask_of(x))
        stride = x.batch.shared_stride
        for lane, box, start, shifts in tensor_at.boxes(x):
            row, size = lane.row, box.size
            place = shared_place(lane, i, int(places[row]), size, 128, remote=True)
            if place < 0 or barriers[row] < 0:
                continue
            sources, which, unit = _elements(box, start, shifts)
            data = filled(box, size)
            if len(sources):
                found = fetch(lane.x, i, sources.astype(np.uint64), unit)
                data.reshape(-1, unit)[which // unit] = loaded(box, found).reshape(-1, unit)
            if not padded(box, start, data):
                detail = f"{box.padding} channels of the last slice are none, and memory is not zeros there"
                lane.report(i, "tensor-map", detail)
            order = _order(box, sources, which)
            mask = None if masks is None else int(masks[row])
            for to, barrier in multicast(lane, i, mask, place, int(barriers[row])):
                moved = _moved(box, data, to % stride)
                reads = Fetch(sources.astype(np.uint64), unit)
                x.batch.bulk.load(lane.x, i, to, moved, barrier, barrier // stride, source=reads)
                x.batch.bulk.swizzles[to // 16 : (to + size) // 16] = order

    return each_lane(i, d, load)


def _store(i: Instruction, d: Decoder, where: Memory) -> Step:
    tensor_at = Coordinates(i, d, where, writes=True)
    inside = shared_offset(d, i.operands[1])
    operation = next((mod for mod in i.mods if mod in OPERATIONS), "") if i.has("reduce") else ""

    def store(x: Context) -> None:
        places = inside(x)
        for lane, box, start, shifts in tensor_at.boxes(x):
            place = shared_place(lane, i, int(places[lane.row]), box.size, 128)
            if place < 0:
                continue
            taken = x.batch.bulk.take(lane.x, i, place, box.size)
            data = _moved(box, taken, place % x.batch.shared_stride, back=True)
            targets, which, unit = _elements(box, start, shifts)
            if operation and unit != box.element:
                targets, which = _split(targets, unit, box.element), _split(which, unit, box.element)
                unit = box.element
            mine = np.ascontiguousarray(data.reshape(-1, unit)[which // unit]).reshape(-1)
            combine = _combine(i, d, box, mine, operation)
            write, good, values = write_global(lane, i, targets.astype(np.uint64), unit, mine, combine)
            x.batch.bulk.store(Store(i, lane.number, place, box.size, good, unit, write, values))

    return each_lane(i, d, store)


def _combine(i: Instruction, d: Decoder, box: TensorMap, data: Array, operation: str) -> Combine | None:
    """What a reduction does with the elements there; None of a copy. Refuses what the ISA leaves open."""
    why = open_when_stored(box, data)
    if operation and box.type.startswith("tf32"):
        why = f"a reduction of {box.type}, which the ISA leaves open"
    if why:
        raise unsupported(i, BULK, why)
    return combine_of(operation, TYPES[box.type.removesuffix(".ftz")], d) if operation else None


def _split(places: Array, unit: int, size: int) -> Array:
    """Places of units as places of the elements in them."""
    return (places[:, None] + np.arange(0, unit, size)).reshape(-1)


@instruction("cp.async.bulk.prefetch.tensor", section=BULK + ".prefetch.tensor", kind="other")
def prefetch(i: Instruction, d: Decoder) -> Run:
    """A hint for the L2 cache; its tensor map must be right."""
    offsets = i.operands[1] if i.has("im2col") else None
    assert isinstance(i.operands[0], Memory) and (offsets is None or isinstance(offsets, Vector))
    tensor_at = Coordinates(i, d, i.operands[0], offsets)

    def run(x: Context) -> None:
        for _ in tensor_at.boxes(x):
            pass

    return run
