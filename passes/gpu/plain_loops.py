"""Kernels without a tile rule become loops whose iterations run one a thread.

Before, a kernel marked mlopt.slow after convert-linalg-to-parallel-loops::

    func.func private @kernel_0_add(%x: memref<5x5xf16>, %out: memref<5xf16>) attributes {mlopt.kernel, …} {
      scf.parallel (%i) = (%c0) to (%c5) step (%c1) {
        %v = memref.load %x[%i, %i]
        …
        memref.store %s, %out[%i]

After::

    func.func private @kernel_0_add(…) attributes {mlopt.kernel, …} {
      scf.forall (%i) in (5) { … } {mlopt.schedule = {tasks = array<i64: 128>, warps = array<i64: 4>, …}}

``tasks`` in a schedule says how many tasks a block runs, one a thread. A loop nest that follows another in
one kernel gets a kernel of its own, `…_then_1`, launched after it: blocks do not wait for each other. What is
outside of parallel loops runs on one thread.

Legal for kernels without an scf.forall whose buffers are arguments. The slow path: right, with coalesced
accesses only by luck.

Lowering: kernels that no tile rule takes do not compile without it; others are the same instructions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from mlir import ir
from mlir.dialects import scf

from ...dialects.attributes import KERNEL, SCHEDULE
from ..base import Pass, PassError
from ..constants import integer_of
from ..operations import callee_of, ops_named

WARPS = 4
THREADS = 32 * WARPS
_SHARED = ("arith.", "math.", "affine.", "memref.dim", "memref.load", "memref.cast", "ub.")


@dataclass(frozen=True)
class PlainLoops(Pass):
    """Let each thread run an iteration of the parallel loops of kernels without tiles."""

    name: ClassVar[str] = "mlopt-gpu-plain-loops"

    def run(self, op: ir.Operation) -> None:
        """Rewrite the kernels that have no scf.forall."""
        for function in list(op.regions[0].blocks[0].operations):
            if KERNEL.get(function.operation) and not ops_named(function, "scf.forall"):
                split(op, function.operation)


def split(module: ir.Operation, function: ir.Operation) -> None:
    """One kernel for each part of ``function`` that has to be complete before the next begins."""
    for alloc in ops_named(function, "memref.alloc", "memref.alloca"):
        raise PassError(alloc, "a kernel on the slow path needs memory of its own, which a GPU's cannot have")
    count = len(_parts(function))
    name = ir.StringAttr(function.attributes["sym_name"]).value
    names = [name] + [f"{name}_then_{number}" for number in range(1, count)]
    copies = [function]
    for after in names[1:]:
        copy = function.clone(ir.InsertionPoint.after(copies[-1])).operation
        copy.attributes["sym_name"] = ir.StringAttr.get(after)
        copies.append(copy)
    for number, copy in enumerate(copies):
        _keep(copy, number)
    for call in ops_named(module, "func.call"):
        if callee_of(call) == name:
            _call_all(call, names[1:])


def _parts(function: ir.Operation) -> list[list[ir.Operation]]:
    """The ops with an effect: each parallel loop alone, what is between two of them together."""
    parts: list[list[ir.Operation]] = []
    open_part = False
    for op in list(function.regions[0].blocks[0].operations)[:-1]:
        if op.operation.name == "scf.parallel":
            parts.append([op.operation])
            open_part = False
        elif not op.operation.name.startswith(_SHARED):
            if not open_part:
                parts.append([])
            parts[-1].append(op.operation)
            open_part = True
    return parts


def _keep(function: ir.Operation, number: int) -> None:
    """Leave only part ``number``, as an scf.forall."""
    parts = _parts(function)
    for other in (op for at, part in enumerate(parts) if at != number for op in reversed(part)):
        other.erase()
    part = parts[number] if parts else []
    with function.location:
        if len(part) == 1 and part[0].name == "scf.parallel":
            _as_forall(part[0])
        else:
            _as_one_task(function, part)


def _as_forall(loop: ir.Operation) -> None:
    rank = len(loop.regions[0].blocks[0].arguments)
    lower, upper, steps = (list(loop.operands)[at * rank : (at + 1) * rank] for at in range(3))
    if any(integer_of(value) != 0 for value in lower) or any(integer_of(value) != 1 for value in steps):
        raise PassError(loop, "a parallel loop on the slow path runs from 0 in steps of 1")
    bounds = [value if integer_of(value) is None else integer_of(value) for value in upper]
    with ir.InsertionPoint(loop):
        forall = task_loop(bounds)
    body = loop.regions[0].blocks[0]
    for argument, new in zip(body.arguments, forall.induction_variables, strict=True):
        argument.replace_all_uses_with(new)
    _move(list(body.operations)[:-1], forall)
    loop.erase()


def _as_one_task(function: ir.Operation, part: Sequence[ir.Operation]) -> None:
    end = function.regions[0].blocks[0].operations[-1]
    with ir.InsertionPoint(part[0] if part else end):
        forall = task_loop([1])
    _move(part, forall)


def task_loop(bounds: Sequence[int | ir.Value]) -> scf.ForallOp:
    """An empty loop whose iterations run one a thread."""
    forall = scf.ForallOp([0] * len(bounds), list(bounds), [1] * len(bounds), [])
    with ir.InsertionPoint(forall.body):
        scf.InParallelOp()
    SCHEDULE.set(forall.operation, {"min_blocks": (1,), "tasks": (THREADS,), "warps": (WARPS,)})
    return forall


def _move(ops: Sequence[ir.OpView | ir.Operation], forall: scf.ForallOp) -> None:
    end = forall.body.operations[-1]
    for op in ops:
        op.operation.move_before(end.operation)


def _call_all(call: ir.Operation, names: Sequence[str]) -> None:
    """Call the kernels that follow the first, in their order."""
    for name in reversed(names):
        copy = call.clone(ir.InsertionPoint.after(call)).operation
        copy.attributes["callee"] = ir.FlatSymbolRefAttr.get(name)
