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

Legal for tile IR on memrefs that are contiguous along the innermost dim, where no written buffer
overlaps one that is read. No result depends on how the extent divides into strips: a reduction's order is
fixed by the tile (`strips/reduce.py`), a contraction adds in the order of k, and lanes past the
end are neutral. Only contractions use fma; a*b+c elsewhere is rounded twice.

Effect (one Zen 4 core): softmax 4096x1024 in 1.7 ms where whole rows as vectors take 2.9 ms and
seconds to compile; matmul 1024^3 at 110 GFLOP/s, convolutions at 110 to 122, of 117:
products with padding are left out.
While a large row is stored whose sums were made before, the next one is asked for
(`strips/prefetch_row.py`): softmax of 16 MiB on a Zen 5 core in 0.61 of the time. So it is in the last loop
over a row that is only reduced: var, argmax and short rows' sums of exponentials in 0.65 to 1.06 of the time.
Of long rows one loop finds the maximum and the sum of exponentials (`strips/online.py`): cross-entropy of 512
rows of 131072 on a Zen 4 in 0.73. A product asks for its next rows, and the lines of its result
(`strips/prefetch_tile.py`): 2048^3 on a Zen 4 core in 0.96. Elements of rows compared with each other have
lanes along those that are counted (`strips/own_reads.py`), and so has a sum that only an assert asks for:
sorting 256 rows of 64 on an AVX2 core in 0.31. Totals of rows (`strips/scan.py`) are carried from strip to
strip: of 1024 rows of 256 floats on a Zen 3 core in 134 us, eager in 251, by reductions over parts in 512.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from mlir import ir
from mlir.dialects import scf

from ..base import Pass, PassError
from ..combining import scanned_dim
from ..operations import nested_ops, ops_named
from .strips.dims import Dim
from .strips.emitter import Emitter
from .strips.fragment import Fragment, is_vector, sizes_of
from .strips.guests import guest_of
from .strips.layout import Layout
from .strips.memory import lie_apart
from .strips.nest import emit_nest, full_lanes, plan_nest
from .strips.own_reads import separate_reads
from .strips.scalars import emit_assert
from .strips.scan import scans_behind
from .strips.scratch import plan_scratches

# Erased with the tiles once nothing uses them: they have no effect.
_PURE = ("arith.", "math.", "vector.", "affine.", "memref.load", "memref.dim", "scf.for")


@dataclass(frozen=True)
class StripMine(Pass):
    """``vector-bits``: the width of the machine's vector registers."""

    name: ClassVar[str] = "mlopt-cpu-strip-mine"
    vector_bits: int = 512

    def run(self, op: ir.Operation) -> None:
        """Strip-mine each task that has tiles in it."""
        for owner, block in list(task_blocks(op)):
            check_tiles(block)
            with owner.location:
                strip_mine(block, self.vector_bits)
        for constant in ops_named(op, "arith.constant"):
            if is_vector(constant.results[0]) and not list(constant.results[0].uses):
                constant.erase()


def task_blocks(op: ir.Operation) -> Iterator[tuple[ir.OpView, ir.Block]]:
    """The bodies of the scf.foralls; a kernel of one task has none, its function is the task."""
    for inner in ops_named(op, "scf.forall", "func.func"):
        if not len(inner.regions[0].blocks):
            continue
        block = inner.regions[0].blocks[0]
        if inner.name == "scf.forall" or any(_has_roots(task) for task in block.operations):
            yield inner.opview, block


def check_tiles(block: ir.Block) -> None:
    """Refuse what is not tile IR on memrefs."""
    for op in ops_named(block, "vector.transfer_read", "vector.transfer_write"):
        base = op.opview.base
        if not isinstance(base.type, ir.MemRefType):
            raise PassError(op, "strip-mine: a transfer on a tensor; bufferize first")
        strides = base.type.get_strides_and_offset()[0]
        if strides and strides[-1] != 1:
            raise PassError(op, "strip-mine: memory must be contiguous along its innermost dim")
        if op.opview.mask is not None:
            raise PassError(op, "strip-mine: a masked transfer; tile IR has none")


