"""Loads and stores: addresses of lanes to bytes of allocations, with every check on the way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from .clusters import RANK
from .context import Context
from .memory import LOCAL_WINDOW, SHARED_WINDOW, WINDOW, Allocation
from .ptx import RAW, Array, Instruction

_ONES = {1: 0x01, 2: 0x0101, 4: 0x01010101, 8: 0x0101010101010101}
WRITTEN = {size: RAW[8 * size].type(ones) for size, ones in _ONES.items()}
NOT_BEGUN = "shared memory of a block that may not have begun: a barrier of the cluster is missing"
_SHIFT = np.uint64(40)


class Part(NamedTuple):
    """Accesses that fall into one allocation; ``rows`` says which of the lanes, None for all of them."""

    allocation: Allocation
    rows: Array | None
    addresses: Array


def window(addresses: Array) -> Array:
    """Of generic addresses: 1 for shared memory, 2 for local memory, else global."""
    return addresses >> _SHIFT


def resolve(x: Context, instruction: Instruction, space: str, addresses: Array, size: int) -> list[Part]:
    """Where accesses of ``size`` bytes fall. Bad ones are reported, and dropped."""
    rows: Array | None = None
    if size & (size - 1) == 0 and int(np.bitwise_or.reduce(addresses)) & (size - 1):
        bad = (addresses & np.uint64(size - 1)) != 0
        detail = f"an access of {size} bytes whose address is not a multiple of {size}"
        x.report(instruction, "misaligned", detail, bad, addresses, space)
        rows = np.flatnonzero(~bad)
        addresses = addresses[rows]
        if not len(rows):
            return []
    if space == "global":
        return _resolve_global(x, instruction, rows, addresses, size)
    if space == "shared::cluster":
        return _resolve_cluster(x, instruction, rows, addresses, size)
    if space == "shared":
        limit, allocation, base = x.batch.launch.shared_size, x.batch.shared, x.batch.shared_base
    else:
        limit, allocation, base = x.batch.local_size, x.batch.local, x.batch.local_base
    if int(addresses.max()) > limit - size:
        bad = addresses > np.uint64(limit - size) if limit >= size else np.ones(len(addresses), np.bool_)
        _out_of_bounds(x, instruction, rows, bad, addresses, space, f"{space} memory has {limit} bytes", size)
        good = np.flatnonzero(~bad)
        if not len(good):
            return []
        rows = good if rows is None else rows[good]
        addresses = addresses[good]
    mine = x.lanes.take(base)
    return [Part(allocation, rows, addresses + (mine if rows is None else mine[rows]))]


def _resolve_cluster(
    x: Context, instruction: Instruction, rows: Array | None, addresses: Array, size: int
) -> list[Part]:
    """Shared memory of any block of the cluster: above an address is its number plus one, or 0."""
    batch, shape = x.batch, x.batch.shape
    block = x.lanes.block if rows is None else x.lanes.block[rows]
    tag = (addresses >> np.uint64(RANK)).astype(np.intp)
    inside = addresses & np.uint64((1 << RANK) - 1)
    limit = batch.launch.shared_size
    bad = (tag > shape.cluster) | (inside.astype(np.int64) > limit - size)
    target = np.where((tag == 0) | bad, block, block - block % shape.cluster + tag - 1)
    if bad.any():
        where = f"shared memory has {limit} bytes, and the cluster {shape.cluster} blocks"
        _out_of_bounds(x, instruction, rows, bad, addresses, "shared", where, size)
    gone = (batch.alive_in_block[target] == 0) & (target != block) & ~bad
    if gone.any():
        detail = "shared memory of a block of the cluster that has ended"
        x.report(instruction, "cluster", detail, gone, addresses, "shared", rows)
    places = inside + target.astype(np.uint64) * np.uint64(batch.shared_stride)
    if batch.lifetimes is not None and (target != block).any():
        there = ~bad & ~gone
        lanes = (x.lanes.index if rows is None else x.lanes.index[rows])[there]
        early = np.zeros(len(places), np.bool_)
        early[there] = batch.lifetimes.access(instruction, lanes, target[there])
        if early.any():
            x.report(instruction, "cluster", NOT_BEGUN, early, addresses, "shared", rows)
    good = np.flatnonzero(~bad & ~gone)
    if len(good) == len(places):
        return [Part(batch.shared, rows, places)]
    if not len(good):
        return []
    return [Part(batch.shared, good if rows is None else rows[good], places[good])]


def plain(space: str) -> str:
    """A state space without the window of it: shared for shared::cluster."""
    return space.partition("::")[0]


def _out_of_bounds(
    x: Context,
    instruction: Instruction,
    rows: Array | None,
    bad: Array,
    addresses: Array,
    space: str,
    where: str,
    size: int,
) -> None:
    detail = f"an access of {size} bytes, {where}"
    x.report(instruction, "out-of-bounds", detail, bad, addresses, space, rows)


def _resolve_global(
    x: Context, instruction: Instruction, rows: Array | None, addresses: Array, size: int
) -> list[Part]:
    memory = x.batch.launch.memory
    low, high = int(addresses.min()), int(addresses.max())
    allocation = memory.find(low)
    if allocation is not None and high + size <= allocation.end:
        return [Part(allocation, rows, addresses)]
    parts: list[Part] = []
    left = np.arange(len(addresses))
    while len(left):
        mine = addresses[left]
        allocation = memory.find(int(mine.min()))
        if allocation is None:
            bad = mine == mine.min()
        else:
            inside = (mine >= np.uint64(allocation.base)) & (mine < np.uint64(allocation.end))
            bad = inside & (mine > np.uint64(max(0, allocation.end - size)))
            good = left[inside & ~bad]
            if len(good):
                parts.append(Part(allocation, good if rows is None else rows[good], addresses[good]))
        if bad.any():
            everyone = np.zeros(len(addresses), np.bool_)
            everyone[left[bad]] = True
            where = memory.describe(int(mine[int(np.argmax(bad))]))
            if allocation is not None:
                where = f"over the end of {allocation.name} ({allocation.size} bytes)"
            _out_of_bounds(x, instruction, rows, everyone, addresses, "global", where, size)
        left = left[~bad] if allocation is None else left[~inside]
    return parts


def load(
    x: Context, instruction: Instruction, space: str, addresses: Array, size: int, count: int
) -> list[Array]:
    """``count`` elements of ``size`` bytes behind each address, an array for each; 0 for bad accesses."""
    parts = resolve(x, instruction, space, addresses, size * count)
    space = plain(space)
    x.batch.launch.watch.access(x, instruction, space, "load", addresses, size * count, parts)
    if len(parts) == 1 and parts[0].rows is None:
        return _gather(x, instruction, space, parts[0], size, count)
    out = [np.zeros(x.count, RAW[size * 8]) for _ in range(count)]
    for part in parts:
        rows = slice(None) if part.rows is None else part.rows
        for whole, found in zip(out, _gather(x, instruction, space, part, size, count), strict=True):
            whole[rows] = found
    return out


def _gather(
    x: Context, instruction: Instruction, space: str, part: Part, size: int, count: int
) -> list[Array]:
    allocation = part.allocation
    places = allocation.places(part.addresses, size)
    if allocation.written is not None:
        check_written(x, instruction, space, part, places, size, count)
    view = allocation.view(size)
    return [view.take(places + element if element else places) for element in range(count)]


def check_written(
    x: Context, instruction: Instruction, space: str, part: Part, places: Array, size: int, count: int
) -> None:
    """Report the lanes that read bytes without a value."""
    view, ones = part.allocation.written_view(size), WRITTEN[size]
    unwritten: Array | None = None
    for element in range(count):
        missing = view.take(places + element if element else places) != ones
        if missing.any():
            unwritten = missing if unwritten is None else unwritten | missing
    if unwritten is None:
        return
    detail = f"bytes of {part.allocation.name} that nothing has written"
    addresses = own_addresses(x, space, part)
    x.report(instruction, "uninitialized-memory", detail, unwritten, addresses, space, part.rows)


def own_addresses(x: Context, space: str, part: Part) -> Array:
    """The addresses of a part in their state space, as the kernel sees them."""
    if space == "global":
        return part.addresses
    if space == "shared":
        return part.addresses % np.uint64(x.batch.shared_stride)
    base = x.lanes.take(x.batch.local_base)
    found: Array = part.addresses - (base if part.rows is None else base[part.rows])
    return found


def store(
    x: Context, instruction: Instruction, space: str, addresses: Array, size: int, values: Sequence[Array]
) -> None:
    """Write elements of ``size`` bytes behind each address; bad accesses write nothing."""
    parts = resolve(x, instruction, space, addresses, size * len(values))
    space = plain(space)

    def unchanged(part: Part) -> Array:
        """Whether a lane writes what is there anyway."""
        places, view = part.allocation.places(part.addresses, size), part.allocation.view(size)
        same = np.ones(len(part.addresses), np.bool_)
        for element, value in enumerate(values):
            mine = value if part.rows is None or not value.ndim else value[part.rows]
            same &= view[places + element] == mine
        return same

    width = size * len(values)
    x.batch.launch.watch.access(x, instruction, space, "store", addresses, width, parts, unchanged)
    for part in parts:
        allocation = part.allocation
        if not allocation.writable:
            whole = np.ones(x.count, np.bool_)
            x.report(instruction, "read-only", f"a write to {allocation.name}", whole, addresses, space)
            continue
        places = allocation.places(part.addresses, size)
        view = allocation.view(size)
        for element, value in enumerate(values):
            at = places + element if element else places
            mine = value if part.rows is None or not value.ndim else value[part.rows]
            view[at] = mine
            if space != "local" and len(at) > 1:
                _check_lost(x, instruction, space, part, view[at] != mine)
            if allocation.written is not None:
                allocation.written_view(size)[at] = WRITTEN[size]


def _check_lost(x: Context, instruction: Instruction, space: str, part: Part, lost: Array) -> None:
    """Report lanes whose value another lane of the same instruction has overwritten with a different one."""
    if lost.any():
        detail = "two threads write different values to one place at this instruction"
        x.report(instruction, "race", detail, lost, own_addresses(x, space, part), space, part.rows)


def by_space(x: Context, space: str, addresses: Array) -> Iterator[tuple[str, Array | slice, Array]]:
    """Addresses of a state space, or generic ones by the space they point to: which lanes, where in it.

    ``x`` has these lanes alone meanwhile.
    """
    if space != "generic":
        yield space, slice(None), addresses
        return
    parts, lanes = _by_window(addresses), x.lanes
    for found, rows, inside in parts:
        if len(parts) > 1:
            mask = np.zeros(lanes.count, np.bool_)
            mask[rows] = True
            x.enter(lanes.where(mask))
        yield found, rows, inside
    if len(parts) > 1:
        x.enter(lanes)


def _by_window(addresses: Array) -> list[tuple[str, Array | slice, Array]]:
    """Generic addresses by the state space they point to, each with the rows and the address in it."""
    low, high = int(addresses.min()), int(addresses.max())
    for space, base in (("shared", SHARED_WINDOW), ("local", LOCAL_WINDOW)):
        if low >= base and high < base + WINDOW:
            return [(_wide(space, high - base), slice(None), addresses - np.uint64(base))]
    if high < SHARED_WINDOW or low >= LOCAL_WINDOW + WINDOW:
        return [("global", slice(None), addresses)]
    number = window(addresses)
    found: list[tuple[str, Array | slice, Array]] = []
    is_shared, is_local = number == 1, number == 2
    for space, mask, base in (
        ("shared", is_shared, SHARED_WINDOW),
        ("local", is_local, LOCAL_WINDOW),
        ("global", ~(is_shared | is_local), 0),
    ):
        if mask.any():
            rows = np.flatnonzero(mask)
            inside = addresses[rows] - np.uint64(base)
            found.append((_wide(space, int(inside.max())), rows, inside))
    return found


def _wide(space: str, highest: int) -> str:
    """The window of shared memory in which an address is."""
    return "shared::cluster" if space == "shared" and highest >> RANK else space
