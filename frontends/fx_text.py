"""FX graph -> text of torch-mlir's torch dialect, in MLIR's generic form, without torch_mlir.

The user's process may not load torch_mlir (its LLVM clashes with other MLIR packages), so
this writes what torch_mlir's FxImporter would build, as text: one function ``@main`` whose
arguments are the graph's placeholders in order, and one op a node::

    %5 = "torch.aten.relu"(%4) : (!torch.vtensor<[4,8],f32>) -> !torch.vtensor<[4,8],f32> loc("model.py":12:0)

Whether torch-mlir knows an op is for the import worker to say.
"""

from __future__ import annotations

import json
import math
import operator
from collections.abc import Sequence
from typing import Any

import torch
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.fx import Graph, Node

from .decomposing.scaled import mm_float8
from .decomposing.scans import kind_of, running_max, running_min
from .fx_operands import DTYPE_ASM, Operands, float_asm
from .source_lines import source_line
from .unsupported import NUMBER_REMEDY, unsupported_ops

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
    torch.sym_min: "torch.prim.min.int",
    torch.sym_max: "torch.prim.max.int",
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
    mm_float8: (torch.ops.aten.mm.default, 2),
    # A mark says how they combine.
    running_max: (torch.ops.aten.logcumsumexp.default, 2),
    running_min: (torch.ops.aten.logcumsumexp.default, 2),
    torch.ops.prims.shift_left.default: (torch.ops.aten.bitwise_left_shift.Tensor, 2),
    torch.ops.prims.shift_right_arithmetic.default: (torch.ops.aten.bitwise_right_shift.Tensor, 2),
}

# What torch-mlir lowers to wrong values, and in which cases a decomposition leaves it there.
_WRONG: dict[Any, str] = {
    torch.ops.aten.adaptive_max_pool3d.default: "with dynamic depth, height or width, or without windows",
    torch.ops.aten._adaptive_avg_pool2d.default: "with dynamic height or width, or without windows",
    torch.ops.aten._adaptive_avg_pool3d.default: "with dynamic depth, height or width, or without windows",
}
# What ends its process where elements are integers.
_OF_FLOATS = (torch.ops.aten.max_pool3d_with_indices.default,)


def graph_to_text(graph: Graph, result_sizes: Sequence[str] = ()) -> str:
    """The text of a module with ``graph`` as ``@main``; ``result_sizes`` becomes its attribute."""
    return _Writer(result_sizes).write(graph)


def _attributes(**lists: Sequence[str]) -> str:
    """Those of the function that are not empty."""
    texts = [f"mlopt.{name} = [{', '.join(map(json.dumps, each))}]" for name, each in lists.items() if each]
    return f" {{{', '.join(texts)}}}" if texts else ""


def _equal_sizes(inputs: Sequence[Any]) -> list[str]:
    """The sizes of inputs that have one symbol, which guards compare: "a0_0 = a1_0"."""
    places: dict[Any, list[str]] = {}
    for number, value in enumerate(inputs):
        sizes: Sequence[Any] = value.shape if isinstance(value, torch.Tensor) else ()
        for dim, size in enumerate(sizes):
            if isinstance(size, torch.SymInt) and size.node.expr.is_Symbol:
                places.setdefault(size.node.expr, []).append(f"a{number}_{dim}")
    return [" = ".join(each) for each in places.values() if len(each) > 1]


