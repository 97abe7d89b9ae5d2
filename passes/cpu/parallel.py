"""scf.forall over threads: tasks [lo, hi) in a function of their own, run through GOMP_parallel.

    func.func private @k(%a: memref<…>, %out: memref<…>, %threads: index {mlopt.threads}) {
      scf.forall (%i, %j) in (16, 8) { body }

    func.func private @k_tasks(%lo: index, %hi: index, %a: …, %out: …) {
      scf.for %i = %lo / 8 to ceil(%hi / 8) {
        scf.for %j = max(%lo - 8 * %i, 0) to min(%hi - 8 * %i, 8) { body }
      }
    }
    func.func private @k_thread(%payload: !llvm.ptr) {
      // what k_tasks takes, from the payload; this thread's balanced part of the tasks
      call @k_tasks(…)
    }
    func.func private @k(…, %threads) {
      scf.if (%n > 1) { call @GOMP_parallel(@k_thread, %payload, %n, 0) }   // threads, tasks and work allow n
      else { call @k_tasks(0, 128, …) }

The work in ns is estimated from the kernel's `mlopt.bytes` and `mlopt.flops`; a kernel with
too little of it for two threads becomes a plain loop nest, as does a single task. Which
thread runs a task changes no result: tasks write disjoint parts of the output.

Scratch buffers (memref.alloca) become the thread's own, and leave the loops so that the
stack does not grow. Legal for a scf.forall without results in a function that has the
number of threads (mlopt-cpu-entry). Measured: fork and join 0.9 µs while the workers are
hot, 8 to 26 µs when they sleep; hence `min-work`. Small tasks whose places each took two divisions take as
long as what they do: 256x1024 floats in turned order 41 µs on an AVX2 core, not 1773.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mlir import ir
from mlir.dialects import arith, func, memref, scf

from ...dialects.attributes import BYTES, FLOPS, THREADS
from ..base import Pass, PassError
from ..operations import ops_named
from .functions import defined_functions, marked_argument
from .grid import Grid, hoist_scratch, lower_to_nest
from .outline_tasks import OutlinedTasks, outline_tasks

BYTES_PER_NS = 20
FLOPS_PER_NS = 40
# A task of a kernel that says nothing about its work.
DEFAULT_TASK_NS = 1000


@dataclass(frozen=True)
class CpuParallel(Pass):
    """Run the tasks of scf.forall on several threads where the work is worth it."""

    name: ClassVar[str] = "mlopt-cpu-parallel"

    min_work: int = 10_000
    """The work in ns that a thread must have."""

    def run(self, op: ir.Operation) -> None:
        """Lower each scf.forall, and hoist the scratch buffers of the functions that had one."""
        for function in defined_functions(op):
            loops = ops_named(function, "scf.forall")
            for loop in loops:
                if loop.results:
                    raise PassError(
                        loop, "scf.forall has results; mlopt-cpu-parallel runs after bufferization"
                    )
                grid = Grid.of(loop.opview)
                if should_parallelize(function, grid, self.min_work):
                    _parallelize(op, function, grid, self.min_work)
                else:
                    lower_to_nest(grid)
            if loops:
                hoist_scratch(function)


def should_parallelize(function: func.FuncOp, grid: Grid, min_work: int) -> bool:
    """Whether two threads may pay: the number of threads is known here, and there may be work for two."""
    if marked_argument(function, THREADS) is None or grid.static_tasks in (0, 1):
        return False
    return _has_dynamic_work(function, grid) or _static_work(function, grid) >= 2 * min_work


def _has_dynamic_work(function: func.FuncOp, grid: Grid) -> bool:
    """Whether the work is known at run time only."""
    buffers = [kind for kind in function.type.inputs if isinstance(kind, ir.MemRefType)]
    return grid.static_tasks is None or not all(ir.MemRefType(kind).has_static_shape for kind in buffers)


def _static_work(function: func.FuncOp, grid: Grid) -> int:
    """Ns of work of one thread in the whole kernel, not counting its dynamic extents."""
    moved, flops = BYTES.get(function), FLOPS.get(function)
    if moved is None and flops is None:
        return DEFAULT_TASK_NS * (grid.static_tasks or 1)
    return max(1, (moved or 0) // BYTES_PER_NS + (flops or 0) // FLOPS_PER_NS)


def _parallelize(module: ir.Operation, function: func.FuncOp, grid: Grid, min_work: int) -> None:
    threads = marked_argument(function, THREADS)
    assert threads is not None
    outlined = outline_tasks(module, function, grid)
    with ir.InsertionPoint(grid.loop), grid.loop.location:
        index = ir.IndexType.get()
        count = _thread_count(function, grid, threads, min_work)
        many = arith.cmpi(arith.CmpIPredicate.ugt, count, arith.constant(index, 1))
        branch = scf.IfOp(many, has_else=True)
    _fill_branch(branch, grid, outlined, count)
    grid.loop.operation.erase()


def _thread_count(function: func.FuncOp, grid: Grid, threads: ir.Value, min_work: int) -> ir.Value:
    index = ir.IndexType.get()
    work = arith.constant(index, _static_work(function, grid))
    for extent in _dynamic_sizes(function, grid):
        work = arith.muli(work, extent)
    enough = arith.divui(work, arith.constant(index, min_work))
    return arith.minui(arith.minui(threads, grid.task_count()), enough)


def _dynamic_sizes(function: func.FuncOp, grid: Grid) -> list[ir.Value]:
    """The sizes that the work grows with: those of the grid, or of a buffer that has more of them.

    A task that runs along a row of unknown length has as much to do as the row is long.
    """
    sizes = grid.dynamic_extents
    for argument in function.entry_block.arguments:
        if isinstance(argument.type, ir.MemRefType):
            unknown = [dim for dim in range(argument.type.rank) if argument.type.is_dynamic_dim(dim)]
            if len(unknown) > len(sizes):
                index = ir.IndexType.get()
                sizes = [memref.dim(argument, arith.constant(index, dim)) for dim in unknown]
    return sizes


def _fill_branch(branch: scf.IfOp, grid: Grid, outlined: OutlinedTasks, count: ir.Value) -> None:
    with ir.InsertionPoint(branch.then_block), grid.loop.location:
        outlined.call_on_threads(count)
        scf.YieldOp([])
    with ir.InsertionPoint(branch.else_block), grid.loop.location:
        outlined.call_directly()
        scf.YieldOp([])
