"""FX graph -> text of torch-mlir's torch dialect, in MLIR's generic form, without torch_mlir.

The user's process may not load torch_mlir (its LLVM clashes with other MLIR packages), so
this writes what torch_mlir's FxImporter would build, as text: one function ``@main`` whose
arguments are the graph's placeholders in order, and one op a node::

    %5 = "torch.aten.relu"(%4) : (!torch.vtensor<[4,8],f32>) -> !torch.vtensor<[4,8],f32> loc("model.py":12:0)

Whether torch-mlir knows an op is for the import worker to say.
"""

from __future__ import annotations

import json
import operator
import re
import struct
from collections.abc import Sequence
from typing import Any

import torch
from torch.fx import Graph, Node

from .source_lines import SourceLine, source_line
from .unsupported import unsupported_dtype, unsupported_ops

DTYPE_ASM: dict[torch.dtype, str] = {
    torch.float64: "f64",
    torch.float32: "f32",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.int64: "si64",
    torch.int32: "si32",
    torch.int16: "si16",
    torch.int8: "si8",
    torch.uint8: "ui8",
    torch.bool: "i1",
}

# torch's own numbers for what a graph holds as Python objects (c10::ScalarType and so on).
_ENUMS: dict[Any, int] = {
    torch.uint8: 0, torch.int8: 1, torch.int16: 2, torch.int32: 3, torch.int64: 4,
    torch.float16: 5, torch.float32: 6, torch.float64: 7, torch.bool: 11, torch.bfloat16: 15,
    torch.strided: 0,
    torch.contiguous_format: 0, torch.preserve_format: 1, torch.channels_last: 2, torch.channels_last_3d: 3,
}  # fmt: skip

# Python operators on sizes: the aten op of the same meaning on ints.
_SIZE_OPS: dict[Any, str] = {
    operator.add: "torch.aten.add.int",
    operator.sub: "torch.aten.sub.int",
    operator.mul: "torch.aten.mul.int",
    operator.floordiv: "torch.aten.floordiv.int",
    operator.mod: "torch.aten.remainder.int",
    operator.neg: "torch.aten.neg.int",
    torch.ops.aten.sym_size.int: "torch.aten.size.int",
    torch.ops.aten.sym_numel.default: "torch.aten.numel",
}

# A tensor overload whose second operand is a Python number: the overload for numbers.
_SCALAR_OVERLOADS: dict[Any, Any] = {
    torch.ops.aten.mul.Tensor: torch.ops.aten.mul.Scalar,
    torch.ops.aten.div.Tensor: torch.ops.aten.div.Scalar,
    torch.ops.aten.add.Tensor: torch.ops.aten.add.Scalar,
    torch.ops.aten.sub.Tensor: torch.ops.aten.sub.Scalar,
    torch.ops.aten.floor_divide.default: torch.ops.aten.floor_divide.Scalar,
}

# The same op under torch-mlir's name: (overload whose schema it has, number of operands kept).
RENAMED: dict[Any, tuple[Any, int]] = {
    torch.ops.aten.lift_fresh_copy.default: (torch.ops.aten.clone.default, 1),
    torch.ops.aten._unsafe_index_put.default: (torch.ops.aten._unsafe_index_put.hacked_twin, 4),
    # The result's type says that the products are summed, and stay, in f32.
    torch.ops.aten.mm.dtype: (torch.ops.aten.mm.default, 2),
    torch.ops.aten.bmm.dtype: (torch.ops.aten.bmm.default, 2),
    torch.ops.prims.shift_left.default: (torch.ops.aten.bitwise_left_shift.Tensor, 2),
    torch.ops.prims.shift_right_arithmetic.default: (torch.ops.aten.bitwise_right_shift.Tensor, 2),
}

_LIST_ELEMENTS = {"int": "int", "float": "float", "bool": "bool", "Tensor": "vtensor", "SymInt": "int"}


def graph_to_text(graph: Graph, result_sizes: Sequence[str] = ()) -> str:
    """The text of a module with ``graph`` as ``@main``; ``result_sizes`` becomes its attribute."""
    return _Writer(result_sizes).write(graph)


def tensor_type(value: torch.Tensor, line: SourceLine | None) -> str:
    """The dialect's type of ``value``; symbolic sizes are ``?``."""
    if value.dtype not in DTYPE_ASM:
        raise unsupported_dtype(str(value.dtype), line)
    if value.layout is not torch.strided:
        raise unsupported_dtype(f"{value.layout} tensors", line)
    sizes = ",".join(str(s) if isinstance(s, int) else "?" for s in value.shape)
    return f"!torch.vtensor<[{sizes}],{DTYPE_ASM[value.dtype]}>"