class _Writer(Operands):
    """One function's text."""

    def __init__(self, result_sizes: Sequence[str]) -> None:
        super().__init__()
        self._result_sizes = result_sizes
        self._lists: dict[Node, list[tuple[str, str]]] = {}

    def write(self, graph: Graph) -> str:
        arguments: list[tuple[str, str]] = []
        names: list[str] = []
        results: list[tuple[str, str]] = []
        for node in graph.nodes:
            self.line = source_line(node) or self.line
            if node.op == "placeholder":
                value = (f"%arg{len(arguments)}", self.type_of(node.meta["val"]))
                arguments.append(value)
                names.append(node.name)
                self.values[node, 0] = value
            elif node.op == "call_function":
                self._call(node)
            elif node.op == "get_attr":
                self._literal(node)
            elif node.op == "output":
                results = [self.operand(arg, None) for arg in node.args[0]]
        inputs = [node.meta["val"] for node in graph.nodes if node.op == "placeholder"]
        located = zip(arguments, names, strict=True)
        head = ", ".join(f"{value}: {type_} loc({json.dumps(name)})" for (value, type_), name in located)
        types = ", ".join(type_ for _, type_ in arguments)
        result_types = ", ".join(type_ for _, type_ in results)
        returned = ", ".join(name for name, _ in results)
        attribute = _attributes(equal_sizes=_equal_sizes(inputs), result_sizes=self._result_sizes)
        return "\n".join(
            [
                '"builtin.module"() ({',
                f'"func.func"() <{{function_type = ({types}) -> ({result_types}), sym_name = "main"}}> ({{',
                f"^bb0({head}):",
                *self.lines,
                f'"func.return"({returned}) : ({result_types}) -> () loc(unknown)',
                f"}}){attribute} : () -> () loc(unknown)",
                "}) : () -> () loc(unknown)",
                "",
            ]
        )

    def _call(self, node: Node) -> None:
        target = node.target
        if target is operator.getitem:
            self._getitem(node)
        elif target in (torch.ops.aten._assert_async.msg, torch.ops.aten._assert_async.default):
            self._assert(node)
        elif target in _SIZE_OPS and not isinstance(node.meta["val"], torch.SymFloat):
            operands = [self.operand(arg, None) for arg in node.args]
            self.values[node, 0] = self.emit(_SIZE_OPS[target], operands, ["!torch.int"])[0], "!torch.int"
        elif isinstance(target, torch._ops.OpOverload):
            self._aten(node, target)
        else:
            raise unsupported_ops([(getattr(target, "__name__", str(target)), self.line)])

    def _aten(self, node: Node, target: torch._ops.OpOverload) -> None:
        args: Sequence[Any] = node.args
        if target is torch.ops.aten._local_scalar_dense.default:
            raise unsupported_ops([("a number that is read from a tensor", self.line)], NUMBER_REMEDY)
        if target in _WRONG:
            raise unsupported_ops([(f"{target.overloadpacket} {_WRONG[target]}", self.line)])
        if target in _OF_FLOATS and not node.all_input_nodes[0].meta["val"].is_floating_point():
            raise unsupported_ops([(f"{target.overloadpacket} of integers", self.line)])
        combines = kind_of(target, node.meta["val"].dtype) if target in (running_max, running_min) else None
        if target in RENAMED:
            target, kept = RENAMED[target]
            args = args[:kept]
        if target in _SCALAR_OVERLOADS and _is_number(args[1]):
            target = _SCALAR_OVERLOADS[target]
        schema = target._schema
        operands = []
        for i, parameter in enumerate(schema.arguments):
            arg = args[i] if i < len(args) else node.kwargs.get(parameter.name, parameter.default_value)
            operands.append(self.operand(arg, parameter.type))
        value = node.meta["val"]
        values = [value] if len(schema.returns) == 1 else list(value or ())
        types = [self.type_of(v) for v in values]
        name = ".".join(["torch", *schema.name.split("::"), *filter(None, [schema.overload_name])])
        attr = f' {{mlopt.kind = "{combines}"}}' if combines else ""
        for i, result in enumerate(self.emit(name, operands, types, attr)):
            self.values[node, i] = result, types[i]

    def _assert(self, node: Node) -> None:
        """A check of one element when the function runs; its failure is eager's RuntimeError."""
        condition, *message = node.args
        text = message[0] if message else "Expected Tensor with single nonzero value, but got zero"
        holds = self.emit("torch.aten.Bool.Tensor", [self.operand(condition, None)], ["!torch.bool"])[0]
        attr = f" {{message = {json.dumps(f'RuntimeError: {text}')}}}"
        self.emit("torch.runtime.assert", [(holds, "!torch.bool")], [], attr)

    def _getitem(self, node: Node) -> None:
        source, index = node.args
        assert isinstance(source, Node) and isinstance(index, int)
        if self.values[source, 0][1] != "!torch.list<vtensor>":
            self.values[node, 0] = self.values[source, index]
            return
        if source not in self._lists:
            types = [self.type_of(v) for v in source.meta["val"]]
            names = self.emit("torch.prim.ListUnpack", [self.values[source, 0]], types)
            self._lists[source] = list(zip(names, types, strict=True))
        self.values[node, 0] = self._lists[source][index]

    def _literal(self, node: Node) -> None:
        """A tensor of one element that a decomposition made; larger ones are arguments by now."""
        value = getattr(node.graph.owning_module, str(node.target))
        type_ = self.type_of(value)
        element = DTYPE_ASM[value.dtype]
        shape = "".join(f"{s}x" for s in value.shape)
        with unset_fake_temporarily():
            item = value.item()
            bits = value.reshape(1).view(torch.uint8).tolist()
        if isinstance(item, float) and not math.isfinite(item):
            asm = f"0x{bytes(reversed(bits)).hex().upper()}"
        else:
            asm = float_asm(item).split(" ")[0] if isinstance(item, float) else str(item).lower()
        attr = f" {{value = dense<{asm}> : tensor<{shape}{element}>}}"
        self.values[node, 0] = self.emit("torch.vtensor.literal", [], [type_], attr)[0], type_


def _is_number(arg: Any) -> bool:
    value = arg.meta.get("val") if isinstance(arg, Node) else arg
    return isinstance(value, (int, float, torch.SymInt, torch.SymFloat))
