"""memref.copy between strided buffers becomes loops over vectors; copies onto themselves go.

    memref.copy %a, %b : memref<4x40xf32> to memref<4x40xf32, strided<[48, 1], offset: 50>>

    scf.for %i = 0 to 4 {
      scf.for %j = 0 to 32 step 16 { %v = vector.load %a[%i, %j]; vector.store %v, %b[%i, %j] }
      scf.for %j = 32 to 40 step 1 { %v = memref.load %a[%i, %j]; memref.store %v, %b[%i, %j] }
    }

A copy between two contiguous buffers stays: it is lowered to memcpy. Any other would become a
call of `memrefCopy` of MLIR's C runner library, which no object of ours may need.
Where an innermost stride is not 1, elements go one by one. Legal for all ranked memrefs, which
do not overlap (memref.copy demands it).

Lowering: without it a strided copy leaves an undefined symbol. 2 ms of compile time for two GPT-2 blocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mlir import ir
from mlir.dialects import arith, memref, vector

from ..base import Pass
from ..constants import index_constant
from ..operations import ops_named
from .arena_layout import element_bytes
from .loops import empty_loop


@dataclass(frozen=True)
class CpuCopies(Pass):
    """Lower strided copies to vector loops and erase copies of a buffer onto itself."""

    name: ClassVar[str] = "mlopt-cpu-copies"

    vector_bytes: int = 64
    """The width of the vectors."""

    def run(self, op: ir.Operation) -> None:
        """Rewrite each memref.copy that is not a plain memcpy."""
        for copy in ops_named(op, "memref.copy"):
            source, target = copy.operands
            if source != target:
                if is_memcpy(source.type, target.type):
                    continue
                with copy.location:
                    _emit_copy(source, target, self.vector_bytes, ir.InsertionPoint(copy))
            copy.erase()


def is_memcpy(source: ir.Type, target: ir.Type) -> bool:
    """Whether both buffers are contiguous, or have no rank (then only the lowering can tell)."""
    types = (source, target)
    return any(isinstance(type_, ir.UnrankedMemRefType) for type_ in types) or all(map(_is_identity, types))


def _is_identity(type_: ir.MemRefType) -> bool:
    return type_.layout == ir.AffineMapAttr.get(ir.AffineMap.get_identity(type_.rank))


def _emit_copy(source: ir.Value, target: ir.Value, vector_bytes: int, place: ir.InsertionPoint) -> None:
    type_ = target.type
    ivs: list[ir.Value] = []
    for dim in range(type_.rank - 1):
        with place:
            loop = empty_loop(0, _extent(source, target, dim), 1)
        ivs.append(loop.induction_variable)
        place = ir.InsertionPoint.at_block_terminator(loop.body)
    with place:
        if type_.rank == 0:
            memref.store(memref.load(source, []), target, [])
            return
        _emit_row(source, target, ivs, max(1, vector_bytes // element_bytes(type_.element_type)))


def _emit_row(source: ir.Value, target: ir.Value, ivs: list[ir.Value], lanes: int) -> None:
    extent = _extent(source, target, len(ivs))
    start = index_constant(0)
    if _has_unit_stride(source.type) and _has_unit_stride(target.type) and lanes > 1:
        tail = arith.remui(extent, index_constant(lanes))
        middle = arith.subi(extent, tail)
        vectors = empty_loop(start, middle, lanes)
        with ir.InsertionPoint.at_block_terminator(vectors.body):
            position = [*ivs, vectors.induction_variable]
            type_ = ir.VectorType.get([lanes], target.type.element_type)
            vector.store(vector.load(type_, source, position), target, position)
        start = middle
    scalars = empty_loop(start, extent, 1)
    with ir.InsertionPoint.at_block_terminator(scalars.body):
        position = [*ivs, scalars.induction_variable]
        memref.store(memref.load(source, position), target, position)


def _has_unit_stride(type_: ir.MemRefType) -> bool:
    return bool(type_.get_strides_and_offset()[0][-1] == 1)


def _extent(source: ir.Value, target: ir.Value, dim: int) -> ir.Value:
    """The size of ``dim``, as a constant if one of the two types knows it."""
    for buffer in (source, target):
        if not buffer.type.is_dynamic_dim(dim):
            return index_constant(buffer.type.get_dim_size(dim))
    return memref.dim(source, index_constant(dim))
