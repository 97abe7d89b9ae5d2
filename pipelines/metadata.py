"""What a caller must know of a compiled module, read off its IR as plain data.

Two looks are taken: at the "kernels" stage, where host functions still have tensors, and at
the end, where workspaces and asserts are known. Nothing in it refers to MLIR, so that it can
leave the worker.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from mlir import ir

from ..dialects.attributes import (
    ASSERTS,
    BOOL,
    BYTES,
    COUNTED,
    DEVICE_STATUS,
    FLOAT8,
    FLOPS,
    FUSION,
    KERNEL,
    OPS,
    PREPARED,
    RESULT,
    RESULT_SIZES,
    SCHEDULE,
    SLOW,
    WEIGHT,
    WORKSPACE,
    argument_attributes,
)
from ..passes.cpu.functions import calls_in

DTYPES = {
    "f64": "f64", "f32": "f32", "f16": "f16", "bf16": "bf16",
    "i64": "i64", "i32": "i32", "i16": "i16", "i8": "i8", "ui8": "ui8", "i1": "bool", "index": "i64",
    "f8E4M3FN": "f8e4m3fn", "f8E5M2": "f8e5m2",
}  # fmt: skip
ENTRY_FUNCTIONS = ("main", "prepare")


def host_functions(module: ir.Module) -> dict[str, dict[str, Any]]:
    """Arguments and results of @main and @prepare at the "kernels" stage, by name."""
    return {name: _signature(function) for name, function in _functions(module) if name in ENTRY_FUNCTIONS}


def _functions(module: ir.Module) -> Iterator[tuple[str, ir.OpView]]:
    for op in module.body.operations:
        if op.operation.name == "func.func":
            yield ir.StringAttr(op.attributes["sym_name"]).value, op


def _signature(function: ir.OpView) -> dict[str, Any]:
    entry = function.regions[0].blocks[0]
    arguments: list[dict[str, Any]] = []
    results: list[dict[str, Any]] = []
    for argument, marks in zip(entry.arguments, argument_attributes(function), strict=True):
        described = _describe(argument.type)
        if BOOL.get(marks):
            described["dtype"] = "bool"
        described["dtype"] = FLOAT8.get(marks) or described["dtype"]
        if RESULT.get(marks) is not None:
            results.append(described)
            continue
        kind = "weight" if WEIGHT.get(marks) else "prepared" if PREPARED.get(marks) else "input"
        arguments.append({"kind": kind, "used": bool(list(argument.uses)), **described})
    _add_sizes(function, results)
    return {"args": arguments, "results": results, "workspace": 0}


def _describe(type_: ir.Type) -> dict[str, Any]:
    if not isinstance(type_, ir.ShapedType):
        return {"dtype": DTYPES[str(type_)], "shape": [], "scalar": True}
    dynamic = ir.ShapedType.get_dynamic_size()
    shape = [None if size == dynamic else size for size in type_.shape]
    return {"dtype": DTYPES[str(type_.element_type)], "shape": shape}


def _add_sizes(function: ir.OpView, results: list[dict[str, Any]]) -> None:
    """Give each result its dynamic sizes, as Python expressions over the arguments' sizes."""
    stated = RESULT_SIZES.get(function)
    if stated is None:
        return
    sizes = iter(stated)
    for result in results:
        result["sizes"] = [next(sizes) for size in result["shape"] if size is None]


def kernels(module: ir.Module) -> list[dict[str, Any]]:
    """Each kernel after mlopt-schedule: what it holds, how it runs, what it moves and computes.

    The bytes and FLOPs of what mlopt-schedule could not look into are None.
    """
    calls = _calls(module)
    found = [
        _describe_kernel(name, function, calls.get(name, Counter()))
        for name, function in _functions(module)
        if KERNEL.get(function)
    ]
    return found + list(_host_loops(module))


def _host_loops(module: ir.Module) -> Iterator[dict[str, Any]]:
    """What host functions compute themselves, outside of kernels: it becomes scalar loops."""
    for name, function in _functions(module):
        if name not in ENTRY_FUNCTIONS:
            continue
        for op in function.regions[0].blocks[0].operations:
            if op.operation.name.startswith(("scf.", "linalg.")):
                yield {
                    "name": f"{name}_{op.operation.name.replace('.', '_')}",
                    "ops": [op.operation.name],
                    "schedule": "",
                    "path": "slow: not in a kernel",
                    "bytes": None,
                    "flops": None,
                    "function": name,
                    "calls": 1,
                }


def _calls(module: ir.Module) -> dict[str, Counter[str]]:
    """For each kernel, how often each host function calls it."""
    calls: dict[str, Counter[str]] = {}
    for name, function in _functions(module):
        for _, callee in calls_in(function):
            calls.setdefault(callee, Counter())[name] += 1
    return calls


def _describe_kernel(name: str, function: ir.OpView, callers: Counter[str]) -> dict[str, Any]:
    attributes, slow = function.attributes, SLOW.get(function)
    return {
        "name": name,
        "ops": list(OPS.get(function) or ()),
        "schedule": str(attributes[SCHEDULE.name]) if SCHEDULE.name in attributes else "",
        "path": "tile" if slow is None else f"slow: {slow}",
        "bytes": BYTES.get(function),
        "flops": FLOPS.get(function),
        "function": "prepare" if set(callers) == {"prepare"} else "main",
        "calls": sum(callers.values()),
    }


def add_entries(module: ir.Module, functions: dict[str, dict[str, Any]]) -> None:
    """Give each of ``functions`` what its entry point takes, once that is made.

    "workspace" is in bytes (None: `mlopt_NAME_workspace` computes them); "device_status" says whether kernels
    on a GPU can fail, so that it takes the address of a status cell; "counters", how many int32s it takes the
    address of that are 0 before a call on a stream and behind it.
    """
    defined = dict(_functions(module))
    for name, described in functions.items():
        dynamic = f"{name}_workspace" in defined
        described["workspace"] = None if dynamic else WORKSPACE.get(defined[name]) or 0
        marks = argument_attributes(defined[name])
        described["device_status"] = any(DEVICE_STATUS.get(each) for each in marks)
        described["counters"] = COUNTED.get(defined[name]) or 0


def asserts(module: ir.Module) -> list[str]:
    """The messages of the module's run-time checks; status k stands for the k-th, from 1."""
    return list(ASSERTS.get(module.operation) or ())


def fusion_notes(module: ir.Module) -> list[str]:
    """What mlopt-fuse refused, and why."""
    return list(FUSION.get(module.operation) or ())
