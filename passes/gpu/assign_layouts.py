"""Say which thread of a block holds which elements of each tile.

Before (four warps)::

    %v = vector.transfer_read %x[%i, %c0], %pad … : memref<1001x1000xf32>, vector<4x1000xf32>
    %m = vector.multi_reduction <maximumf>, %v, %low [1] : vector<4x1000xf32> to vector<4xf32>

After::

    %v = vector.transfer_read … {mlopt.layout = "reg 8:(0,128) 4:(0,1) lane 32:(0,4) warp 4:(1,0)"}
    %m = vector.multi_reduction … {mlopt.layout = "reg lane 32:(0) warp 4:(1)"}

One layout is chosen for the kernel, over the classes of dims that run along with each other
(``layouts/dims.py``): lanes run along the memory of the largest access, 16 bytes each; warps rather along
what is not reduced. Each tile has its projection, so broadcasts, transposes and reductions need no
conversion. Where accesses would be scattered (a transpose), or results of windows narrow, of a tile that
shared memory can hold, or an op wants a layout of its own (``layouts/anchors.py``), an mlopt.convert_layout
changes it, before it is made wider (an argmax of columns stores 4 bytes a result in shared memory, not 8 with
two passes for one). On scf.for the attribute is an array, one layout a result. Tiles that are one scalar at
all positions have none.

Windows that overlap along memory (``layouts/windows.py``) give a thread the part of a row that an access
holds, and neighbouring rows where windows share them: mlopt-gpu-distribute loads each part once, and takes
the rest from the lanes beside.

Reads come first in their block (``layouts/order.py``).

Legal for tile IR on memrefs; the warps are the schedule's. Until mlopt-gpu-distribute nothing may rewrite
this: merging equal values of different layouts would lose one.

Lowering: mlopt-gpu-distribute refuses tiles without a layout. 0.08 s of compile time for a Linear and a GELU
in f16.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from mlir import ir

from ...dialects.attributes import LAYOUT, MMA
from ...dialects.layouts import LINE_BYTES, Layout
from ..base import Pass, PassError
from ..combining import reduced_dims, scanned_dim
from ..operations import defining_op, nested_ops
from ..powers import power_below
from .grids import grids_of
from .layouts.access import HALVES, WIDE, Access, access_of, bytes_of, is_halved
from .layouts.anchors import Anchor, anchor_of
from .layouts.coalescing import is_narrow, is_scattered
from .layouts.cuts import smallest_cuts
from .layouts.dims import Dims
from .layouts.instructions import makes_factor
from .layouts.order import last_of_reads, loads_first
from .layouts.spread import Spread
from .layouts.tiles import is_tile, is_uniform, sizes_of
from .layouts.warpgroup import warpgroup_of
from .layouts.warps import BLOCK_SHARED, warps_of
from .layouts.windows import overlap_of

TRANSFERS = ("vector.transfer_read", "vector.transfer_write")
# The operands that ops want spread over threads even if they are one scalar.
_SPREAD_OPERANDS = {
    "vector.transfer_write": (0,),
    "vector.multi_reduction": (0,),
    "vector.scan": (0,),
    "vector.contract": (0, 1),
}
MOST_ROWS = 8  # of windows that share rows: a thread asks for 17 of 16 then
_WIDENING = ("arith.extsi", "arith.extui", "arith.extf", "arith.sitofp", "arith.uitofp")


@dataclass(frozen=True)
class AssignLayouts(Pass):
    """Give each tile of each kernel its layout; ``shared``: the bytes of shared memory that are a block's."""

    name: ClassVar[str] = "mlopt-gpu-assign-layouts"
    shared: int = BLOCK_SHARED

    def run(self, op: ir.Operation) -> None:
        """Assign layouts in each scf.forall of a kernel."""
        for forall in grids_of(op):
            assign(forall, self.shared)


def assign(forall: ir.Operation, shared: int) -> None:
    """Assign layouts to the tiles of one kernel."""
    block = forall.regions[0].blocks[0]
    _check(block)
    loads_first(block, warps_of(forall))
    dims = _dims(block)
    ops = _laid_out(block)
    classes = range(len(dims.extents))
    sets = dims.sets()
    apart = [{other for one in sets if each in one for other in one} - {each} for each in classes]
    spread = Spread(dims.extents, apart, warps_of(forall))
    anchors = [(op, rule) for op in ops if (rule := anchor_of(op)) is not None]
    for op, rule in sorted(anchors, key=_first_placed):
        rule.place(op, dims, spread)
    accesses = [access_of(op) for op in ops if op.name in (*TRANSFERS, HALVES)]
    _fill(dims, sets, spread, accesses, _reduced(dims, ops), _scanned(dims, ops))
    _mark(ops, dims, spread, {access.op: access for access in accesses if access.bytes <= shared})


