"""A kernel is one scf.forall (two if it sums up parts), private, without calls, allocates scratch only."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from mlir import ir

from ...dialects.attributes import KERNEL, SCHEDULE, SLOW, SUMS
from ..operations import nested_ops
from ..powers import power_above
from .problem import Problem

# What may stand beside the scf.forall: sizes, constants, and how arguments are looked at.
_OUTSIDE = frozenset((
    "affine.apply", "affine.max", "affine.min", "func.return", "memref.alloca", "memref.cast", "memref.dim",
    "memref.get_global", "memref.load", "tensor.cast", "tensor.dim", "tensor.extract", "ub.poison",
    "vector.broadcast",
))  # fmt: skip
_ALLOCATING = frozenset((
    "bufferization.alloc_tensor", "gpu.alloc", "llvm.alloca", "memref.alloc", "memref.realloc",
    "tensor.empty",
))  # fmt: skip
_CALLS = ("func.call", "func.call_indirect", "llvm.call", "llvm.invoke")


def is_tiled_kernel(function: ir.Operation) -> bool:
    """Whether ``function`` is a kernel that tile rules took."""
    return KERNEL.name in function.attributes and SLOW.name not in function.attributes


def problems(function: ir.Operation, scratch: int) -> Iterator[Problem]:
    """What is wrong with the kernel ``function``, its scf.forall's body aside."""
    if not _is_private(function):
        yield Problem(function, "a kernel must be private")
    top = [op.operation for op in function.regions[0].blocks[0].operations]
    foralls = [op for op in top if op.name == "scf.forall"]
    schedules = [mark.get(function) for mark in (SCHEDULE, SUMS) if mark.name in function.attributes] or [
        None
    ]
    wanted = "two, its parts and their sums" if SUMS.name in function.attributes else "one scf.forall"
    allowed = 2 if SUMS.name in function.attributes else 1
    if len(foralls) != allowed and len(top) > 1:  # a kernel without elements is its return alone
        yield Problem(function, f"a kernel must be {wanted}, this one has {len(foralls)}")
    for op in top:
        if op.name != "scf.forall" and op.name not in _OUTSIDE and not op.name.startswith("arith."):
            yield Problem(op, f"'{op.name}' may not stand in a kernel beside its scf.forall")
    for forall, schedule in zip(foralls, [*schedules, None], strict=False):
        yield from _loop_problems(forall, schedule)
    yield from _memory_problems(function, scratch)


def _is_private(function: ir.Operation) -> bool:
    attributes = function.attributes
    return "sym_visibility" in attributes and ir.StringAttr(attributes["sym_visibility"]).value == "private"


def _loop_problems(forall: ir.Operation, on_function: dict[str, tuple[int, ...]] | None) -> Iterator[Problem]:
    lower = list(ir.DenseI64ArrayAttr(forall.attributes["staticLowerBound"]))
    steps = list(ir.DenseI64ArrayAttr(forall.attributes["staticStep"]))
    if any(bound != 0 for bound in lower):
        yield Problem(forall, "a kernel's scf.forall must start at 0 in each dimension")
    if any(step <= 0 for step in steps):
        yield Problem(forall, "a kernel's scf.forall must have constant steps, its tile sizes")
    on_loop = SCHEDULE.get(forall)
    if on_function is not None and on_loop is not None and on_function != on_loop:
        yield Problem(forall, f"the scf.forall's schedule {on_loop} is not its function's, {on_function}")


def _memory_problems(function: ir.Operation, limit: int) -> Iterator[Problem]:
    used = 0
    for op in nested_ops(function):
        if op.name in _CALLS:
            yield Problem(op, "a kernel may not call functions")
        elif op.name in _ALLOCATING:
            yield Problem(op, f"a kernel may allocate scratch only, by memref.alloca, not by '{op.name}'")
        elif op.name.startswith(("arith.", "math.")) and op.name != "arith.constant" and _makes_tensor(op):
            yield Problem(op, "a kernel computes vectors and scalars: a tensor would be a buffer of its own")
        elif op.name == "memref.get_global" and not _is_constant(op):
            yield Problem(op, "a kernel may read constants: another global is shared by all of its tasks")
        elif op.name == "memref.alloca":
            size = _bytes_of(op)
            if size is None:
                yield Problem(op, "a kernel's scratch must have a constant size")
            if not _is_dense(op.results[0].type):
                yield Problem(op, "a kernel's scratch lies in rows without gaps: give it no layout")
            if op.parent.operation.name not in ("func.func", "scf.forall"):
                yield Problem(
                    op, "a kernel's scratch stands outside of loops: each turn would take more of it"
                )
            used += size or 0
    if used > limit:
        yield Problem(function, f"the kernel's scratch takes {used} bytes, {limit} are allowed")


def _is_dense(memref: ir.MemRefType) -> bool:
    return bool(memref.affine_map == ir.AffineMap.get_identity(memref.rank))


def _makes_tensor(op: ir.Operation) -> bool:
    return any(isinstance(result.type, (ir.RankedTensorType, ir.UnrankedTensorType)) for result in op.results)


def _is_constant(get: ir.Operation) -> bool:
    """Whether the global that an op asks for is one, in the symbol table around it."""
    table = get.parent
    while table.operation.name != "builtin.module":
        table = table.operation.parent
    name = ir.FlatSymbolRefAttr(get.attributes["name"]).value
    return "constant" in ir.SymbolTable(table.operation)[name].attributes


def _bytes_of(alloca: ir.Operation) -> int | None:
    """The bytes of a buffer, as the llvm lowering stores it; None if its size is not constant."""
    memref = alloca.results[0].type
    element = _element_bytes(memref.element_type)
    if not memref.has_static_shape or element is None:
        return None
    size, alignment = int(prod(memref.shape)) * element, alloca.attributes.get("alignment")
    return size if alignment is None else _up_to(size, ir.IntegerAttr(alignment).value)


def _up_to(size: int, multiple: int) -> int:
    return -(-size // multiple) * multiple


def _element_bytes(element: ir.Type) -> int | None:
    if isinstance(element, ir.VectorType):
        return None if element.scalable else _vector_bytes(element)
    if isinstance(element, ir.ComplexType):
        part = _element_bytes(element.element_type)
        return None if part is None else 2 * part
    if isinstance(element, ir.IndexType):
        return 8
    if not isinstance(element, (ir.IntegerType, ir.FloatType)):
        return None
    return power_above((element.width + 7) // 8)  # an i24 is stored in 4 bytes


def _vector_bytes(vector: ir.VectorType) -> int:
    """Its lanes lie side by side, those of an i1 in bits, and are aligned to a power of two."""
    *outer, lanes = [*vector.shape] or [1]
    width = 64 if isinstance(vector.element_type, ir.IndexType) else vector.element_type.width
    return int(prod(outer)) * power_above((lanes * width + 7) // 8)
