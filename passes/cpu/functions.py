"""Changing functions and their calls: extra arguments, call graph order, fresh names."""

from __future__ import annotations

from mlir import ir
from mlir.dialects import func

from ...dialects.attributes import KERNEL, ArgumentMark, argument_attributes
from ..operations import attributes_of, callee_of, ops_named


def defined_functions(module: ir.Operation) -> list[func.FuncOp]:
    """The functions with a body."""
    block = module.regions[0].blocks[0]
    return [op for op in block.operations if isinstance(op, func.FuncOp) and not op.is_external]


def hosts_of(module: ir.Operation) -> list[ir.Operation]:
    """The functions with a body that are no kernels: those that call them."""
    found = (function.operation for function in defined_functions(module))
    return [function for function in found if not KERNEL.get(function)]


def calls_in(function: func.FuncOp) -> list[tuple[ir.Operation, str]]:
    """Every direct call in ``function``, with the name that it calls."""
    return [(call, callee_of(call)) for call in ops_named(function, "func.call")]


def callees_first(module: ir.Operation) -> list[func.FuncOp]:
    """The functions with a body, each after those it calls."""
    return [function for function, _ in with_calls(module)]


def with_calls(module: ir.Operation) -> list[tuple[func.FuncOp, list[tuple[ir.Operation, str]]]]:
    """The functions with a body, each after those it calls, with their calls as `calls_in` gives them."""
    by_name = {function.sym_name.value: function for function in defined_functions(module)}
    calls = {name: calls_in(function) for name, function in by_name.items()}
    ordered: list[str] = []
    seen: set[str] = set()

    def visit(name: str) -> None:
        if name in seen or name not in by_name:
            return
        seen.add(name)
        for callee in dict.fromkeys(callee for _, callee in calls[name]):
            visit(callee)
        ordered.append(name)

    for name in by_name:
        visit(name)
    return [(by_name[name], calls[name]) for name in ordered]


def reaches(module: ir.Operation, op_name: str) -> set[str]:
    """The names of the functions that hold an op called ``op_name`` or call one that does."""
    holders = [function for function in defined_functions(module) if ops_named(function, op_name)]
    return callers_of(module, {function.sym_name.value for function in holders})


def callers_of(module: ir.Operation, names: set[str]) -> set[str]:
    """``names``, and the names of the functions that call one of them, directly or not."""
    found = set(names)
    for function, calls in with_calls(module) if names else ():
        if any(callee in found for _, callee in calls):
            found.add(function.sym_name.value)
    return found


def append_argument(function: func.FuncOp, type_: ir.Type, mark: ArgumentMark[bool]) -> ir.Value:
    """A new last argument of ``function``, with the attribute ``mark``; calls are not touched."""
    function_type = function.type
    attributes = argument_attributes(function)
    argument = function.entry_block.add_argument(type_, function.location)
    function.attributes["function_type"] = ir.TypeAttr.get(
        ir.FunctionType.get([*function_type.inputs, type_], function_type.results)
    )
    function.attributes["arg_attrs"] = ir.ArrayAttr.get([*attributes, mark.added(None, True)])
    return argument


def marked_argument(function: func.FuncOp, mark: ArgumentMark[bool]) -> ir.Value | None:
    """The argument of ``function`` that has the attribute ``mark``."""
    for argument, attributes in zip(function.arguments, argument_attributes(function), strict=True):
        if mark.get(attributes):
            return argument
    return None


def append_operands(call: ir.Operation, values: list[ir.Value]) -> ir.Operation:
    """The call again with more operands; the old one is erased."""
    with ir.InsertionPoint(call), call.location:
        again = ir.Operation.create(
            "func.call",
            results=[result.type for result in call.results],
            operands=[*call.operands, *values],
            attributes=attributes_of(call),
        )
    for old, new in zip(call.results, again.results, strict=True):
        old.replace_all_uses_with(new)
    call.erase()
    return again


def thread_through(module: ir.Operation, names: set[str], type_: ir.Type, mark: ArgumentMark[bool]) -> None:
    """Give the functions ``names`` an argument marked ``mark``, and pass it along in their calls."""
    for function, calls in with_calls(module) if names else ():
        if function.sym_name.value not in names:
            continue
        argument = append_argument(function, type_, mark)
        for call, callee in calls:
            if callee in names:
                append_operands(call, [argument])


def adopt_function(module: ir.Operation, text: str) -> ir.Operation:
    """Append the last function of ``text`` to ``module``; those before only declare what it calls."""
    parsed = ir.Module.parse(text)
    function: ir.Operation = parsed.body.operations[-1].operation
    module.regions[0].blocks[0].append(function)
    return function


def fresh_name(module: ir.Operation, wanted: str) -> str:
    """``wanted``, or ``wanted_N`` if the module has such a symbol already."""
    symbols = ir.SymbolTable(module)
    name, number = wanted, 0
    while name in symbols:
        name, number = f"{wanted}_{number}", number + 1
    return name


def set_private(function: func.FuncOp) -> None:
    """No symbol of the object, in MLIR's eyes and in LLVM's."""
    function.attributes["sym_visibility"] = ir.StringAttr.get("private")
    function.attributes["llvm.linkage"] = ir.Attribute.parse("#llvm.linkage<internal>")


def set_noinline(function: func.FuncOp) -> None:
    """Stays a function of its own: code is easier to find, and LLVM's time stays linear."""
    function.attributes["passthrough"] = ir.ArrayAttr.get([ir.StringAttr.get("noinline")])


def is_public(function: func.FuncOp) -> bool:
    """Whether a caller from outside may see it."""
    attributes = function.attributes
    return "sym_visibility" not in attributes or ir.StringAttr(attributes["sym_visibility"]).value == "public"
