"""Images that convolutions on tensor cores read and make lie with their channels last.

Before, in half floats::

    %p = insert_slice %x into (fill)[0, 0, 1, 1] : tensor<32x64x56x56xbf16> into tensor<32x64x58x58xbf16>
    %c = generic {conv2d} (n, o, i, j | c, k, l) ins(%p at (n, c, i + k, j + l), %w) : tensor<32x64x56x56…>
    %r = generic {relu} (n, o, i, j) ins(%c)

After, where the next convolution reads %r::

    %t = generic {transpose} (n, i, j, c) ins(%x at (n, c, i, j)) : tensor<32x56x56x64xbf16>
    %p = insert_slice %t into (fill)[0, 1, 1, 0] : tensor<32x56x56x64xbf16> into tensor<32x58x58x64xbf16>
    %c = generic {conv2d} (n, i, j, o | c, k, l) ins(%p at (n, i + k, j + l, c), %w) : tensor<32x56x56x64…>
    %r = generic {relu} (n, i, j, o) ins(%c)

A place of an image has its channels side by side then, whole pieces of 16 bytes: cp.async brings them a few
steps ahead, or zeros where a window lies in the padding, and a convolution of single places is a product of
two dims. Channels go last in all that element-wise ops and poolings tie to such an image. What comes from
outside, or goes there, stays as it is: of that a copy is turned, if that and the convolution are predicted to
take less time together (`block_times`).

Legal for tensors of known sizes that structured ops make, and only such ops, pads and views that divide other
dims read. Done for convolutions of one group, whose channels are a multiple of 8. Runs before mlopt-hoist.

Effect: two 3x3 convolutions of 64 channels, 8 images of 56x56 in f16 (sm_80): their kernels copy with
cp.async, which they cannot otherwise, and one has 44 registers instead of 95; a kernel more turns the image,
19.4 MB by count instead of 13.0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from mlir import ir
from mlir.dialects import linalg, tensor

from ...dialects.attributes import WHOLE
from ..base import Pass
from ..costs.machine import DEFAULT_GPU, machine_of
from ..cpu.functions import hosts_of
from ..groups import entry_ops
from ..moving.reads import is_move
from ..operations import defining_op
from ..raising.bodies import is_contraction
from ..raising.reshape import joined_dims
from ..raising.slices import insert
from ..raising.strides import expanded
from ..scheduling.copied_images import times_of
from ..scheduling.tensor_blocks import SHARED
from ..structured import (
    body_of,
    elements_of,
    erase_dead,
    indexing_maps,
    inits_of,
    inputs_of,
    iterator_types,
    kinds_of,
    label_of,
    loop_extents,
    make_copy,
    make_empty,
    maps_of,
    replace_op,
    structured_ops,
    word_for,
)
from ..tiling.access import nest_of
from ..tiling.analysis import loops_in
from ..tiling.pads import fill_of_pad
from .images import Images, add_image, loops_along, parts_of, root_of
from .layouts.access import WIDE

HALF = 2  # bytes of an element


@dataclass(frozen=True)
class ChannelsLast(Pass):
    """Turn images of convolutions; ``machine``: whose times decide about copies; ``shared``: the bytes of
    shared memory of its multiprocessors.
    """

    name: ClassVar[str] = "mlopt-gpu-channels-last"
    machine: str = DEFAULT_GPU
    shared: int = SHARED

    def run(self, op: ir.Operation) -> None:
        """Rewrite each function of the host."""
        machine_of(op, self.machine)  # refuses a name that is none
        for function in hosts_of(op):
            self._turn(function)

    def _turn(self, function: ir.Operation) -> None:
        found = [(op, dims) for op in structured_ops(function) if (dims := can_turn(op)) is not None]
        copies: dict[ir.Value, ir.Value] = {}
        images: Images = {}
        for op, (read, written) in found:
            root = root_of(op.operands[0], read)
            if root is None:
                continue
            is_last = root[1] == root[0].type.rank - 1
            gain = None
            if not is_last and parts_of(*root) is None:
                gain = gain_of_copy(op, root[0], self.machine, self.shared)
            if gain is not None:
                _read_copy(op, root[0], copies)
                root = root_of(op.operands[0], read)
                assert root is not None, "a copy has the same dims"
                WHOLE.set(root[0].owner, gain)
            if is_last or parts_of(*root) is not None:
                add_image(images, *root)
                add_image(images, op.results[0], written)
        if images:
            for op in entry_ops(function):
                _rewrite(op, images)
            for op in structured_ops(function):
                if (
                    is_move(op)
                    and op.operands[0].type == op.results[0].type
                    and maps_of(op)[0] == maps_of(op)[1]
                ):
                    replace_op(op, [op.operands[0]])
            erase_dead(function)


def can_turn(op: ir.Operation) -> tuple[int, int] | None:
    """The channels' dim of what a convolution reads, and of what it makes; None if it is no such one."""
    if not (label_of(op) or "").startswith("conv") or not is_contraction(op):
        return None
    image, weights = inputs_of(op)
    if any(
        index.stride != 1 for access in nest_of(op).reads if access is not None for index in access.indices
    ):
        return None
    if any(str(each.type.element_type) not in ("f16", "bf16") for each in (image, weights)):
        return None
    (read, own, written), kinds = maps_of(op), kinds_of(op)
    loops = [{loop for expr in where.results for loop in loops_in(expr)} for where in (read, own)]
    summed = [
        dim for dim, loop in enumerate(loops_along(read)) if loop is not None and kinds[loop] == "reduction"
    ]
    made = [dim for dim, loop in enumerate(loops_along(written)) if loop in loops[1] - loops[0]]
    groups = {loop for loop in loops[0] & loops[1] if kinds[loop] == "parallel"}
    if len(summed) != 1 or len(made) != 1 or groups:
        return None
    channels = loop_extents(op)[loops_along(read)[summed[0]] or 0]
    return (summed[0], made[0]) if channels and channels % (WIDE // HALF) == 0 else None


def gain_of_copy(op: ir.Operation, image: ir.Value, machine: str, shared: int) -> str | None:
    """What a convolution and the turned copy that it reads are predicted to take, and what it takes without.

    None if that is no less.
    """
    times = times_of(op, 2 * HALF * elements_of(image), machine, shared)
    return f"{word_for(op)} {times.told('channels last')}" if times is not None and times.saved > 0 else None


def _read_copy(op: ir.Operation, image: ir.Value, copies: dict[ir.Value, ir.Value]) -> None:
    """Let a convolution, or the pad or view that it reads, read a copy of an image."""
    if image not in copies:
        maker = defining_op(image)
        at = (
            ir.InsertionPoint.at_block_begin(image.owner) if maker is None else ir.InsertionPoint.after(maker)
        )
        empty = make_empty(image, location=op.location, at=at)
        at = ir.InsertionPoint.after(empty.owner)
        same = ir.AffineMap.get_identity(image.type.rank)
        copies[image] = make_copy(image, empty, same, "transpose", location=op.location, at=at).results[0]
    reader = op
    while reader.operands[0] != image:
        reader = reader.operands[0].owner.operation
    reader.operands[0] = copies[image]


def _last(items: Sequence[int], dim: int) -> list[int]:
    """The items with that of ``dim`` behind the others."""
    return [*items[:dim], *items[dim + 1 :], items[dim]]


def _rewrite(op: ir.Operation, images: Images) -> None:
    """Let an op read and make what is turned; those before it do so."""
    if op.name == "linalg.generic":
        _turn_generic(op, images)
        return
    dim = images.get(op.results[0]) if len(op.results) == 1 else None
    if dim is None or op.name not in ("tensor.insert_slice", "tensor.expand_shape"):
        return
    view, kind = op.opview, op.results[0].type
    with op.location, ir.InsertionPoint(op):
        if op.name == "tensor.insert_slice":
            empty = tensor.EmptyOp(_last(list(kind.shape), dim), kind.element_type).result
            fill = fill_of_pad(op)
            assert fill is not None, "parts_of has asked"
            onto = linalg.fill(fill.operands[0], outs=[empty])
            starts, sizes = (_last(list(each), dim) for each in (view.static_offsets, view.static_sizes))
            made = insert(op.operands[0], onto, starts, sizes, "pad")
        else:
            groups = joined_dims(op)
            order = _last(range(len(groups)), groups.index([dim]))
            sizes = [kind.shape[each] for source in order for each in groups[source]]
            starts = [sum(len(groups[each]) for each in order[:at]) for at in range(len(order))]
            new = [
                [start + at for at in range(len(groups[source]))]
                for source, start in zip(order, starts, strict=True)
            ]
            made = expanded(op.operands[0], new, sizes)
    images[made] = dim
    replace_op(op, [made])


def _turn_generic(op: ir.Operation, images: Images) -> None:
    """Read and make what is turned, in loops of the order of what is made."""
    inputs, maps, inits = inputs_of(op), maps_of(op), inits_of(op)
    dims = [images.get(value) for value in (*inputs, *op.results)]
    if all(dim is None for dim in dims):
        return
    kinds = kinds_of(op)
    new = [
        where.results
        if dim is None
        else [where.results[each] for each in _last(range(len(where.results)), dim)]
        for where, dim in zip(maps, dims, strict=True)
    ]
    order = [expr.position for expr in new[-1]] if dims[-1] is not None else []
    order += [loop for loop in range(len(kinds)) if loop not in order]
    with op.location, ir.InsertionPoint(op):
        turn = ir.AffineMap.get(
            len(kinds), 0, [ir.AffineDimExpr.get(order.index(loop)) for loop in range(len(kinds))]
        )
        op.attributes["indexing_maps"] = indexing_maps(
            ir.AffineMap.get(len(kinds), 0, [expr.compose(turn) for expr in exprs]) for exprs in new
        )
        op.attributes["iterator_types"] = iterator_types(kinds[loop] for loop in order)
        for number, (result, init) in enumerate(zip(op.results, inits, strict=True)):
            dim = dims[len(inputs) + number]
            if dim is not None:
                op.operands[len(inputs) + number] = _turned_init(init, dim)
                result.set_type(op.operands[len(inputs) + number].type)
        for inner in body_of(op).operations:
            if inner.operation.name == "linalg.index":
                loop = order.index(inner.operation.attributes["dim"].value)
                inner.operation.attributes["dim"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), loop)


def _turned_init(init: ir.Value, dim: int) -> ir.Value:
    """The tensor.empty or fill of the turned shape."""
    kind = init.type
    empty = tensor.EmptyOp(_last(list(kind.shape), dim), kind.element_type).result
    fill = defining_op(init, "linalg.fill")
    return empty if fill is None else linalg.fill(fill.operands[0], outs=[empty])
