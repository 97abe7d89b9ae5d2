"""From gpu.modules in the nvvm dialect to PTX, by MLIR and LLVM: kernels side by side."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from mlir import ir
from mlir.dialects import gpu

from ..passes.operations import nested_ops
from ..passes.side_by_side import processes, side_by_side, spread
from .diagnostics import PipelineError
from .driver import run_pipeline

_TO_PTX = "builtin.module(gpu-module-to-binary{format=isa})"
_FEW_OPS = 1000  # that LLVM is done with before a process is forked: 15 ms
_MARK = "\t// .globl\t"  # before each kernel; variables are behind the first one's
_ENTRY = ".visible .entry "
_FUNCTION = re.compile(r"^(?:\.\w+ )?\.func\b", re.MULTILINE)
_NUMBERED = (re.compile(r"(\$L__BB)\d+"), re.compile(r"(__local_depot)\d+"))  # by functions of a module


def take_ptx(module: ir.Module) -> str:
    """The PTX of the module's gpu.module, which is erased; empty if it has none.

    Raises `PipelineError` if there are several: kernels are looked up in one CUDA module.
    """
    devices = [op.operation for op in module.body.operations if op.operation.name == "gpu.module"]
    if len(devices) > 1:
        names = ", ".join(f"@{_name(op)}" for op in devices)
        raise PipelineError(f"one gpu.module can be loaded, there are {len(devices)}: {names}")
    if not devices:
        return ""
    (device,) = devices
    functions = {_name(op): op.operation for op in _functions(device)}
    sizes = [len(nested_ops(op)) for op in functions.values()]
    shares = spread(list(functions), sizes, processes() if sum(sizes) > _FEW_OPS else 1)
    texts = side_by_side(lambda share: _ptx_of(device, share), shares)
    ptx = _joined(texts, list(functions))
    if not ptx:
        ptx = texts[0] if len(texts) == 1 else _ptx_of(device, functions)
    device.erase()
    return ptx


def _ptx_of(device: ir.Operation, kernels: Collection[str]) -> str:
    """The PTX of some ``kernels`` of a gpu.module, which stays as it is."""
    alone = ir.Module.create(device.location)
    with ir.InsertionPoint(alone.body), device.location:
        attributes = {name: device.attributes[name] for name in device.attributes}
        body = ir.Operation.create(device.name, attributes=attributes, regions=1).regions[0].blocks.append()
    others = [op for op in _functions(device) if _name(op) not in kernels]
    with ir.InsertionPoint(body):
        for op in device.regions[0].blocks[0].operations:
            if op not in others:
                op.operation.clone()
    run_pipeline(alone.operation, _TO_PTX)
    (binary,) = alone.body.operations
    (code,) = (gpu.ObjectAttr(found).object for found in binary.attributes["objects"])
    text: str = code.rstrip(b"\0").decode()
    return text


def _joined(texts: Sequence[str], kernels: Sequence[str]) -> str:
    """The ``texts`` of a module's parts as one, its ``kernels`` in order, as LLVM writes all at once.

    Variables are in order, too, whatever the parts. Empty if a part has functions that kernels call, or a
    variable whose name stands for another elsewhere.
    """
    if any(map(_FUNCTION.search, texts)):
        return ""
    entries: dict[str, str] = {}
    variables: dict[str, str] = {}  # by their lines
    for text in texts:
        for part in text.split(_MARK)[1:]:
            name, _, rest = part.partition("\n")
            lines, entry, body = rest.partition(_ENTRY)
            entries[name] = entry + body
            variables |= {line: _variable(line) for line in lines.splitlines() if line}
    if len(set(variables.values())) < len(variables):
        return ""
    parts = [f"{name}\n{_numbered(entries[name], number)}" for number, name in enumerate(kernels)]
    if variables:
        parts[0] = parts[0].replace("\n", "".join(f"\n{line}" for line in sorted(variables)) + "\n\n", 1)
    return _MARK.join([texts[0].partition(_MARK)[0], *parts])


def _numbered(entry: str, number: int) -> str:
    """A kernel with the names that it has as the function ``number`` of its module."""
    for pattern in _NUMBERED:
        entry = pattern.sub(rf"\g<1>{number}", entry)
    return entry


def _variable(line: str) -> str:
    """The name of what a line declares: its last word before its length or value."""
    return line.partition(" =")[0].rstrip(";").partition("[")[0].split()[-1]


def _functions(device: ir.Operation) -> list[ir.Operation]:
    """Those that the module defines; all parts have what it declares."""
    ops = [op.operation for op in device.regions[0].blocks[0].operations]
    return [op for op in ops if op.name == "llvm.func" and len(op.regions[0].blocks)]


def _name(op: ir.Operation | ir.OpView) -> str:
    name: str = ir.StringAttr(op.attributes["sym_name"]).value
    return name