def strip_mine(block: ir.Block, vector_bits: int) -> None:
    """Emit the loops for everything that a task writes or asserts; then drop the tiles."""
    if not any(is_vector(value) for op in nested_ops(block) for value in (*op.results, *op.operands)):
        return
    layout = Layout(block)
    if separate_reads(block, layout.classes):
        layout = Layout(block)
    ops = list(block.operations)[:-1]
    mine_block(Emitter(block, layout, vector_bits), layout, ops, vector_bits)
    for op in reversed(ops):
        written = op.operation.name == "cf.assert" or _has_roots(op)
        unused = all(not list(result.uses) for result in op.results)
        if written or (unused and op.operation.name.startswith(_PURE)):
            op.operation.erase()


def _has_roots(op: ir.OpView) -> bool:
    """Whether an op writes a tile, or is a loop that does."""
    name = op.operation.name
    return name == "vector.transfer_write" or (
        name == "scf.for" and any(_has_roots(inner) for inner in op.regions[0].blocks[0].operations)
    )


def mine_block(em: Emitter, layout: Layout, ops: Sequence[ir.OpView], vector_bits: int) -> None:
    """Emit what these ops write or assert, in their order."""
    roots: list[ir.OpView] = []
    for op in ops:
        name = op.operation.name
        if name == "vector.transfer_write":
            roots.append(op)
        elif name == "cf.assert":
            em.lanes = full_lanes(layout, op.operands[0], vector_bits)
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


def emit_writes(
    em: Emitter, layout: Layout, ops: Sequence[ir.OpView], roots: Sequence[ir.OpView], vector_bits: int
) -> None:
    """A loop nest for the largest tile that is written, with those that fit into it; so until all are."""
    waiting = list(roots)
    while waiting:
        group = _independent(layout, waiting)
        main = max(group, key=lambda root: _rank(layout, root))
        nest = plan_nest(layout, main, group, vector_bits)
        sums, rows = _sums_of(layout, main), _scanned_rows(layout, main)
        alike = [
            root
            for root in group
            if root != main and _sums_of(layout, root) <= sums and _scanned_rows(layout, root) <= rows
        ]
        guests = [guest for root in alike if (guest := guest_of(layout, main, nest, root))]
        written = [main, *(guest.root for guest in guests)]
        em.scratches = {**plan_scratches(layout, ops, [root.valueToStore for root in written])}
        emit_nest(em, main, nest, guests)
        em.scratches = {}
        waiting = [root for root in waiting if root not in written]


def _rank(layout: Layout, root: ir.OpView) -> tuple[int, bool]:
    """The largest tile is first in a nest: of several what is scanned, in whose loops totals are carried."""
    tile = root.valueToStore
    return sum(size != 1 for size in sizes_of(tile)), bool(scans_behind(layout, [tile]))


def _sums_of(layout: Layout, root: ir.OpView) -> set[ir.Operation]:
    """The products that a tile is made from: the factors of others would drive theirs out of the cache."""
    made = (op.operation for op in layout.made_from(root.valueToStore))
    return {op for op in made if op.name == "vector.contract"}


def _scanned_rows(layout: Layout, root: ir.OpView) -> set[Dim]:
    """The dims that the scans run along which a tile is made from: a nest carries totals along one."""
    scans = scans_behind(layout, [root.valueToStore])
    return {layout.classes.of(scan.source, scanned_dim(scan)) for scan in scans}


def _independent(layout: Layout, roots: Sequence[ir.OpView]) -> list[ir.OpView]:
    """The first writes, up to one that another one's buffer stands before: their order does not matter.

    Sums of rows that go into one buffer side by side are made together, the first few of a row among them.
    """
    group: list[ir.OpView] = []
    read: set[ir.Value] = set()
    for root in roots:
        sources = {op.base for op in layout.reads_of([root.valueToStore])}
        beside = [each for each in group if each.base == root.base]
        if root.base in read or sources & {each.base for each in group}:
            break
        if beside and not (
            layout.summed(root.valueToStore) and all(lie_apart(root, each) for each in beside)
        ):
            break
        group.append(root)
        read |= sources - {root.base}
    return group
