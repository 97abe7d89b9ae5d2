"""The layouts of a GPU program's tiles, as plain data: which thread holds which elements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from mlir import ir

from ..dialects.attributes import BY_THREADS, BY_WARPS, KERNEL, LAYOUT, MMA, SCHEDULE
from ..passes.gpu.layouts.boxes import TILE
from ..passes.gpu.layouts.tiles import is_uniform
from ..passes.locations import place_of
from ..passes.operations import nested_ops, ops_named
from ..runtime.cuda.chips import find_chip
from .accept import accept
from .compile import looking
from .cuda import cuda_stages
from .explain_copies import copies_of
from .stages import run_stages
from .user_passes import user_passes


def layouts_of_text(
    linalg_text: str,
    *,
    func_name: str = "main",
    chip: str,
    tf32: bool = False,
    passes: Sequence[str] = (),
    plugins: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """The tiles of each kernel of the module ``linalg_text`` in code for ``chip`` ("sm_80").

    ``tf32``, ``passes`` and ``plugins`` are those of `mlopt.pipelines.explain.explain_text`.
    Returns ``[{"name", "tiles": [{"op", "where", "type", "shape", "layout"}], "copies": […]}]`` in the order
    of the program; a kernel has no tiles if each thread runs a task of its own. "copies" is what `copies_of`
    says of it, and empty for one without products on tensor cores.
    """
    target = cuda_stages(chip, find_chip(chip).ptx, tf32=tf32)
    with looking(), user_passes(target, passes, plugins) as stages:
        module = accept(linalg_text, func_name)
        run_stages(module.operation, stages, stop_after="layouts")
        copies = copies_of(module.operation)
        return [
            {
                "name": (name := ir.StringAttr(function.attributes["sym_name"]).value),
                "tiles": list(_tiles(function.operation)),
                "copies": copies.get(name, []),
            }
            for function in module.body.operations
            if KERNEL.get(function.operation)
        ]


def _tiles(function: ir.Operation) -> Iterator[dict[str, Any]]:
    if any("tasks" in (SCHEDULE.get(forall) or {}) for forall in ops_named(function, "scf.forall")):
        return
    for op in nested_ops(function.regions[0].blocks[0]):
        for result, layout in zip(op.results, LAYOUT.get(op) or (), strict=False):
            if layout:
                yield {
                    "op": _words(op),
                    "where": place_of(op.location),
                    "type": str(result.type),
                    "shape": list(ir.VectorType(result.type).shape),
                    "layout": layout,
                }


def _words(op: ir.Operation) -> str:
    """What an op is, and how it is made."""
    if _moves(op):
        return f"{op.name} through shared memory"
    if "instruction" in op.attributes:
        made = f"{op.name} by {ir.StringAttr(op.attributes['instruction']).value}"
        return f"{made}, of what {_copier(op)}"
    if (instruction := MMA.get(op)) is None:
        return op.name
    reason = BY_WARPS.get(op)
    return f"{op.name} by {instruction}" + (f", not by warpgroups: {reason}" if reason else "")


def _copier(product: ir.Operation) -> str:
    """Who copies the factors of a product of warpgroups, and why not the engine for tensors."""
    reason = BY_THREADS.get(product)
    return f"threads copy: {reason}" if reason else "TMA copies"


def _moves(op: ir.Operation) -> bool:
    """Whether a tile changes hands: one scalar at all positions is in every thread already."""
    return op.name in ("mlopt.convert_layout", TILE) and not is_uniform(op.operands[0])