def _first_placed(anchor: tuple[ir.Operation, Anchor]) -> tuple[bool, bool, bool, int]:
    """Products on tensor cores come first: of warpgroups, what makes factors of others, then the largest."""
    op, _ = anchor
    is_last = MMA.name not in op.attributes
    by_warp = is_last or warpgroup_of(op) is None
    return is_last, by_warp, is_last or not makes_factor(op), -prod(sizes_of(op.results[0]))


def _laid_out(block: ir.Block) -> list[ir.Operation]:
    """The ops whose tiles have layouts: not a read of which every other element is kept, and loaded there."""
    return [op for op in nested_ops(block) if not is_halved(op)]


def _check(block: ir.Block) -> None:
    for op in nested_ops(block):
        if op.name in TRANSFERS:
            buffer = op.operands[0 if op.name == TRANSFERS[0] else 1]
            if not isinstance(buffer.type, ir.MemRefType):
                raise PassError(op, "assign-layouts: a transfer on a tensor; bufferize first")
        if LAYOUT.name in op.attributes:
            raise PassError(op, "assign-layouts: this has a layout already")


def _dims(block: ir.Block) -> Dims:
    """The classes; first, operands get copies that would make two dims of a tile one, or have no layout."""
    for op in nested_ops(block):
        if op.name == "vector.step":  # costs nothing: each reader has its own
            for use in list(op.results[0].uses)[1:]:
                use.owner.operands[use.operand_number] = op.clone(ir.InsertionPoint(op)).results[0]
    for op in nested_ops(block):
        for number in _SPREAD_OPERANDS.get(op.name, ()):
            if is_uniform(op.operands[number]):
                _copy_operand(op, number)
        rule = anchor_of(op)
        for number in rule.cuts(op) if rule is not None else ():
            _copy_operand(op, number)
    while True:
        dims = Dims(_laid_out(block))
        if dims.cut is None:
            return dims
        for op, number in smallest_cuts(dims.cut.op, dims.cut.operand):
            _copy_operand(op, number)


def _copy_operand(op: ir.Operation, number: int) -> None:
    with ir.InsertionPoint(op), op.location:
        op.operands[number] = convert(op.operands[number])


def convert(value: ir.Value) -> ir.Value:
    """A copy of a tile, for another layout."""
    return ir.Operation.create("mlopt.convert_layout", [value.type], [value]).results[0]


def _reduced(dims: Dims, ops: Sequence[ir.Operation]) -> set[int]:
    """The classes that reductions run along."""
    found: set[int] = set()
    for op in ops:
        if op.name == "vector.multi_reduction":
            classes = dims.of(op.operands[0])
            found |= {each for dim in reduced_dims(op) if (each := classes[dim]) is not None}
    return found


def _scanned(dims: Dims, ops: Sequence[ir.Operation]) -> set[int]:
    """The classes that scans run along."""
    scans = [op for op in ops if op.name == "vector.scan"]
    return {each for op in scans if (each := dims.of(op.operands[0])[scanned_dim(op)]) is not None}


def _fill(
    dims: Dims,
    sets: Sequence[frozenset[int]],
    spread: Spread,
    accesses: Sequence[Access],
    reduced: set[int],
    scanned: set[int],
) -> None:
    """Spread the sets of classes that occur together, those that move the most first.

    Of tiles of as many elements that are reduced side by side a thread has as many each: of a narrower dtype,
    16 bytes of which are more, some threads would load again what others have. Of columns that are scanned a
    thread has neighbouring rows: it adds up these alone, and exchanges one total of them.
    """

    def classes_of(access: Access) -> list[int]:
        classes = dims.of(access.tile)
        return [each for dim in access.order() if (each := classes[dim]) is not None]

    def within(one: frozenset[int]) -> list[Access]:
        found = [access for access in accesses if one.issuperset(classes_of(access))]
        return sorted(found, key=lambda access: -access.bytes)

    def elements(one: frozenset[int]) -> int:
        return prod(dims.extents[each] for each in one)

    sized = sorted(sets, key=lambda one: -max([access.bytes for access in within(one)], default=0))
    for one in sized:
        found = within(one)
        order = classes_of(found[0]) if found else []
        order += sorted((each for each in one if each not in order), key=lambda each: -dims.extents[each])
        width = _width(found, dims) if found else 1
        rows = _rows(found[0], width, spread) if found else 1
        if order[1:2] and order[1] in scanned - {order[0]}:
            own = elements(one) // (min(width, dims.extents[order[0]]) << len(spread.bits))
            rows = power_below(min(own, dims.extents[order[1]]))
        if one & reduced and one.isdisjoint(sized[0]) and elements(one) == elements(sized[0]):
            width = min(width, power_below(elements(one) >> len(spread.bits)))
        spread.fill(order, width, reduced | scanned, rows=rows)


