"""Layouts: which thread of a block holds which elements of a tile, in which of its registers.

    position(reg, lane, warp) = registers[reg] + Σ lane bit i · bits[i] + Σ warp bit j · bits[5 + j]

A thread's number within its block is ``32 * warp + lane``; each of its bits moves the position by a
constant step, and so does each *axis* of registers. Steps add up and are not wrapped: a layout may cover
more than its tile, and what lies outside is nobody's element. A thread bit whose step is zero makes copies:
threads that differ in that bit hold the same elements. Printed, a layout is

    reg 4:(4,0) 2:(0,128) 4:(0,1) lane 32:(0,4) warp 4:(1,0)

where ``extent:step`` stands for ``extent`` positions, ``step`` apart. Registers are numbered with their last
axis fastest, threads with their first bit lowest, so that ``lane 32:(0,4)`` is five bits of steps 4, 8, …

This is the value's layout. Where an element lies in shared memory is the buffer's affair: see `wavefronts`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product
from math import gcd

LANE_BITS = 5  # of a warp of 32
WARP = 1 << LANE_BITS

Position = tuple[int, ...]

_TEXT = re.compile(r"\s*reg(?P<reg>[^a-z]*)lane(?P<lane>[^a-z]*)warp(?P<warp>[^a-z]*)$")
_AXIS = re.compile(r"(\d+):\(([-\d,\s]*)\)")


@dataclass(frozen=True)
class Axis:
    """``extent`` positions, ``step`` apart."""

    extent: int
    step: Position

    def __str__(self) -> str:
        return f"{self.extent}:({','.join(map(str, self.step))})"


@dataclass(frozen=True)
class Layout:
    """The registers of every thread, and the step of each bit of a thread's number, lanes first."""

    rank: int
    registers: tuple[Axis, ...]
    bits: tuple[Position, ...]

    def __post_init__(self) -> None:
        steps = [axis.step for axis in self.registers] + list(self.bits)
        if any(len(step) != self.rank for step in steps):
            raise ValueError(f"a layout of rank {self.rank} has steps of another rank: {steps}")
        if len(self.bits) < LANE_BITS:
            raise ValueError(f"a layout has at least {LANE_BITS} thread bits, not {len(self.bits)}")

    # -- text --

    def __str__(self) -> str:
        registers = _merged_registers(self.registers)
        parts = ["reg", *map(str, registers)]
        parts += ["lane", *map(str, _axes_of_bits(self.bits[:LANE_BITS], self.rank))]
        parts += ["warp", *map(str, _axes_of_bits(self.bits[LANE_BITS:], self.rank))]
        return " ".join(parts)

    @staticmethod
    def parse(text: str) -> Layout:
        """The layout that `str` writes as ``text``; ValueError if it is none."""
        return _parse(text)

    # -- positions --

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return 1 << len(self.bits)

    @cached_property
    def register_positions(self) -> tuple[Position, ...]:
        """What each register adds to a position, in the order of the registers."""
        choices = [[_scaled(axis.step, number) for number in range(axis.extent)] for axis in self.registers]
        return tuple(_total(steps, self.rank) for steps in product(*choices))

    def thread_position(self, thread: int) -> Position:
        """What a thread adds to a position."""
        return _total((step for bit, step in enumerate(self.bits) if thread >> bit & 1), self.rank)

    @cached_property
    def lane_positions(self) -> tuple[Position, ...]:
        """`thread_position` of the first warp's lanes."""
        return tuple(self.thread_position(lane) for lane in range(WARP))

    @cached_property
    def covered(self) -> Position:
        """Along each dim, one more than the last position."""
        last = [(axis.extent - 1, axis.step) for axis in self.registers] + [(1, step) for step in self.bits]
        return tuple(1 + sum(count * step[dim] for count, step in last) for dim in range(self.rank))

    def thread_reach(self, dim: int) -> int:
        """The largest number that a thread adds along ``dim``."""
        return sum(self.thread_steps[dim])

    @cached_property
    def thread_steps(self) -> tuple[tuple[int, ...], ...]:
        """For each dim what each bit of a thread's number adds along it."""
        return tuple(zip(*self.bits, strict=True))

    @property
    def copies(self) -> int:
        """The mask of the thread bits that make copies."""
        return sum(1 << bit for bit, step in enumerate(self.bits) if not any(step))

    def run(self, dim: int) -> int:
        """Neighbours along ``dim`` that each thread has in its registers, from a multiple of their number."""
        return self._runs[dim]

    @cached_property
    def _runs(self) -> Position:
        return tuple(map(self._run, range(self.rank)))

    def _run(self, dim: int) -> int:
        width = 1
        along = {axis.step[dim]: axis.extent for axis in self.registers if _only(axis.step, dim)}
        while width in along:
            extent = along.pop(width)
            width *= extent & -extent
            if extent & (extent - 1):
                break
        others = [*along, *(step[dim] for step in self.bits)]
        return gcd(width, *others)

    # -- other layouts --

    def select(self, dims: Sequence[int | None]) -> Layout:
        """The layout over ``dims`` of this one, None for dims of one element; what falls away is copies.

        Covers broadcasts (of a value that lacks dims of the result), reductions, transposes and unit dims.
        """

        def picked(step: Position) -> Position:
            return tuple(0 if dim is None else step[dim] for dim in dims)

        registers = [Axis(axis.extent, picked(axis.step)) for axis in self.registers]
        kept = tuple(axis for axis in registers if any(axis.step))
        return Layout(len(dims), kept, tuple(picked(step) for step in self.bits))

    def spread_out(self, dim: int, factor: int) -> Layout:
        """The layout whose positions along ``dim`` are ``factor`` times those of this one."""

        def longer(step: Position) -> Position:
            return tuple(size * factor if at == dim else size for at, size in enumerate(step))

        axes = tuple(Axis(axis.extent, longer(axis.step)) for axis in self.registers)
        return Layout(self.rank, axes, tuple(map(longer, self.bits)))

    def cut(self, dim: int, parts: int) -> Layout | None:
        """The layout of the first of ``parts`` along ``dim``; None if threads have not as much of each."""
        if parts == 1:
            return self
        along = [axis for axis in self.registers if _only(axis.step, dim)]
        last = max(along, key=lambda axis: axis.step[dim], default=None)
        if last is None or last.extent % parts or last.extent * last.step[dim] != self.covered[dim]:
            return None
        axes = [Axis(axis.extent // parts, axis.step) if axis is last else axis for axis in self.registers]
        return Layout(self.rank, tuple(axis for axis in axes if axis.extent > 1), self.bits)

    @cached_property
    def striped(self) -> Layout:
        """The same positions, of which neighbouring lanes have neighbours as far as each lane had some.

        Along each dim a run of ``n`` neighbours, behind which the next lanes have theirs, becomes ``n``
        positions that are as far apart as there are such lanes. What it becomes follows from the layout along
        that dim alone: tiles that share dims still fit each other.
        """
        axes, bits = list(self.registers), list(self.bits)
        for dim in range(self.rank):
            run, places = self.run(dim), [step[dim] for step in self.bits[:LANE_BITS]]
            lanes = 0
            while run << lanes in places:
                lanes += 1
            own = [at for at, axis in enumerate(axes) if 0 < axis.step[dim] < run]
            if any(axes[at].extent * axes[at].step[dim] > run for at in own):
                continue
            for at in own:
                axes[at] = Axis(axes[at].extent, _scaled(axes[at].step, 1 << lanes))
            for at in range(lanes):
                bit = places.index(run << at)
                bits[bit] = _unit(self.rank, dim, 1 << at)
        return Layout(self.rank, tuple(axes), tuple(bits))

    def same_place(self, other: Layout) -> bool:
        """Whether each thread holds the same positions in both, in whatever registers."""
        return self.bits == other.bits and set(self.register_positions) == set(other.register_positions)


@lru_cache(maxsize=1024)
def _parse(text: str) -> Layout:
    match = _TEXT.match(text)
    if match is None:
        raise ValueError(f"not a layout: '{text}'; write 'reg … lane … warp …'")
    registers, lanes, warps = (_parse_axes(match[key]) for key in ("reg", "lane", "warp"))
    ranks = {len(axis.step) for axis in (*registers, *lanes, *warps)}
    if len(ranks) != 1:
        raise ValueError(f"the steps of a layout differ in rank: '{text}'")
    bits = [_bits_of(axes, text) for axes in (lanes, warps)]
    if len(bits[0]) != LANE_BITS:
        raise ValueError(f"the lanes of a layout must be {WARP}: '{text}'")
    return Layout(ranks.pop(), tuple(registers), (*bits[0], *bits[1]))


def _merged_registers(axes: Iterable[Axis]) -> list[Axis]:
    """Neighbouring axes as one where that is the same: ``2:(0,2) 2:(0,1)`` is ``4:(0,1)``."""
    merged: list[Axis] = []
    for axis in axes:
        if axis.extent == 1:
            continue
        if merged and merged[-1].step == _scaled(axis.step, axis.extent):
            axis = Axis(merged.pop().extent * axis.extent, axis.step)
        merged.append(axis)
    return merged


def _axes_of_bits(bits: Sequence[Position], rank: int) -> list[Axis]:
    axes: list[Axis] = []
    for step in bits:
        if axes and step == _scaled(axes[-1].step, axes[-1].extent):
            axes[-1] = Axis(2 * axes[-1].extent, axes[-1].step)
        else:
            axes.append(Axis(2, step))
    return axes or [Axis(1, (0,) * rank)]


def _bits_of(axes: Sequence[Axis], text: str) -> list[Position]:
    bits: list[Position] = []
    for axis in axes:
        if axis.extent & (axis.extent - 1) or axis.extent < 1:
            raise ValueError(f"lanes and warps come in powers of two, not {axis.extent}: '{text}'")
        bits += [_scaled(axis.step, 1 << bit) for bit in range(axis.extent.bit_length() - 1)]
    return bits


def _parse_axes(text: str) -> list[Axis]:
    rest = _AXIS.sub("", text).strip()
    if rest:
        raise ValueError(f"not an axis of a layout: '{rest}'; write 'extent:(step,…)'")
    return [
        Axis(int(extent), tuple(int(part) for part in step.split(",") if part.strip()))
        for extent, step in _AXIS.findall(text)
    ]


def _scaled(step: Position, factor: int) -> Position:
    return tuple(part * factor for part in step)


def _unit(rank: int, dim: int, size: int) -> Position:
    return tuple(size if at == dim else 0 for at in range(rank))


def _total(steps: Iterable[Position], rank: int) -> Position:
    total = [0] * rank
    for step in steps:
        total = [one + other for one, other in zip(total, step, strict=True)]
    return tuple(total)


def _only(step: Position, dim: int) -> bool:
    return all((part != 0) == (at == dim) for at, part in enumerate(step))


# -- memory --

BANKS, BANK_BYTES = 32, 4


def wavefronts(addresses: Sequence[int | None], width: int) -> int:
    """The passes over shared memory that one access of a warp takes.

    ``addresses`` are the bytes' at which the lanes' accesses of ``width`` bytes begin, None for lanes that
    take no part. Accesses of 8 and 16 bytes go by half and quarter warps; in each, every bank gives one
    4-byte word to all lanes that ask for it. (CUDA C++ Programming Guide, "Shared Memory", compute
    capability 5.0 and later.)
    """
    share = phase_lanes(width)
    total = 0
    for first in range(0, len(addresses), share):
        words: dict[int, set[int]] = {}
        for address in addresses[first : first + share]:
            if address is None:
                continue
            for word in range(address // BANK_BYTES, (address + width - 1) // BANK_BYTES + 1):
                words.setdefault(word % BANKS, set()).add(word)
        total += max(map(len, words.values()), default=0)
    return total


def phase_lanes(width: int) -> int:
    """The lanes of a warp whose accesses of ``width`` bytes may share a pass over shared memory."""
    return max(WARP * BANK_BYTES // max(width, BANK_BYTES), 1)


SECTOR_BYTES = 32
LINE_BYTES = 4 * SECTOR_BYTES  # of the caches


def sectors(addresses: Sequence[int], width: int) -> int:
    """The 32-byte pieces of global memory that one access of a warp touches."""
    return len(
        {
            sector
            for address in addresses
            for sector in range(address // SECTOR_BYTES, (address + width - 1) // SECTOR_BYTES + 1)
        }
    )
