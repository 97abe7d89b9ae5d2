"""Offsets for buffers in one block of memory, by lifetime; sizes may be known at run time only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mlir import ir
from mlir.dialects import arith

from ..constants import index_constant
from .lifetimes import Lifetime
from .slices import clone_value

ALIGNMENT = 64


@dataclass(frozen=True)
class Request:
    """A buffer that ``op`` needs: ``static_bytes`` times the product of ``sizes``."""

    op: ir.Operation
    live: Lifetime
    static_bytes: int
    sizes: tuple[ir.Value, ...] = ()


@dataclass(frozen=True)
class Layout:
    """Where each request lies: static ones from 0 on, then one slot after the other for the rest."""

    offsets: Mapping[int, int]
    slots: tuple[tuple[Request, ...], ...]
    requests: tuple[Request, ...]
    static_bytes: int

    @staticmethod
    def of(requests: list[Request]) -> Layout:
        """Pack the requests; buffers that are never live together may share bytes."""
        static = [(number, request) for number, request in enumerate(requests) if not request.sizes]
        offsets, total = _pack(static)
        slots = _slots([request for request in requests if request.sizes])
        return Layout(offsets, slots, tuple(requests), total)

    @property
    def is_static(self) -> bool:
        """Whether the workspace has a size that is known now."""
        return not self.slots

    def emit(self, copies: dict[ir.Value, ir.Value]) -> tuple[list[ir.Value], ir.Value]:
        """Index values at the current insertion point: the offset of each request, and the bytes in all."""
        end = index_constant(self.static_bytes)
        slot_offsets: dict[int, ir.Value] = {}
        for slot in self.slots:
            for request in slot:
                slot_offsets[id(request)] = end
            end = arith.addi(end, _aligned(_largest(slot, copies)))
        placed = [
            slot_offsets[id(request)] if request.sizes else index_constant(self.offsets[number])
            for number, request in enumerate(self.requests)
        ]
        return placed, end


def element_bytes(type_: ir.Type) -> int:
    """The bytes of one element in a buffer, as the llvm lowering stores it."""
    if isinstance(type_, ir.IndexType):
        return 8
    if isinstance(type_, ir.ComplexType):
        return 2 * element_bytes(type_.element_type)
    return max(1, type_.width // 8)


def _pack(requests: list[tuple[int, Request]]) -> tuple[dict[int, int], int]:
    """Largest first, each at the lowest offset where nothing that lives at the same time lies."""
    offsets: dict[int, int] = {}
    placed: list[tuple[int, int, Lifetime]] = []
    for number, request in sorted(requests, key=lambda item: -item[1].static_bytes):
        size = -(-request.static_bytes // ALIGNMENT) * ALIGNMENT
        offset = 0
        for start, end, live in sorted(placed, key=lambda item: item[0]):
            if not live.overlaps(request.live) or end <= offset:
                continue
            if start >= offset + size:
                break
            offset = end
        offsets[number] = offset
        placed.append((offset, offset + size, request.live))
    return offsets, max((end for _, end, _ in placed), default=0)


def _slots(requests: list[Request]) -> tuple[tuple[Request, ...], ...]:
    slots: list[list[Request]] = []
    for request in sorted(requests, key=lambda item: item.live.first):
        free = [slot for slot in slots if not any(other.live.overlaps(request.live) for other in slot)]
        if free:
            free[0].append(request)
        else:
            slots.append([request])
    return tuple(tuple(slot) for slot in slots)


def _largest(slot: tuple[Request, ...], copies: dict[ir.Value, ir.Value]) -> ir.Value:
    largest: ir.Value | None = None
    for request in slot:
        size = index_constant(request.static_bytes)
        for extent in request.sizes:
            size = arith.muli(size, clone_value(extent, copies))
        largest = size if largest is None else arith.maxui(largest, size)
    assert largest is not None
    return largest


def _aligned(size: ir.Value) -> ir.Value:
    unit = index_constant(ALIGNMENT)
    return arith.muli(arith.ceildivui(size, unit), unit)
