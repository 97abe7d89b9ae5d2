"""Turn the tiles of a kernel into loops over strips that fit the vector registers.

A strip is at most four native registers along one dim (the lane), for a few unrolled
positions of the others. A tile of 8 x 1000 floats, read, scaled and written:

    scf.forall (%i) = (0) to (1001) step (8) {
      %v = vector.transfer_read %x[%i, %c0] … : memref<1001x1000xf32>, vector<8x1000xf32>
      %w = arith.mulf %v, %half : vector<8x1000xf32>
      vector.transfer_write %w, %out[%i, %c0] … : vector<8x1000xf32>, memref<1001x1000xf32>
    }

becomes

    scf.forall (%i) = (0) to (1001) step (8) {
      scf.for %r = %c0 to min(8, 1001 - %i) step %c1 {
        scf.for %c = %c0 to %c1000 step %c64 {       // the last strip starts at 936
          %v = vector.load %x[%i + %r, %c] : vector<64xf32>
          %w = arith.mulf %v, %half
          vector.store %w, %out[%i + %r, %c]
        }
      }
    }

Legal for tile IR on memrefs with identity layout whose written buffers do not overlap the ones
that are read. No result depends on how the extent divides into strips: a reduction's order is
fixed by the tile (`strips/reduce.py`), a contraction adds in the order of k, and lanes past the
end are neutral. Only contractions use fma; a*b+c elsewhere is rounded twice.

Effect: softmax 4096x1024 in 1.2 ms where whole rows as vectors take 2.9 ms and seconds to
compile; a matmul's accumulators stay in registers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from mlir import ir
from mlir.dialects import scf

from ..base import Pass, PassError
from .strips.dims import tile_ops
from .strips.emitter import Emitter
from .strips.fragment import Fragment, is_vector
from .strips.layout import Layout
from .strips.nest import emit_nest, plan_nest
from .strips.scratch import plan_scratches

# Erased with the tiles once nothing uses them: they have no effect.
_PURE = ("arith.", "math.", "vector.", "affine.", "memref.load", "memref.dim", "scf.for")


@dataclass(frozen=True)
class StripMine(Pass):
    """``vector-bits``: the width of the machine's vector registers."""

    name: ClassVar[str] = "mlopt-cpu-strip-mine"
    vector_bits: int = 512

    def run(self, op: ir.Operation) -> None:
        """Strip-mine each scf.forall that has tiles in it."""
        for forall in list(_foralls(op)):
            check_tiles(forall)
            with forall.location:
                strip_mine(forall, self.vector_bits)


def _foralls(op: ir.Operation) -> Iterator[scf.ForallOp]:
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                if inner.operation.name == "scf.forall":
                    yield inner
                else:
                    yield from _foralls(inner.operation)


def check_tiles(forall: scf.ForallOp) -> None:
    """Refuse what is not tile IR on memrefs."""
    if len(forall.results):
        raise PassError(forall, "strip-mine: the scf.forall still has tensor results; bufferize first")
    for op in tile_ops(forall.region.blocks[0]):
        if op.operation.name not in ("vector.transfer_read", "vector.transfer_write"):
            continue
        kind = op.base.type
        if not isinstance(kind, ir.MemRefType):
            raise PassError(op, "strip-mine: a transfer on a tensor; bufferize first")
        if not kind.layout.is_identity if hasattr(kind.layout, "is_identity") else not _identity(kind):
            raise PassError(op, "strip-mine: the buffer of a transfer must have the identity layout")
        if op.mask is not None:
            raise PassError(op, "strip-mine: a masked transfer; tile IR has none")


def _identity(kind: ir.MemRefType) -> bool:
    return kind.affine_map == ir.AffineMap.get_identity(kind.rank)


def strip_mine(forall: scf.ForallOp, vector_bits: int) -> None:
    """Emit the loops for everything that the body writes or asserts; then drop the tiles."""
    block = forall.region.blocks[0]
    ops = list(block.operations)[:-1]
    if not any(is_vector(value) for op in tile_ops(block) for value in (*op.results, *op.operands)):
        return
    layout = Layout(block)
    mine_block(Emitter(block, layout), layout, ops, vector_bits)
    for op in reversed(ops):
        written = op.operation.name in ("vector.transfer_write", "cf.assert") or _has_roots(op)
        unused = all(not list(result.uses) for result in op.results)
        if written or (unused and op.operation.name.startswith(_PURE)):
            op.operation.erase()


def _has_roots(op: ir.OpView) -> bool:
    return op.operation.name == "scf.for" and any(
        inner.operation.name == "vector.transfer_write" for inner in tile_ops(op.regions[0].blocks[0]))


def mine_block(em: Emitter, layout: Layout, ops: Sequence[ir.OpView], vector_bits: int) -> None:
    """Emit what these ops write or assert, in their order."""
    roots: list[ir.OpView] = []
    for op in ops:
        name = op.operation.name
        if name == "vector.transfer_write":
            roots.append(op)
        elif name == "cf.assert":
            emit_assert(em, op)
        elif _has_roots(op):
            emit_writes(em, layout, ops, roots, vector_bits)
            roots = []
            mine_loop(em, layout, op, vector_bits)
    emit_writes(em, layout, ops, roots, vector_bits)


def mine_loop(em: Emitter, layout: Layout, op: scf.ForOp, vector_bits: int) -> None:
    """A loop of the tile IR that writes tiles: kept around the loops over their strips."""
    if len(op.results):
        raise PassError(op, "strip-mine: a loop that writes tiles cannot carry values")
    lower, upper, step = (em.scalar(operand) for operand in op.operands)
    with em.loop(lower, upper, step, source=op) as loop:
        em.remember(op.induction_variable, (), Fragment({(): loop.induction_variable}))
        mine_block(em, layout, list(op.body.operations)[:-1], vector_bits)


def emit_assert(em: Emitter, op: ir.OpView) -> None:
    """A check on a scalar, which may come from tiles."""
    condition = em.scalar(op.operands[0])
    with em.here():
        ir.Operation.create("cf.assert", [], [condition], {"msg": op.attributes["msg"]}, loc=op.location)


def emit_writes(em: Emitter, layout: Layout, ops: Sequence[ir.OpView], roots: Sequence[ir.OpView], vector_bits: int) -> None:
    """One loop nest for each group of tiles that are written at the same place of equal buffers."""
    groups: dict[object, list[ir.OpView]] = {}
    for root in roots:
        key = (tuple(root.indices), str(root.base.type.shape), str(root.attributes["permutation_map"]),
               str(root.attributes["in_bounds"]), tuple(root.valueToStore.type.shape))
        groups.setdefault(key, []).append(root)
    for group in groups.values():
        values = [root.valueToStore for root in group]
        em.scratches = plan_scratches(layout, ops, values)
        emit_nest(em, group, plan_nest(layout, group[0], vector_bits))
        em.scratches = {}
