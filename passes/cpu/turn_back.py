"""A kernel starts with what the kernel before it touched last, which the caches still hold.

    call @sum(%x, %s) : (memref<16777216xf32>, memref<64xf32>) -> ()      // from the first task to the last
    call @divide(%x, %s, %out) : …
  ->
    func.func private @divide(…) {
      scf.forall (%i) = (0) to (16777216) step (65536) {…} {mlopt.backward = 8 : i64}

mlopt-cpu-parallel runs the marked tasks from the last to the first, so many at a time, which go forward:
memory that is read in shorter pieces than `RUN` is slower. A kernel after a marked one runs forward again,
and so does the next call of the graph, which finds what this one touched last.

Legal: the tasks of an scf.forall may run in any order. Done where both kernels go through one large buffer
from its first row to its last, as their tasks are numbered, and memory decides how long that takes. Small
kernels between them do not matter. On one thread of a Zen 4 with 32 MB of L3, of f32 4096×4096: x / x.sum()
and (x - x.mean()) / x.std() take 0.94 of the time, x / x.abs().max() 0.96, softmax over all 0.98. On two
threads x / x.sum() takes as long as before, and so does it on one of 16, 32 and 256 MB.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, prod
from typing import ClassVar

from mlir import ir

from ...dialects.attributes import BACKWARD, BYTES, FLOPS, KERNEL
from ..base import Pass
from ..operations import defining_op, ops_named
from .arena_layout import element_bytes
from .functions import defined_functions, hosts_of
from .grid import Grid
from .parallel import BYTES_PER_NS, FLOPS_PER_NS
from .stream_stores import LARGE

SMALL = 1 << 20  # bytes: kernels that touch no more leave the caches as they are
RUN = 1 << 21  # bytes

_VIEWS = ("memref.collapse_shape", "memref.expand_shape", "memref.cast", "memref.reinterpret_cast")
# What touches a buffer, and which operand that is; the indices follow.
_ACCESSES = {
    "vector.load": 0,
    "vector.maskedload": 0,
    "memref.load": 0,
    "memref.prefetch": 0,
    "vector.store": 1,
    "vector.maskedstore": 0,
    "memref.store": 1,
}


@dataclass(frozen=True)
class CpuTurnBack(Pass):
    """Run the tasks of a kernel from the last to the first where that finds more in the caches."""

    name: ClassVar[str] = "mlopt-cpu-turn-back"

    def run(self, op: ir.Operation) -> None:
        """Mark kernels in the order of their calls; the first call of one decides."""
        kernels = {each.sym_name.value: each.operation for each in defined_functions(op) if KERNEL.get(each)}
        is_backward: dict[str, bool] = {}
        for host in hosts_of(op):
            touched: dict[ir.Value, bool] = {}  # by the kernel before: did it run backward?
            for call in ops_named(host, "func.call"):
                name = call.attributes["callee"].value
                if name in kernels and sum(map(_bytes_of, call.operands)) > SMALL:
                    walked = {_root(call.operands[number]) for number in _walked_by(kernels[name])}
                    if name not in is_backward:
                        ends = [backward for each, backward in touched.items() if each in walked]
                        is_backward[name] = should_turn(kernels[name]) and False in ends
                        if is_backward[name]:
                            _mark(kernels[name])
                    touched = dict.fromkeys(walked, is_backward[name])


def should_turn(kernel: ir.Operation) -> bool:
    """Whether memory decides how long the kernel takes."""
    return (FLOPS.get(kernel) or 0) // FLOPS_PER_NS < (BYTES.get(kernel) or 0) // BYTES_PER_NS


def can_turn(argument: ir.Value, grid: Grid) -> bool:
    """Whether tasks go through a buffer row by row: all that they touch depends on their first number."""
    shape, number = argument.type.shape, _slowest(grid)
    row = next((dim for dim, size in enumerate(shape) if size != 1), None)
    if number is None or row is None:
        return False
    for use in argument.uses:
        op = use.owner.operation
        if _ACCESSES.get(op.name) != use.operand_number:
            return False
        if not _depends_on(op.operands[use.operand_number + 1 + row], number):
            return False
    return True


def _walked_by(kernel: ir.Operation) -> dict[int, int]:
    """The bytes of each large argument, by number, that the tasks of a kernel go through."""
    loops = ops_named(kernel, "scf.forall")
    grid = Grid.of(loops[0].opview) if len(loops) == 1 else None
    if grid is None or not grid.static_tasks:
        return {}
    arguments = kernel.regions[0].blocks[0].arguments
    large = {each.arg_number: size for each in arguments if (size := _bytes_of(each)) >= LARGE}
    return {number: size for number, size in large.items() if can_turn(arguments[number], grid)}


def _slowest(grid: Grid) -> ir.Value | None:
    """The number of the task along the first dim of a static grid that has several."""
    bounds = zip(grid.lower, grid.upper, grid.step, grid.loop.induction_variables, strict=True)
    return next((number for low, high, step, number in bounds if high - low > step), None)


def _depends_on(value: ir.Value, wanted: ir.Value) -> bool:
    seen, left = {value}, [value]
    while left:
        op = defining_op(left.pop())
        found = set() if op is None else set(op.operands) - seen
        seen |= found
        left += found
    return wanted in seen


def _mark(kernel: ir.Operation) -> None:
    (loop,) = ops_named(kernel, "scf.forall")
    tasks = Grid.of(loop.opview).static_tasks
    assert tasks is not None
    BACKWARD.set(loop, ceil(RUN * tasks / max(_walked_by(kernel).values())))


def _root(value: ir.Value) -> ir.Value:
    """The buffer that a value is a view of."""
    while (view := defining_op(value, *_VIEWS)) is not None:
        value = view.operands[0]
    return value


def _bytes_of(value: ir.Value) -> int:
    kind = value.type
    if not isinstance(kind, ir.MemRefType) or not kind.has_static_shape:
        return 0
    return prod(kind.shape) * element_bytes(kind.element_type)
