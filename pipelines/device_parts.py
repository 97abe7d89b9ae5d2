"""Parts of a gpu.module, some device functions each, on which processes work side by side."""

from __future__ import annotations

import io
from collections.abc import Collection

from mlir import ir

from ..passes.operations import attributes_of, nested_ops
from ..passes.side_by_side import processes, side_by_side, spread
from .driver import run_pipeline
from .text import NestNode

# A fork, and the copies of pages that follow, take as long as half of so many ops: 60 to 100 ms on a Zen 3.
_FEW_OPS = 5000


def devices_of(module: ir.Operation) -> list[ir.Operation]:
    """The gpu.modules in ``module``."""
    ops = [op.operation for op in module.regions[0].blocks[0].operations]
    return [op for op in ops if op.name == "gpu.module"]


def functions_of(device: ir.Operation) -> list[ir.Operation]:
    """The kernels of a gpu.module; what else it has, declared or called by kernels, each part has."""
    ops = [op.operation for op in device.regions[0].blocks[0].operations]
    return [op for op in ops if op.name == "llvm.func" and "nvvm.kernel" in op.attributes]


def name_of(op: ir.Operation) -> str:
    """The symbol that ``op`` is."""
    name: str = ir.StringAttr(op.attributes["sym_name"]).value
    return name


def shares_of(device: ir.Operation) -> list[list[str]]:
    """The names of the functions in a gpu.module, for each process that they are worth."""
    functions, most = functions_of(device), processes()
    sizes = [len(nested_ops(op)) if most > 1 else 1 for op in functions]
    return spread([*map(name_of, functions)], sizes, most if sum(sizes) > _FEW_OPS else 1)


def part_of(device: ir.Operation, kernels: Collection[str]) -> ir.Module:
    """A module of a gpu.module as ``device``, which stays as it is, with some of its ``kernels``."""
    alone = ir.Module.create(device.location)
    with ir.InsertionPoint(alone.body), device.location:
        attributes = attributes_of(device)
        body = ir.Operation.create(device.name, attributes=attributes, regions=1).regions[0].blocks.append()
    others = [op for op in functions_of(device) if name_of(op) not in kernels]
    with ir.InsertionPoint(body):
        for op in device.regions[0].blocks[0].operations:
            if op not in others:
                op.operation.clone()
    return alone


def run_on_parts(module: ir.Operation, pipeline: NestNode) -> bool:
    """Run ``pipeline`` on parts of the gpu.module in ``module``, if that is worth it; returns whether it is.

    Device functions must be nothing to each other for it. Nothing is verified.
    """
    devices = devices_of(module)
    shares = shares_of(devices[0]) if len(devices) == 1 else []
    if len(shares) < 2:
        return False
    (device,) = devices
    names = [name_of(op) for op in functions_of(device)]

    def run(share: list[str]) -> ir.Module:
        part = part_of(device, share)
        run_pipeline(part.operation, pipeline, verify_each=False)
        return part

    def pack(part: ir.Module) -> bytes:
        text = io.BytesIO()
        part.operation.write_bytecode(text)
        return text.getvalue()

    parts = side_by_side(run, shares, pack=pack, unpack=ir.Module.parse)
    block = device.regions[0].blocks[0]
    for op in list(block.operations):
        op.operation.erase()
    functions: dict[str, list[ir.Operation]] = {}  # each behind what is declared for it, and was not before
    for part in parts:
        (made,) = devices_of(part.operation)
        for name in made.attributes:
            device.attributes[name] = made.attributes[name]
        found: list[ir.Operation] = []
        for op in made.regions[0].blocks[0].operations:
            found.append(op.operation)
            if name_of(op.operation) in names:
                functions[name_of(op.operation)], found = found, []
    declared: set[str] = set()
    for name in names:
        for op in functions[name]:
            if name_of(op) not in declared:
                declared.add(name_of(op))
                block.append(op)
    return True
