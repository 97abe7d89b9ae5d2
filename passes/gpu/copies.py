"""Copies between buffers in host functions become kernels: only a kernel may touch the device's memory.

Before::

    memref.copy %x, %y : memref<64x48xf32> to memref<64x48xf32>

After::

    %a = memref.collapse_shape %x [[0, 1]] : … into memref<3072xf32>
    %b = memref.collapse_shape %y [[0, 1]] : … into memref<3072xf32>
    call @copy_3072xf32(%a, %b)

    func.func private @copy_3072xf32(%from: memref<3072xf32>, %to: memref<3072xf32>) attributes {…} {
      scf.forall (%i) = (0) to (3072) step (2048) {
        %v = vector.transfer_read %from[%i], %pad …
        vector.transfer_write %v, %to[%i] …

Copies of one size and type share a kernel. Runs after bufferization, before mlopt-gpu-assign-layouts. Legal
for contiguous buffers that do not overlap (memref.copy demands it). Bufferization makes such copies where a
tensor is written in part and its old value is needed, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import ClassVar

from mlir import ir
from mlir.dialects import func, memref

from ..base import Pass, PassError
from ..cpu.functions import hosts_of
from ..operations import ops_named

BLOCK_BYTES = 8192  # four 16-byte accesses for each of 128 threads


@dataclass(frozen=True)
class GpuCopies(Pass):
    """Turn each memref.copy of a host function into a call of a kernel."""

    name: ClassVar[str] = "mlopt-gpu-copies"

    def run(self, op: ir.Operation) -> None:
        """Replace the copies outside of kernels."""
        kernels: set[str] = set()
        for function in hosts_of(op):
            for copy in ops_named(function, "memref.copy"):
                source, target = copy.operands
                if source != target:
                    with copy.location:
                        kernel = _flat_type(copy)
                        name = f"copy_{str(kernel)[len('memref<') : -1].replace('?', 'n')}"
                        if name not in kernels:
                            kernels.add(name)
                            _add_kernel(op, name, kernel)
                        _call(copy, name)
                copy.erase()


def _flat_type(copy: ir.Operation) -> ir.MemRefType:
    """The buffers' type with one dim."""
    shapes = []
    for buffer in copy.operands:
        type_ = ir.MemRefType(buffer.type)
        if type_.layout != ir.AffineMapAttr.get(ir.AffineMap.get_identity(type_.rank)):
            raise PassError(
                copy,
                f"a copy of a buffer that is not contiguous: {type_}; only kernels read parts of buffers",
            )
        dynamic = not type_.has_static_shape
        shapes.append(ir.ShapedType.get_dynamic_size() if dynamic else prod(type_.shape))
    extent = min(shapes)  # the dynamic size is less than any other
    return ir.MemRefType.get([extent], copy.operands[0].type.element_type)


def _call(copy: ir.Operation, name: str) -> None:
    with ir.InsertionPoint(copy):
        buffers = [_flat(buffer, name) for buffer in copy.operands]
        func.CallOp([], ir.FlatSymbolRefAttr.get(name), buffers)


def _flat(buffer: ir.Value, name: str) -> ir.Value:
    """The buffer with one dim; of dynamic size if the kernel's is."""
    type_ = ir.MemRefType(buffer.type)
    element = type_.element_type
    size = ir.ShapedType.get_dynamic_size() if not type_.has_static_shape else prod(type_.shape)
    flat = ir.MemRefType.get([size], element)
    if type_.rank == 0:
        buffer = memref.expand_shape(flat, buffer, [], [], [1])
    elif type_.rank > 1:
        groups = ir.ArrayAttr.get(
            [
                ir.ArrayAttr.get(
                    [ir.IntegerAttr.get(ir.IntegerType.get_signless(64), dim) for dim in range(type_.rank)]
                )
            ]
        )
        buffer = memref.CollapseShapeOp(flat, buffer, groups).result
    if name.startswith("copy_n") and type_.has_static_shape:
        buffer = memref.cast(ir.MemRefType.get([ir.ShapedType.get_dynamic_size()], element), buffer)
    return buffer


def _add_kernel(module: ir.Operation, name: str, buffer: ir.MemRefType) -> None:
    """A kernel that copies ``buffer``'s type, before everything else in the module."""
    element = buffer.element_type
    size = max(element.width // 8, 1)
    tile = BLOCK_BYTES // size
    dynamic = not buffer.has_static_shape
    if not dynamic:
        tile = min(tile, max(buffer.shape[0], 1))
    schedule = f"{{min_blocks = array<i64: 8>, tile = array<i64: {tile}>, warps = array<i64: 4>}}"
    moved = 2 * size * (1 if dynamic else buffer.shape[0])
    exact = str(not dynamic and buffer.shape[0] % tile == 0).lower()
    zero = "0.0" if isinstance(element, ir.FloatType) else "0"
    bound = "%n" if dynamic else str(buffer.shape[0])
    values = f"vector<{tile}x{element}>"
    text = f"""
      func.func private @{name}(%from: {buffer}, %to: {buffer}) attributes {{
          mlopt.kernel, mlopt.ops = ["copy"], mlopt.schedule = {schedule},
          mlopt.bytes = {moved} : i64, mlopt.flops = 0 : i64}} {{
        %c0 = arith.constant 0 : index
        %n = memref.dim %from, %c0 : {buffer}
        %pad = arith.constant {zero} : {element}
        scf.forall (%i) = (0) to ({bound}) step ({tile}) {{
          %v = vector.transfer_read %from[%i], %pad {{in_bounds = [{exact}]}} : {buffer}, {values}
          vector.transfer_write %v, %to[%i] {{in_bounds = [{exact}]}} : {values}, {buffer}
        }} {{mlopt.schedule = {schedule}}}
        return
      }}"""
    parsed = ir.Module.parse(text)
    parsed.body.operations[0].operation.clone(ir.InsertionPoint.at_block_begin(module.regions[0].blocks[0]))
