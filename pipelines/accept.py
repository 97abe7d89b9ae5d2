"""The module that a caller hands in: parsed, checked to be one that can be compiled, @main named.

What is wrong here is wrong in the caller's text, and the error says so with the line; what
fails later is a bug of ours.
"""

from __future__ import annotations

from mlir import ir

from ..errors import CompileError, UnsupportedOpError
from ..passes.cpu.functions import calls_in
from .accepted_ops import objection
from .metadata import DTYPES

ENTRY = "main"


def accept(text: str, func_name: str = ENTRY) -> ir.Module:
    """``text`` as a module whose only public function is @main, the one called ``func_name`` there."""
    module = parse(text)
    function = _function(module, func_name)
    _check_signature(function, func_name)
    _check_bodies(module, func_name)
    for name, other in _functions(module).items():
        other.attributes["sym_visibility"] = ir.StringAttr.get("public" if name == func_name else "private")
        if name == ENTRY != func_name:
            _rename(module, other, ENTRY, f"{ENTRY}_besides_{func_name}")
    _rename(module, function, func_name, ENTRY)
    return module


def parse(text: str) -> ir.Module:
    """``text`` as a module; `CompileError` with the lines that are wrong."""
    try:
        return ir.Module.parse(text)
    except ir.MLIRError as error:
        lines = [f"{_place(entry.location)}: {entry.message}" for entry in error.error_diagnostics]
        raise CompileError("the MLIR text cannot be parsed", details="\n".join(lines)) from None


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
        known = ", ".join(f"@{known}" for known in functions)
        if not known:
            raise CompileError("the module has no function", remedy=f"pass one with a func.func @{name}")
        raise CompileError(
            f"the module has no function @{name}",
            remedy=f"func_name= (of a command: --func) names one of: {known}",
        )
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


def _check_bodies(module: ir.Module, name: str) -> None:
    """Check @name and all functions that it calls, and what else the module holds."""
    functions = _functions(module)
    called: dict[str, None] = {}
    _follow_calls(functions, name, called, ())
    others = [op.operation for op in module.body.operations if op.operation.name != "func.func"]
    for op in (*others, *(functions[each].operation for each in called)):
        found = objection(op)
        if found is not None:
            where, what, remedy = found
            raise UnsupportedOpError(what, where=_place(where.location), remedy=remedy)


def _follow_calls(
    functions: dict[str, ir.OpView], name: str, called: dict[str, None], callers: tuple[str, ...]
) -> None:
    """Note @name and what it calls in ``called``; calls are inlined, so they must come to an end."""
    function = functions[name]
    if name in callers:
        raise UnsupportedOpError(
            f"@{name} calls itself", where=_place(function.location), remedy="use scf.while"
        )
    if len(function.regions[0].blocks) != 1:
        what = "has no body" if not function.regions[0].blocks else "has branches between blocks"
        remedy = (
            "use scf.if, scf.for and scf.while" if function.regions[0].blocks else "define it in the module"
        )
        raise UnsupportedOpError(f"@{name} {what}", where=_place(function.location), remedy=remedy)
    if name in called:
        return
    called[name] = None
    for _, callee in calls_in(function):
        _follow_calls(functions, callee, called, (*callers, name))


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
