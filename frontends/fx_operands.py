"""Operands in torch-mlir's torch dialect: the values of nodes, and constants, which are ops there.

Each op is one line of MLIR's generic form; fx_text.py writes a whole graph of them.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Sequence
from typing import Any

import torch
from torch.fx import Node

from .sizes import known_size
from .source_lines import SourceLine
from .unsupported import check_dense, unsupported_dtype, unsupported_ops

DTYPE_ASM: dict[torch.dtype, str] = {
    torch.float64: "f64",
    torch.float32: "f32",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.float8_e4m3fn: "f8E4M3FN",
    torch.float8_e5m2: "f8E5M2",
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
    torch.float8_e5m2: 23, torch.float8_e4m3fn: 24,
    torch.strided: 0,
    torch.contiguous_format: 0, torch.preserve_format: 1, torch.channels_last: 2, torch.channels_last_3d: 3,
}  # fmt: skip

_LIST_ELEMENTS = {"int": "int", "float": "float", "bool": "bool", "Tensor": "vtensor", "SymInt": "int"}
_SCALAR_TYPES: list[tuple[Any, str]] = [
    ((bool, torch.SymBool), "!torch.bool"),
    ((int, torch.SymInt), "!torch.int"),
    ((float, torch.SymFloat), "!torch.float"),
    (str, "!torch.str"),
    (type(None), "!torch.none"),
]


def tensor_type(value: torch.Tensor, line: SourceLine | None) -> str:
    """The dialect's type of ``value``; symbolic sizes are ``?``."""
    if value.dtype not in DTYPE_ASM:
        raise unsupported_dtype(str(value.dtype), line)
    check_dense(value, "a value", line)
    sizes = ",".join("?" if (size := known_size(each)) is None else str(size) for each in value.shape)
    return f"!torch.vtensor<[{sizes}],{DTYPE_ASM[value.dtype]}>"


class Operands:
    """The lines of a function as they are written; a value is a pair (SSA name, type).

    ``values`` has what nodes gave so far, by (node, number of the result); ``line`` is the source
    line of the node at hand.
    """

    def __init__(self) -> None:
        self.values: dict[tuple[Node, int], tuple[str, str]] = {}
        self.lines: list[str] = []
        self.line: SourceLine | None = None
        self._constants: dict[tuple[str, str], tuple[str, str]] = {}
        self._next = 0

    def type_of(self, value: Any) -> str:
        """The dialect's type of ``value``: a tensor, a list of tensors, or a number."""
        if isinstance(value, torch.Tensor):
            return tensor_type(value, self.line)
        if isinstance(value, (list, tuple)):
            return "!torch.list<vtensor>"
        for python, type_ in _SCALAR_TYPES:
            if isinstance(value, python):
                return type_
        raise unsupported_ops([(f"a value of type {type(value).__name__}", self.line)])

    def emit(
        self, name: str, operands: Sequence[tuple[str, str]], types: Sequence[str], attr: str = ""
    ) -> list[str]:
        """One op; returns the names of its results."""
        results = [f"%{self._next + i}" for i in range(len(types))]
        self._next += len(types)
        left = ", ".join(results) + " = " if results else ""
        args = ", ".join(name for name, _ in operands)
        arg_types = ", ".join(type_ for _, type_ in operands)
        where = f" loc({self.line.asm()})" if self.line else ""
        self.lines.append(f'{left}"{name}"({args}){attr} : ({arg_types}) -> ({", ".join(types)}){where}')
        return results

    def _constant(self, name: str, value: str, type_: str) -> tuple[str, str]:
        """A constant; equal ones are written once, where the first is needed."""
        if (name, value) not in self._constants:
            attr = f" {{value = {value}}}" if value else ""
            self._constants[name, value] = (self.emit(name, [], [type_], attr)[0], type_)
        return self._constants[name, value]

    def operand(self, arg: Any, expected: Any) -> tuple[str, str]:
        """The value of ``arg``, a node or a Python constant, for a parameter of type ``expected``."""
        if isinstance(arg, Node):
            value = self.values[arg, 0]
            return self._number_from_bool(value, expected)
        if isinstance(arg, (list, tuple)):
            return self._list(arg, expected)
        if isinstance(expected, torch.TensorType) and isinstance(arg, (bool, int, float)):
            type_ = self.type_of(torch.tensor(arg))
            return self.emit("torch.prim.NumToTensor.Scalar", [self.operand(arg, None)], [type_])[0], type_
        if arg is None:
            return self._constant("torch.constant.none", "", "!torch.none")
        if isinstance(arg, bool):
            value = self._constant("torch.constant.bool", str(arg).lower(), "!torch.bool")
            return self._number_from_bool(value, expected)
        if isinstance(arg, int):
            return self._constant("torch.constant.int", f"{arg} : i64", "!torch.int")
        if isinstance(arg, float):
            return self._constant("torch.constant.float", float_asm(arg), "!torch.float")
        if isinstance(arg, str):
            return self._constant("torch.constant.str", json.dumps(arg), "!torch.str")
        if isinstance(arg, torch.device):
            return self._constant("torch.constant.device", json.dumps(str(arg)), "!torch.Device")
        if arg in _ENUMS:
            return self.operand(_ENUMS[arg], None)
        if isinstance(arg, torch.dtype):
            raise unsupported_dtype(str(arg), self.line)
        raise unsupported_ops([(f"an argument {arg!r}", self.line)])

    def _number_from_bool(self, value: tuple[str, str], expected: Any) -> tuple[str, str]:
        if value[1] != "!torch.bool":
            return value
        if isinstance(expected, torch.FloatType):
            return self.emit("torch.aten.Float.bool", [value], ["!torch.float"])[0], "!torch.float"
        if isinstance(expected, (torch.IntType, torch.NumberType)):
            return self.emit("torch.aten.Int.bool", [value], ["!torch.int"])[0], "!torch.int"
        return value

    def _list(self, items: Sequence[Any], expected: Any) -> tuple[str, str]:
        declared = re.fullmatch(r"(?:Optional\[)?List\[(Optional\[)?(\w+)\]?\]\]?", str(expected))
        if declared is None:
            raise unsupported_ops([(f"a list for a parameter of type {expected}", self.line)])
        element = _LIST_ELEMENTS[declared[2]]
        if element == "float":
            items = [float(item) if isinstance(item, int) else item for item in items]
        type_ = f"!torch.list<optional<{element}>>" if declared[1] else f"!torch.list<{element}>"
        operands = [self.operand(item, None) for item in items]
        return self.emit("torch.prim.ListConstruct", operands, [type_])[0], type_


def float_asm(value: float) -> str:
    """An f64 attribute with exactly this value; infinities and NaN as bits."""
    if value != value or value in (float("inf"), float("-inf")):
        return f"0x{struct.pack('>d', value).hex().upper()} : f64"
    text = repr(value)
    mantissa, _, exponent = text.partition("e")
    if "." not in mantissa:
        mantissa += ".0"
    return f"{mantissa}e{exponent} : f64" if exponent else f"{mantissa} : f64"
