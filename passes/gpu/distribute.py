"""Kernels become what each thread does: device functions of a gpu.module, and their launches.

Before::

    func.func private @kernel_0_relu(%x: memref<1001x1000xf32>, %out: memref<1001x1000xf32>) attributes {…} {
      scf.forall (%i) = (0) to (1001) step (4) {
        %v = vector.transfer_read %x[%i, %c0], %pad {…, mlopt.layout = "reg 8:(0,128) 4:(0,1) lane …"} : …
        …
      } {mlopt.schedule = {warps = array<i64: 4>, min_blocks = array<i64: 8>, …}}

After::

    gpu.module @kernels {
      llvm.func @kernel_0_relu(%x: !llvm.ptr {llvm.noalias, llvm.readonly}, %out: !llvm.ptr {llvm.noalias})
          attributes {gpu.kernel, nvvm.kernel, nvvm.maxntid = array<i32: 128, 1, 1>, nvvm.minctasm = 8 : …} {
        … the thread's elements as scalars: loads of 16 bytes, arith, math, shuffles …
    func.func private @kernel_0_relu(%x: memref<1001x1000xf32>, %out: memref<1001x1000xf32>) attributes {…} {
      … pointers and sizes …
      gpu.launch_func @kernels::@kernel_0_relu blocks in (%blocks, %one, %one) threads in (%threads, …) …

One block a task, flattened to x; a number of blocks that is not constant is asserted to be one that a GPU can
launch. A device function takes a pointer for each memref, other arguments as they
are, and each dynamic size after them. Where accesses rest on buffers, and rows of dynamic size, that begin at
multiples of 16 bytes, a twin `…_unaligned` accesses one element at a time, neighbouring lanes neighbours
(``threads/striped.py``), and the launch chooses. A kernel with asserts takes a status cell that the device
can write, marked mlopt.status, which mlopt-gpu-entry passes: a failed assert leaves the number of its message
there (module attribute mlopt.asserts).

Legal after mlopt-gpu-assign-layouts, for kernels that get along with the shared memory that a block can have:
others are refused. The rules, one an op, are in ``threads/``.

Lowering: nothing compiles without it. 0.8 s of compile time for a Linear and a GELU in f16, its four kernels.
Kernels are written side by side: with two processes the stage takes 1.8 s in place of 2.6 for the 28 device
functions of a small layer of Llama for sm_80, with the same result.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from mlir import ir

from ...dialects.attributes import ASSERTS, SHARED
from ...dialects.layouts import WARP
from ..base import Pass, UnsupportedError
from ..operations import nested_ops, ops_named
from ..side_by_side import processes, side_by_side, spread
from .grids import device_functions, grids_of
from .layouts.warps import BLOCK_SHARED, warps_of
from .threads.device import Devices, emit_device
from .threads.launcher import write_launcher
from .threads.shared import declare_symbol

MODULE = "kernels"
_FEW_ELEMENTS = 2000  # for which a fork, 60 to 100 ms on a Zen 3, is not worth it


@dataclass(frozen=True)
class Distribute(Pass):
    """Write each kernel's device function, and its launch in the kernel's place.

    ``shared``: how many bytes of shared memory a block can have.
    """

    name: ClassVar[str] = "mlopt-gpu-distribute"
    shared: int = BLOCK_SHARED

    def run(self, op: ir.Operation) -> None:
        """Distribute every kernel that has an scf.forall."""
        grids = grids_of(op)
        if not grids:
            return
        op.attributes["gpu.container_module"] = ir.UnitAttr.get()
        with ir.InsertionPoint.at_block_begin(op.regions[0].blocks[0]), op.location:
            name = ir.StringAttr.get(MODULE)
            module = ir.Operation.create("gpu.module", attributes={"sym_name": name}, regions=1)
        block = module.regions[0].blocks.append()
        messages = _messages(op, grids)
        alignment = 0  # of shared memory, if a kernel has any
        for forall, devices in zip(grids, _emit(grids, block, messages, self.shared), strict=True):
            function = forall.parent.operation
            if devices.most_shared > self.shared:
                raise UnsupportedError(
                    function,
                    f"a block of @{devices.name} needs {devices.most_shared} bytes of shared memory,"
                    f" the GPU gives it {self.shared} at most",
                    "compute this on smaller parts or in a narrower dtype, or compile it for a GPU"
                    " whose blocks have more",
                )
            SHARED.set(function, devices.most_shared)
            alignment = max(alignment, devices.alignment if devices.most_shared else 0)
            write_launcher(function, forall, MODULE, devices)
        if alignment:
            with ir.InsertionPoint.at_block_begin(block), op.location:
                declare_symbol(alignment)
        if messages:
            ASSERTS.set(op, tuple(messages))


def _messages(module: ir.Operation, grids: Sequence[ir.Operation]) -> list[str]:
    """Those that the module has, and those of what the kernels assert."""
    asserts = (op for forall in grids for op in ops_named(forall.parent, "cf.assert"))
    told = (ir.StringAttr(op.attributes["msg"]).value for op in asserts)
    return list(dict.fromkeys([*(ASSERTS.get(module) or ()), *told]))


def _emit(
    grids: Sequence[ir.Operation], block: ir.Block, messages: Sequence[str], shared: int
) -> list[Devices]:
    """Write the device functions of all kernels into ``block``, in order: side by side if that is much."""

    def emit(share: list[int]) -> dict[int, Devices]:
        devices = {}
        for number in share:
            function = grids[number].parent.operation
            with ir.InsertionPoint(block), function.location:
                devices[number] = emit_device(function, grids[number], messages, shared)
        return devices

    def pack(devices: dict[int, Devices]) -> tuple[bytes, dict[int, Devices]]:
        text = io.BytesIO()
        with ir.InsertionPoint.at_block_begin(block), block.owner.location:
            declare_symbol()  # what functions refer to must be there where they are read
        block.owner.write_bytecode(text)
        return text.getvalue(), devices

    def unpack(data: tuple[bytes, dict[int, Devices]]) -> dict[int, Devices]:
        holder = ir.Module.parse(data[0])  # a name for it: what is inside goes with it
        for op in device_functions(holder.operation):
            block.append(op)
        return data[1]

    sizes = [_elements(forall) for forall in grids]
    shares = spread(range(len(grids)), sizes, processes() if sum(sizes) > _FEW_ELEMENTS else 1)
    found: dict[int, Devices] = {}
    for devices in side_by_side(emit, shares, pack=pack, unpack=unpack):
        found |= devices
    functions = {ir.StringAttr(op.attributes["sym_name"]).value: op for op in block.operations}
    for number in range(len(grids)):
        for name in (found[number].name, found[number].unaligned):
            if name is not None:
                block.append(functions[name])
    return [found[number] for number in range(len(grids))]


def _elements(forall: ir.Operation) -> int:
    """How many elements of values a thread has, about: as many ops are written for it."""
    kinds = [result.type for op in nested_ops(forall) for result in op.results]
    sizes = [math.prod(ir.VectorType(kind).shape) for kind in kinds if isinstance(kind, ir.VectorType)]
    return sum(sizes) // (warps_of(forall) * WARP)