def _width(accesses: Sequence[Access], dims: Dims) -> int:
    """The neighbours that a thread should have: what most of the large accesses along them can take at once.

    Of as many narrow as wide ones the narrow ones decide: they take an instruction an element in any case,
    and so would the way through shared memory. Of windows that lie side by side as many as an access holds.
    """
    main, overlap = accesses[0], overlap_of(accesses[0])
    if overlap is not None:
        return WIDE // (main.element_bytes * overlap.step)
    inner = main.contiguous()
    if inner is None:
        window = main.window()
        return WIDE // (main.element_bytes * window) if window > 1 else 1
    alike = [
        access
        for access in accesses
        if 2 * prod(access.tile.type.shape) >= prod(main.tile.type.shape)
        and (along := access.contiguous()) is not None
        and dims.of(access.tile)[along] == dims.of(main.tile)[inner]
    ]
    widths = sorted(access.width() for access in alike)
    return min(widths[(len(widths) - 1) // 2], WIDE // max(access.element_bytes for access in alike))


def _rows(access: Access, width: int, spread: Spread) -> int:
    """The neighbouring rows that a thread should have of windows that share rows: all that it has, if few."""
    overlap = overlap_of(access)
    if overlap is None or not overlap.rows:
        return 1
    own = prod(sizes_of(access.tile)) // (width << len(spread.bits))
    return power_below(min(own, sizes_of(access.tile)[access.order()[1]], MOST_ROWS))


def _mark(
    ops: Sequence[ir.Operation], dims: Dims, spread: Spread, accesses: dict[ir.Operation, Access]
) -> None:
    """Write the layouts on the ops, and conversions where a use needs another one.

    ``accesses`` are those of tiles that may change hands: others keep the kernel's layout.
    """
    have: dict[ir.Value, Layout] = {}
    windows = any(access.window() > 1 or overlap_of(access) is not None for access in accesses.values())

    def spread_of(value: ir.Value) -> Layout:
        return spread.layout(dims.of(value))

    for op in ops:
        access = accesses.get(op)
        carried = list(op.regions[0].blocks[0].arguments) if op.name == "scf.for" else []
        for value in (*op.results, *carried):
            if is_tile(value) and not is_uniform(value):
                own = access is not None and is_scattered(access, spread_of(value))
                have[value] = _own_layout(access, spread) if own and access is not None else spread_of(value)
    turned: dict[tuple[ir.Value, str], ir.Value] = {}
    for op in ops:
        rule = anchor_of(op)
        wanted = dict(rule.wants(op, spread_of(op.results[0]))) if rule is not None else {}
        access = accesses.get(op)
        if op.name == "vector.transfer_write" and access:
            layout = spread_of(access.tile)
            if is_scattered(access, layout) or (windows and is_narrow(access, layout)):
                wanted[0] = _own_layout(access, spread)
        for number, value in enumerate(op.operands):
            if value not in have or op.name == "mlopt.convert_layout":
                continue
            want = wanted.get(number) or spread_of(value)
            if str(want) != str(have[value]):
                op.operands[number] = _converted(value, want, turned)
        _mark_results(op, have)


def _own_layout(access: Access, spread: Spread) -> Layout:
    """The layout that suits one access best.

    Lanes cover whole lines of memory, and no more along one dim: eight positions along each of two dims have
    banks of their own in a padded tile of shared memory, sixteen of eight bytes along one have not.
    """
    sizes = list(access.tile.type.shape)
    everything = range(len(sizes))
    own = Spread(sizes, [set(everything) - {dim} for dim in everything], spread.warps)
    width = min(access.width(), WIDE // access.element_bytes)
    own.fill(access.order(), width, line=LINE_BYTES // access.element_bytes, rows=access.rows())
    return own.layout([dim if size != 1 else None for dim, size in enumerate(sizes)])


def _converted(value: ir.Value, layout: Layout, turned: dict[tuple[ir.Value, str], ir.Value]) -> ir.Value:
    """The value in another layout, made once; after the reads that stand together with its own.

    What was made wider from a narrower dtype changes hands before.
    """
    key = (value, str(layout))
    if key not in turned and _is_widened(value):
        narrow = _converted(value.owner.operands[0], layout, turned)
        with ir.InsertionPoint.after(value.owner), value.location:
            wide = value.owner.operation.clone()
        wide.operands[0] = narrow
        turned[key] = wide.results[0]
        LAYOUT.set(wide, (str(layout),))
    elif key not in turned:
        owner = value.owner
        place = (
            ir.InsertionPoint.at_block_begin(owner)
            if isinstance(owner, ir.Block)
            else ir.InsertionPoint.after(last_of_reads(owner.operation))
        )
        with place, value.location:
            turned[key] = convert(value)
        LAYOUT.set(turned[key].owner, (str(layout),))
    return turned[key]


def _is_widened(value: ir.Value) -> bool:
    """Whether a tile is another one's elements in a dtype of more bytes."""
    if defining_op(value, *_WIDENING) is None:
        return False
    source = value.owner.operands[0]
    return bytes_of(source.type.element_type) < bytes_of(value.type.element_type)


def _mark_results(op: ir.Operation, have: dict[ir.Value, Layout]) -> None:
    texts = tuple(str(have[result]) if result in have else "" for result in op.results)
    if any(texts):
        LAYOUT.set(op, texts)
