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
multiples of 16 bytes, a twin `…_unaligned` accesses one element at a time, and the launch chooses. A kernel
with asserts takes a status cell that the device can write, marked mlopt.status, which mlopt-gpu-entry passes:
a failed assert leaves the number of its message there (module attribute mlopt.asserts).

Legal after mlopt-gpu-assign-layouts, for kernels that get along with the shared memory that a block can have:
others are refused. The rules, one an op, are in ``threads/``.

Lowering: nothing compiles without it. 0.8 s of compile time for a Linear and a GELU in f16, its four kernels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mlir import ir

from ...dialects.attributes import ASSERTS, SHARED
from ..base import Pass, UnsupportedError
from .grids import grids_of
from .layouts.warps import BLOCK_SHARED
from .threads.device import emit_device
from .threads.launcher import write_launcher
from .threads.shared import declare_symbol

MODULE = "kernels"


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
        messages = list(ASSERTS.get(op) or ())
        alignment = 0  # of shared memory, if a kernel has any
        for forall in grids:
            function = forall.parent.operation
            with ir.InsertionPoint(block), function.location:
                devices = emit_device(function, forall, messages, self.shared)
            if devices.shared > self.shared:
                raise UnsupportedError(
                    function,
                    f"a block of @{devices.name} needs {devices.shared} bytes of shared memory,"
                    f" the GPU gives it {self.shared} at most",
                    "compute this on smaller parts or in a narrower dtype, or compile it for a GPU"
                    " whose blocks have more",
                )
            SHARED.set(function, devices.shared)
            alignment = max(alignment, devices.alignment if devices.shared else 0)
            write_launcher(function, forall, MODULE, devices)
        if alignment:
            with ir.InsertionPoint.at_block_begin(block), op.location:
                declare_symbol(alignment)
        if messages:
            ASSERTS.set(op, tuple(messages))
