"""From gpu.modules in the nvvm dialect to PTX, by MLIR and LLVM: kernels side by side."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from mlir import ir
from mlir.dialects import gpu

from ..passes.side_by_side import side_by_side
from ..runtime.cuda.ptx import generate_ptx
from .device_parts import devices_of, functions_of, name_of, part_of, shares_of
from .diagnostics import PipelineError
from .driver import run_pipeline

_TO_PTX = "builtin.module(gpu-module-to-binary{format=isa})"
_LIBDEVICE = "__nv_"
_TARGET = re.compile(r'(chip|features) = "([^"]*)"')  # of #nvvm.target
_MARK = "\t// .globl\t"  # before each kernel; variables are behind the first one's
_ENTRY = ".visible .entry "
_FUNCTION = re.compile(r"^(?:\.\w+ )?\.func\b", re.MULTILINE)
_NUMBERED = (re.compile(r"(\$L__BB)\d+"), re.compile(r"(__local_depot)\d+"))  # by functions of a module


def take_ptx(module: ir.Module) -> str:
    """The PTX of the module's gpu.module, which is erased; empty if it has none.

    Raises `PipelineError` if there are several: kernels are looked up in one CUDA module.
    """
    devices = devices_of(module.operation)
    if len(devices) > 1:
        found = ", ".join(f"@{name_of(op)}" for op in devices)
        raise PipelineError(f"one gpu.module can be loaded, there are {len(devices)}: {found}")
    if not devices:
        return ""
    (device,) = devices
    names = [name_of(op) for op in functions_of(device)]
    shares = shares_of(device)
    texts = side_by_side(lambda share: _ptx_of(device, share), shares)
    ptx = _joined(texts, names)
    if not ptx:
        ptx = texts[0] if len(texts) == 1 else _ptx_of(device, names)
    device.erase()
    return ptx


def _ptx_of(device: ir.Operation, kernels: Collection[str]) -> str:
    """The PTX of some ``kernels`` of a gpu.module, which stays as it is."""
    alone = part_of(device, kernels)
    if not _calls_libdevice(device):
        (part,) = devices_of(alone.operation)
        (target,) = part.attributes["targets"]
        told = dict(_TARGET.findall(str(target)))
        return generate_ptx(part, told["chip"], told["features"])
    run_pipeline(alone.operation, _TO_PTX)
    (binary,) = alone.body.operations
    (code,) = (gpu.ObjectAttr(found).object for found in binary.attributes["objects"])
    text: str = code.rstrip(b"\0").decode()
    return text


def _calls_libdevice(device: ir.Operation) -> bool:
    """Whether device functions call what MLIR has with it, and links."""
    ops = device.regions[0].blocks[0].operations
    return any(
        op.operation.name == "llvm.func" and name_of(op.operation).startswith(_LIBDEVICE) for op in ops
    )


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
