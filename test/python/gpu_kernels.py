"""Compiles a kernel to PTX and runs it on the emulator: what the tests of the device passes share."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from mlir import ir
from mlopt import emulator
from mlopt.dialects.context import make_context
from mlopt.pipelines.cuda import cuda_stages
from mlopt.pipelines.device_code import take_ptx
from mlopt.pipelines.driver import run_pipeline
from mlopt.runtime.cuda.chips import find_chip

# By the numbers of arith.cmpi's predicates; sizes are not negative.
_COMPARISONS = [
    operator.eq, operator.ne, *(2 * (operator.lt, operator.le, operator.gt, operator.ge)),
]  # fmt: skip


def pipelines(chip: str, elements: int | None, shared: int | None = None) -> tuple[str, str, str]:
    """The way down of the stages for a GPU, without the host part: to tiles, to threads, to nvvm."""
    stages = {stage.name: stage.passes for stage in cuda_stages(chip, 80)}
    held = "mlopt-gpu-chunk-rows{" + (f"thread-elements={elements} " if elements else "")
    layouts = stages["layouts"].replace("mlopt-gpu-chunk-rows{", held)
    threads = stages["threads"].split(",mlopt-cpu-arena")[0]
    if shared is not None:
        whole = f"{{shared={find_chip(chip).limits.shared_per_block}}}"
        assert (layouts.count(whole), threads.count(whole)) == (2, 1)
        layouts, threads = (text.replace(whole, f"{{shared={shared}}}") for text in (layouts, threads))
    device = stages["nvvm"].split("),", 1)[0] + ")"
    texts = stages["tile"], f"{layouts},{threads}", device
    return tuple(f"builtin.module({text})" for text in texts)  # type: ignore[return-value]


@dataclass
class Kernel:
    """A compiled kernel: its IR after each stage, its PTX, and what its launcher does."""

    tile: str
    threads: str
    ptx: str
    name: str
    launches: list[tuple[str, int, int, int]] = field(default_factory=list)  # name, grid, block, shared

    @cached_property
    def loaded(self) -> emulator.Kernels:
        """The PTX on a device of its own, for all of its runs."""
        return emulator.Device().load(self.ptx)

    @cached_property
    def module(self) -> ir.Module:
        """The IR that has the launcher."""
        with make_context(), ir.Location.unknown():
            return ir.Module.parse(self.threads)


def compile_kernel(
    text: str,
    chip: str = "sm_80",
    schedule: str | None = None,
    warps: int | None = None,
    elements: int | None = None,
    shared: int | None = None,
) -> Kernel:
    """``text`` is one kernel in mlopt-outline's form.

    ``schedule`` takes the place of mlopt-schedule's, ``warps`` that of its warps; ``elements`` is what a
    thread may hold of a tile, ``shared`` how many bytes of shared memory a block can have.
    """
    to_tiles, to_threads, to_device = pipelines(chip, elements, shared)
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        if schedule is None:
            run_pipeline(module.operation, to_tiles)
        else:
            kernel = module.body.operations[0]
            kernel.attributes["mlopt.schedule"] = ir.Attribute.parse(f"{{{schedule}}}")
            run_pipeline(module.operation, "builtin.module(mlopt-tile,mlopt-verify)")
        kernel = module.body.operations[0]
        assert "mlopt.slow" not in kernel.attributes, kernel.attributes["mlopt.slow"]
        if warps is not None:
            set_warps(module, warps)
        return _from_tiles(module, to_threads, to_device)


def compile_tiles(text: str, chip: str = "sm_80") -> Kernel:
    """``text`` is one kernel in tiles, as mlopt-tile writes it."""
    _, to_threads, to_device = pipelines(chip, None)
    with make_context(), ir.Location.unknown():
        return _from_tiles(ir.Module.parse(text), to_threads, to_device)


def _from_tiles(module: ir.Module, to_threads: str, to_device: str) -> Kernel:
    tile = str(module)
    run_pipeline(module.operation, to_threads)
    threads = str(module)
    name = re.search(r"func.func private @(\w+)", threads).group(1)
    for op in list(module.body.operations):
        if op.operation.name != "gpu.module":
            op.operation.erase()
    run_pipeline(module.operation, to_device)
    return Kernel(tile, threads, take_ptx(module), name)


def set_warps(module: ir.Module, warps: int) -> None:
    """Let the kernels of a tiled module run in blocks of so many warps."""

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "scf.forall":
            schedule = op.attributes["mlopt.schedule"]
            parts = {named.name: named.attr for named in schedule}
            parts["warps"], parts["min_blocks"] = (ir.DenseI64ArrayAttr.get([size]) for size in (warps, 1))
            op.attributes["mlopt.schedule"] = ir.DictAttr.get(parts)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)


def run_kernel(
    kernel: Kernel,
    arrays: Sequence[np.ndarray],
    outs: int = 1,
    shift: int = 0,
    options: emulator.Options | None = None,
) -> list[np.ndarray]:
    """The last ``outs`` arrays after the launches of the kernel's launcher, and the status if it has one.

    Buffers begin ``shift`` bytes after a multiple of 256.
    """
    loaded, device = kernel.loaded, kernel.loaded.device
    places = []
    try:
        for array in arrays:
            places.append(device.alloc(array.nbytes + shift))
            device.write(places[-1] + shift, np.ascontiguousarray(array))
        addresses = [place + shift for place in places]
        places.append(device.alloc(4))
        status = np.zeros(1, np.int32)
        device.write(places[-1], status)
        launch = Launcher(kernel.module, kernel.name, list(zip(addresses, arrays, strict=True)))
        for name, grid, block, shared, arguments in launch.launches:
            function = loaded.loaded.function(name)
            if len(function.params) > len(arguments):
                arguments = [*arguments, places[-1]]
            kernel.launches.append((name, grid, block, shared))
            loaded.launch(name, grid, block, arguments, dynamic_smem=shared, options=options)
        results = []
        for address, array in list(zip(addresses, arrays, strict=True))[len(arrays) - outs :]:
            result = np.empty_like(np.ascontiguousarray(array))
            device.read(address, result)
            results.append(result)
        device.read(places[-1], status)
    finally:
        for place in places:
            device.free(place)
    return [*results, status[0]] if "mlopt.asserts" in kernel.threads else results


class Launcher:
    """Runs a kernel's launcher on numbers and collects its launches."""

    def __init__(self, module: ir.Module, name: str, buffers: Sequence[tuple[int, np.ndarray]]) -> None:
        function = next(
            op
            for op in module.body.operations
            if op.operation.name == "func.func" and ir.StringAttr(op.attributes["sym_name"]).value == name
        )
        block = function.regions[0].blocks[0]
        self.values = dict(zip(block.arguments, buffers, strict=True))
        self.launches: list[tuple[str, int, int, int, list[int]]] = []
        self.run(block)

    def run(self, block: ir.Block) -> None:
        for op in block.operations:
            operands = [self.values[operand] for operand in op.operands]
            made = self.step(op.operation, operands)
            made = made if isinstance(made, list) else [made]
            self.values.update(zip(op.results, made, strict=False))

    def step(self, op: ir.Operation, operands: list) -> object:
        match op.name:
            case "arith.constant":
                value = op.attributes["value"]
                return int(value.value)
            case "memref.extract_aligned_pointer_as_index":
                return operands[0][0]
            case "memref.dim":
                return operands[0][1].shape[operands[1]]
            case "arith.index_cast" | "llvm.inttoptr":
                return operands[0]
            case "arith.addi":
                return operands[0] + operands[1]
            case "arith.subi":
                return operands[0] - operands[1]
            case "arith.muli":
                return operands[0] * operands[1]
            case "arith.divui":
                return operands[0] // operands[1]
            case "arith.minui":
                return min(operands)
            case "arith.ceildivui":
                return -(-operands[0] // operands[1])
            case "arith.ori":
                return operands[0] | operands[1]
            case "arith.andi":
                return operands[0] & operands[1]
            case "arith.cmpi":
                predicate = op.attributes["predicate"].value
                return _COMPARISONS[predicate](*operands)
            case "cf.assert":
                assert operands[0], op.attributes["msg"].value
                return None
            case "scf.if":
                chosen = op.regions[0 if operands[0] else 1]
                if len(chosen.blocks):
                    self.run(chosen.blocks[0])
                return None
            case "mlopt.tensor_map":
                return [tensor_map(op, *operands), True]
            case "gpu.launch_func":
                name = str(op.attributes["kernel"]).split("@")[-1]
                grid, block, shared = operands[0], operands[3], operands[6]
                assert operands[1:3] == [1, 1] and operands[4:6] == [1, 1]
                self.launches.append((name, grid, block, shared, operands[7:]))
                return None
            case "func.return" | "scf.yield":
                return None
        raise AssertionError(f"a launcher has {op.name}")


def tensor_map(op: ir.Operation, address: int, *sizes: int) -> bytes:
    """What the driver makes of an mlopt.tensor_map."""
    given = iter(sizes)
    dims = [next(given) if size < 0 else size for size in op.attributes["sizes"]][::-1]
    size, span = (op.attributes[name].value for name in ("element_bytes", "span"))
    strides = [size * math.prod(dims[: number + 1]) for number in range(len(dims) - 1)]
    box = list(op.attributes["box"])[::-1]
    kind = "tf32" if "rounds" in op.attributes else f"u{8 * size}"
    return emulator.tiled(kind, address, dims, strides, box, swizzle=f"{span}B")