class _Writer:
    """One function's text; a value is a pair (SSA name, type)."""

    def __init__(self, result_sizes: Sequence[str]) -> None:
        self._result_sizes = result_sizes
        self._values: dict[tuple[Node, int], tuple[str, str]] = {}
        self._constants: dict[tuple[str, str], tuple[str, str]] = {}
        self._lists: dict[Node, list[tuple[str, str]]] = {}
        self._lines: list[str] = []
        self._next = 0
        self._line: SourceLine | None = None

    def write(self, graph: Graph) -> str:
        arguments: list[tuple[str, str]] = []
        names: list[str] = []
        results: list[tuple[str, str]] = []
        for node in graph.nodes:
            self._line = source_line(node) or self._line
            if node.op == "placeholder":
                value = (f"%arg{len(arguments)}", self._type(node.meta["val"]))
                arguments.append(value)
                names.append(node.name)
                self._values[node, 0] = value
            elif node.op == "call_function":
                self._call(node)
            elif node.op == "get_attr":
                self._literal(node)
            elif node.op == "output":
                results = [self._operand(arg, None) for arg in node.args[0]]
        located = zip(arguments, names, strict=True)
        head = ", ".join(f"{value}: {type_} loc({json.dumps(name)})" for (value, type_), name in located)
        types = ", ".join(type_ for _, type_ in arguments)
        result_types = ", ".join(type_ for _, type_ in results)
        returned = ", ".join(name for name, _ in results)
        sizes = ", ".join(json.dumps(size) for size in self._result_sizes)
        attribute = f" {{mlopt.result_sizes = [{sizes}]}}" if sizes else ""
        return "\n".join(
            [
                '"builtin.module"() ({',
                f'"func.func"() <{{function_type = ({types}) -> ({result_types}), sym_name = "main"}}> ({{',
                f"^bb0({head}):",
                *self._lines,
                f'"func.return"({returned}) : ({result_types}) -> () loc(unknown)',
                f"}}){attribute} : () -> () loc(unknown)",
                "}) : () -> () loc(unknown)",
                "",
            ]
        )

    def _type(self, value: Any) -> str:
        if isinstance(value, torch.Tensor):
            return tensor_type(value, self._line)
        if isinstance(value, (list, tuple)):
            return "!torch.list<vtensor>"
        for python, type_ in _SCALAR_TYPES:
            if isinstance(value, python):
                return type_
        raise unsupported_ops([(f"a value of type {type(value).__name__}", self._line)])

    def _emit(
        self, name: str, operands: Sequence[tuple[str, str]], types: Sequence[str], attr: str = ""
    ) -> list[str]:
        """One op; returns the names of its results."""
        results = [f"%{self._next + i}" for i in range(len(types))]
        self._next += len(types)
        left = ", ".join(results) + " = " if results else ""
        args = ", ".join(name for name, _ in operands)
        arg_types = ", ".join(type_ for _, type_ in operands)
        where = f" loc({self._line.asm()})" if self._line else ""
        self._lines.append(f'{left}"{name}"({args}){attr} : ({arg_types}) -> ({", ".join(types)}){where}')
        return results

    def _constant(self, name: str, value: str, type_: str) -> tuple[str, str]:
        """A constant; equal ones are written once, where the first is needed."""
        if (name, value) not in self._constants:
            attr = f" {{value = {value}}}" if value else ""
            self._constants[name, value] = (self._emit(name, [], [type_], attr)[0], type_)
        return self._constants[name, value]

    def _operand(self, arg: Any, expected: Any) -> tuple[str, str]:
        """The value of ``arg``, a node or a Python constant, for a parameter of type ``expected``."""
        if isinstance(arg, Node):
            value = self._values[arg, 0]
            return self._number_from_bool(value, expected)
        if isinstance(arg, (list, tuple)):
            return self._list(arg, expected)
        if isinstance(expected, torch.TensorType) and isinstance(arg, (bool, int, float)):
            type_ = self._type(torch.tensor(arg))
            return self._emit("torch.prim.NumToTensor.Scalar", [self._operand(arg, None)], [type_])[0], type_
        if arg is None:
            return self._constant("torch.constant.none", "", "!torch.none")
        if isinstance(arg, bool):
            value = self._constant("torch.constant.bool", str(arg).lower(), "!torch.bool")
            return self._number_from_bool(value, expected)
        if isinstance(arg, int):
            return self._constant("torch.constant.int", f"{arg} : i64", "!torch.int")
        if isinstance(arg, float):
            return self._constant("torch.constant.float", _float_asm(arg), "!torch.float")
        if isinstance(arg, str):
            return self._constant("torch.constant.str", json.dumps(arg), "!torch.str")
        if isinstance(arg, torch.device):
            return self._constant("torch.constant.device", json.dumps(str(arg)), "!torch.Device")
        if arg in _ENUMS:
            return self._operand(_ENUMS[arg], None)
        if isinstance(arg, torch.dtype):
            raise unsupported_dtype(str(arg), self._line)
        raise unsupported_ops([(f"an argument {arg!r}", self._line)])

    def _number_from_bool(self, value: tuple[str, str], expected: Any) -> tuple[str, str]:
        if value[1] != "!torch.bool":
            return value
        if isinstance(expected, torch.FloatType):
            return self._emit("torch.aten.Float.bool", [value], ["!torch.float"])[0], "!torch.float"
        if isinstance(expected, (torch.IntType, torch.NumberType)):
            return self._emit("torch.aten.Int.bool", [value], ["!torch.int"])[0], "!torch.int"
        return value

    def _list(self, items: Sequence[Any], expected: Any) -> tuple[str, str]:
        declared = re.fullmatch(r"(?:Optional\[)?List\[(Optional\[)?(\w+)\]?\]\]?", str(expected))
        if declared is None:
            raise unsupported_ops([(f"a list for a parameter of type {expected}", self._line)])
        element = _LIST_ELEMENTS[declared[2]]
        if element == "float":
            items = [float(item) if isinstance(item, int) else item for item in items]
        type_ = f"!torch.list<optional<{element}>>" if declared[1] else f"!torch.list<{element}>"
        operands = [self._operand(item, None) for item in items]
        return self._emit("torch.prim.ListConstruct", operands, [type_])[0], type_

    def _call(self, node: Node) -> None:
        target = node.target
        if target is operator.getitem:
            self._getitem(node)
        elif target in (torch.ops.aten._assert_async.msg, torch.ops.aten._assert_async.default):
            self._assert(node)
        elif target in _SIZE_OPS and not isinstance(node.meta["val"], torch.SymFloat):
            operands = [self._operand(arg, None) for arg in node.args]
            self._values[node, 0] = self._emit(_SIZE_OPS[target], operands, ["!torch.int"])[0], "!torch.int"
        elif isinstance(target, torch._ops.OpOverload):
            self._aten(node, target)
        else:
            raise unsupported_ops([(getattr(target, "__name__", str(target)), self._line)])

    def _aten(self, node: Node, target: torch._ops.OpOverload) -> None:
        args: Sequence[Any] = node.args
        if target in RENAMED:
            target, kept = RENAMED[target]
            args = args[:kept]
        if target in _SCALAR_OVERLOADS and _is_number(args[1]):
            target = _SCALAR_OVERLOADS[target]
        schema = target._schema
        operands = []
        for i, parameter in enumerate(schema.arguments):
            arg = args[i] if i < len(args) else node.kwargs.get(parameter.name, parameter.default_value)
            operands.append(self._operand(arg, parameter.type))
        value = node.meta["val"]
        values = [value] if len(schema.returns) == 1 else list(value or ())
        types = [self._type(v) for v in values]
        name = ".".join(["torch", *schema.name.split("::"), *filter(None, [schema.overload_name])])
        for i, result in enumerate(self._emit(name, operands, types)):
            self._values[node, i] = result, types[i]

    def _assert(self, node: Node) -> None:
        """A check of one element when the function runs; its failure is eager's RuntimeError."""
        condition, *message = node.args
        text = message[0] if message else "Expected Tensor with single nonzero value, but got zero"
        holds = self._emit("torch.aten.Bool.Tensor", [self._operand(condition, None)], ["!torch.bool"])[0]
        attr = f" {{message = {json.dumps(f'RuntimeError: {text}')}}}"
        self._emit("torch.runtime.assert", [(holds, "!torch.bool")], [], attr)

    def _getitem(self, node: Node) -> None:
        source, index = node.args
        assert isinstance(source, Node) and isinstance(index, int)
        if self._values[source, 0][1] != "!torch.list<vtensor>":
            self._values[node, 0] = self._values[source, index]
            return
        if source not in self._lists:
            types = [self._type(v) for v in source.meta["val"]]
            names = self._emit("torch.prim.ListUnpack", [self._values[source, 0]], types)
            self._lists[source] = list(zip(names, types, strict=True))
        self._values[node, 0] = self._lists[source][index]

    def _literal(self, node: Node) -> None:
        """A tensor of one element that a decomposition made; larger ones are arguments by now."""
        value = getattr(node.graph.owning_module, str(node.target))
        type_ = self._type(value)
        element = DTYPE_ASM[value.dtype]
        shape = "".join(f"{s}x" for s in value.shape)
        item = value.item()
        asm = _float_asm(item).split(" ")[0] if isinstance(item, float) else str(item).lower()
        attr = f" {{value = dense<{asm}> : tensor<{shape}{element}>}}"
        self._values[node, 0] = self._emit("torch.vtensor.literal", [], [type_], attr)[0], type_


_SCALAR_TYPES: list[tuple[Any, str]] = [
    ((bool, torch.SymBool), "!torch.bool"),
    ((int, torch.SymInt), "!torch.int"),
    ((float, torch.SymFloat), "!torch.float"),
    (str, "!torch.str"),
    (type(None), "!torch.none"),
]


def _is_number(arg: Any) -> bool:
    value = arg.meta.get("val") if isinstance(arg, Node) else arg
    return isinstance(value, (int, float, torch.SymInt, torch.SymFloat))


def _float_asm(value: float) -> str:
    """An f64 attribute with exactly this value; infinities and NaN as bits."""
    if value != value or value in (float("inf"), float("-inf")):
        return f"0x{struct.pack('>d', value).hex().upper()} : f64"
    text = repr(value)
    mantissa, _, exponent = text.partition("e")
    if "." not in mantissa:
        mantissa += ".0"
    return f"{mantissa}e{exponent} : f64" if exponent else f"{mantissa} : f64"
