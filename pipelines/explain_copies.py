"""How factors come to what multiplies them on a GPU, and results leave, as data: rings, roles, pairs."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from mlir import ir

from ..dialects.attributes import BY_THREADS, BY_WARPS, MMA, SCHEDULE, STORED_BY_THREADS
from ..passes.gpu.grids import grids_of
from ..passes.gpu.layouts.access import bytes_of
from ..passes.gpu.layouts.boxes import TILE
from ..passes.gpu.layouts.warpgroup import HELD, PRODUCT, WARPS
from ..passes.gpu.layouts.warps import consumers_of, producers_of, warps_of
from ..passes.operations import defining_op, nested_ops

_LOAD = "mlopt.tma_load"
_WARPGROUPS = (PRODUCT, HELD)


def copies_of(module: ir.Operation) -> dict[str, list[dict[str, Any]]]:
    """What ``module``, whose tiles have layouts, says of each kernel that multiplies on tensor cores.

    By the kernel's name, for each grid of blocks::

        {"multiply": {"unit": "warpgroup" (wgmma) or "warp" (mma.sync), "count", "registers"},
         "copy": the same or None, "tma": whether it copies,
         "why": the reasons why warpgroups do not multiply, or why threads copy for them, and not TMA,
         "rings": [{"type", "stages", "bytes", "both"}], "barriers": [{"slots", "arrivals"}],
         "cluster": blocks, "persistent": blocks or None, "consumers": tiles at once,
         "stores": [{"type", "why"}]}

    ``copy`` are warps that do nothing else, None where those that multiply ask for copies. ``registers`` are
    what setmaxnreg gives a thread, None where all have as many. ``both``: a block copies its part of it to
    all of its cluster. ``arrivals``: how many the mbarrier of a slot waits for until it is full and, where
    there are roles, until it has been read; of those by which warpgroups take turns, until it is one's turn.
    ``persistent``: the most blocks of a launch, which make tile after tile; None where each makes one;
    ``consumers``: how many of those that multiply take turns with these. ``stores`` are the results of
    warpgroups, and why threads store them; None where TMA does.
    """
    found: dict[str, list[dict[str, Any]]] = {}
    for forall in grids_of(module):
        ops = nested_ops(forall)
        if any(op.name in _WARPGROUPS or MMA.name in op.attributes for op in ops):
            name = ir.StringAttr(forall.parent.attributes["sym_name"]).value
            found.setdefault(name, []).append(_copies(forall, ops))
    return found


def _copies(forall: ir.Operation, ops: Sequence[ir.Operation]) -> dict[str, Any]:
    given = _named(ops, "mlopt.set_registers")
    registers = {bool(_integer(op, "more")): _integer(op, "count") for op in given}
    reasons = [reason for op in ops for mark in (BY_WARPS, BY_THREADS) if (reason := mark.get(op))]
    producers, consumers = producers_of(forall), consumers_of(forall)
    in_groups = any(op.name in _WARPGROUPS for op in ops)
    return {
        "multiply": _role(consumers * warps_of(forall), in_groups, registers.get(True)),
        "copy": _role(producers, producers == WARPS, registers.get(False)) if producers else None,
        "tma": bool(_named(ops, _LOAD)),
        "why": list(dict.fromkeys(reasons)),
        "rings": [_ring(op) for op in _named(ops, "mlopt.shared_ring")],
        "barriers": [_barriers(op) for op in _named(ops, "mlopt.tma_barriers")],
        "cluster": (SCHEDULE.get(forall) or {}).get("cluster", (1,))[0],
        "persistent": next(iter((SCHEDULE.get(forall) or {}).get("persistent", ())), None),
        "consumers": consumers,
        "stores": [found for op in _named(ops, "vector.transfer_write") if (found := _store(op)) is not None],
    }


def _role(warps: int, in_groups: bool, registers: int | None) -> dict[str, Any]:
    unit, count = ("warpgroup", warps // WARPS) if in_groups else ("warp", warps)
    return {"unit": unit, "count": count, "registers": registers}


def _ring(op: ir.Operation) -> dict[str, Any]:
    """A ring's tiles; those that are copied once, as attention's queries, have one stage."""
    kind = ir.MemRefType(op.results[0].type)
    stages, *sizes = kind.shape
    loads = [use.owner for use in op.results[0].uses if use.owner.name == _LOAD]
    return {
        "type": _type(sizes, op.results[0]),
        "stages": stages,
        "bytes": prod(kind.shape) * bytes_of(kind.element_type),
        "both": any("both" in load.attributes for load in loads),
    }


def _store(write: ir.Operation) -> dict[str, Any] | None:
    """A result of warpgroups; None if another part of the program, as sums of parts, writes it."""
    tile, why = write.operands[0], STORED_BY_THREADS.get(write)
    if why is None and defining_op(tile, TILE) is None:
        return None
    return {"type": _type(ir.VectorType(tile.type).shape, tile), "why": why}


def _barriers(op: ir.Operation) -> dict[str, Any]:
    slots = ir.MemRefType(op.results[0].type).shape[0]
    return {"slots": slots, "arrivals": list(ir.DenseI64ArrayAttr(op.attributes["arrivals"]))}


def _type(sizes: Sequence[int], tile: ir.Value) -> str:
    return "x".join([*map(str, sizes), str(ir.ShapedType(tile.type).element_type)])


def _integer(op: ir.Operation, name: str) -> int:
    return ir.IntegerAttr(op.attributes[name]).value


def _named(ops: Sequence[ir.Operation], name: str) -> list[ir.Operation]:
    return [op for op in ops if op.name == name]
