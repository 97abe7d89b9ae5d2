"""The module that a caller hands in: parsed, checked to be one that can be compiled, @main named.

What is wrong here is wrong in the caller's text, and the error says so with the line; what
fails later is a bug of ours.
"""

from __future__ import annotations

from mlir import ir

from ..errors import CompileError
from .metadata import DTYPES

ENTRY = "main"


def accept(text: str, func_name: str = ENTRY) -> ir.Module:
    """``text`` as a module whose only public function is @main, the one called ``func_name`` there."""
    try:
        module = ir.Module.parse(text)
    except ir.MLIRError as error:
        lines = [f"{_place(entry.location)}: {entry.message}" for entry in error.error_diagnostics]
        raise CompileError("the MLIR text cannot be parsed", details="\n".join(lines)) from None
    function = _function(module, func_name)
    _check_signature(function, func_name)
    for name, other in _functions(module).items():
        other.attributes["sym_visibility"] = ir.StringAttr.get("public" if name == func_name else "private")
        if name == ENTRY != func_name:
            _rename(module, other, ENTRY, f"{ENTRY}_besides_{func_name}")
    _rename(module, function, func_name, ENTRY)
    return module


def _rename(module: ir.Module, function: ir.OpView, old: str, new: str) -> None:
    ir.SymbolTable.replace_all_symbol_uses(old, new, module.operation)
    ir.SymbolTable.set_symbol_name(function, new)


def _functions(module: ir.Module) -> dict[str, ir.OpView]:
    return {
        ir.StringAttr(op.attributes["sym_name"]).value: op
        for op in module.body.operations
        if op.operation.name == "func.func"
    }


def _function(module: ir.Module, name: str) -> ir.OpView:
    functions = _functions(module)
    if name not in functions:
        known = ", ".join(f"@{known}" for known in functions) or "none"
        raise CompileError(f"the module has no function @{name}", remedy=f"func_name= names one of: {known}")
    function = functions[name]
    if not function.regions[0].blocks:
        raise CompileError(f"@{name} has no body", where=_place(function.location))
    return function


def _check_signature(function: ir.OpView, name: str) -> None:
    known = ", ".join(dtype for dtype in DTYPES if dtype != "index")
    type_ = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    for kind, types in (("argument", type_.inputs), ("result", type_.results)):
        for number, value in enumerate(types):
            problem = _problem(value, kind)
            if problem:
                raise CompileError(
                    f"{kind} {number} of @{name} is {value}, {problem}",
                    where=_place(function.location),
                    remedy=f"use ranked tensors of {known}",
                )
    if not type_.results:
        raise CompileError(f"@{name} has no results", remedy="return the tensors that it computes")


def _problem(type_: ir.Type, kind: str) -> str:
    """Why a value of this type cannot be passed, or an empty text."""
    if isinstance(type_, ir.UnrankedTensorType):
        return "which has no rank"
    if isinstance(type_, ir.RankedTensorType):
        if type_.encoding is not None:
            return "whose encoding is not supported"
        return "" if str(type_.element_type) in DTYPES else "whose elements are not supported"
    if kind == "argument" and str(type_) in DTYPES:
        return ""
    return "which is not a tensor"


def _place(location: ir.Location) -> str:
    """``"-":2:10``, of text without a file, as ``line 2, column 10``."""
    text = str(location).removeprefix("loc(").removesuffix(")")
    file, line, column = text.rsplit(":", 2) if text.count(":") > 1 else (text, "", "")
    return f"line {line}, column {column}" if file == '"-"' else text
