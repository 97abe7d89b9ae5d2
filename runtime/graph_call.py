"""The hot call of a compiled graph: Python source written for one signature, then compiled.

Like `torch_wrapper`, for graphs of torch.compile, whose guards have looked at dtypes, devices
and modes. For a graph of ``x: f32[s, 16]``, a weight ``w: f32[16]`` and the size ``s`` it is

    def call(x0, x1, x2):
        h0 = x0.shape
        a0_0 = h0[0]
        if not (h0 == (a0_0, 16) and x0.stride() == strides0 and x0.is_cpu
                and not (p0 := x0.data_ptr()) & 3):
            x0 = adapt(0, x0, (a0_0, 16), strides0)
            p0 = x0.data_ptr()
        kept = bound(x1)
        r0 = empty_large((a0_0, 16), (16, 1), result_dtype0)
        try:
            frame = kept.frames.pop()
        except IndexError:
            frame = kept.new_frame()
        …
        return (r0,)

Shapes, strides and the place are compared all the same: it is quick, and reading memory by wrong
ones would be silent. Guards are no help where a graph has tensors of two GPUs from the start.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from ..errors import InputError
from ..frontends.graph import Argument, GraphOutput, GraphProgram
from .call_text import CallText, comma, constant
from .executable import EntryPoint
from .graph_weights import GraphWeights
from .signature import contiguous_strides
from .torch_inputs import describe
from .torch_outputs import restride
from .torch_place import CPU, TorchPlace, place_of

_REMEDY = "torch.compile's guards should have seen it: please report it"
_MOVE = "put all tensors on one device"


@dataclass
class GraphCall:
    """Writes the function from a graph's arguments to the tuple of its outputs.

    ``entry`` is None for a graph that computes nothing. ``weights`` has the arguments that
    stay from call to call.
    """

    program: GraphProgram
    entry: EntryPoint | None = None
    weights: GraphWeights | None = None
    names: dict[str, Any] = field(default_factory=dict)

    def build(self) -> Callable[..., tuple[Any, ...]]:
        """The compiled function."""
        self.names.update(
            __name__=__name__,
            adapt=self._adapt,
            restride=restride,
            max=max,
            math=math,
            number=_Number,
        )
        source = self.source()
        exec(compile(source, "<mlopt call of a graph>", "exec"), self.names)
        call: Callable[..., tuple[Any, ...]] = self.names["call"]
        return call

    def source(self) -> str:
        """The text of `call`; constants that it refers to are put into ``names``."""
        body = [line for number, arg in enumerate(self.program.arguments) for line in self._bind(number, arg)]
        body += [
            line for number, arg in enumerate(self.program.arguments) for line in self._check(number, arg)
        ]
        if self.entry is not None:
            text = CallText(self.entry, self.names)
            bound = self.weights.bound if self.weights else None
            static = [f"x{a.position}" for a in self.program.arguments if a.static and a.position >= 0]
            inputs = ["0" if arg.kind == "size" else f"p{number}" for number, arg in self._passed]
            tensors = [self._tensor(number, arg) for number, arg in self._passed]
            numbers = [f"x{arg.position}" for _, arg in self._passed if arg.kind == "number"]
            body += [*self._allocate(text), *text.take_frame(len(inputs), bound, static)]
            body += text.run(inputs, tensors, numbers)
        outputs = comma(self._output(*numbered) for numbered in enumerate(self.program.outputs))
        parameters = comma(f"x{i}" for i in range(self.program.count))
        body.append(f"return ({outputs},)" if outputs else "return ()")
        return "\n".join([f"def call({parameters}):", *(f"    {line}" for line in body), ""])

    @property
    def _place(self) -> TorchPlace:
        return CPU if self.entry is None else place_of(self.entry)

    @property
    def _passed(self) -> list[tuple[int, Argument]]:
        """The arguments that each call passes anew."""
        return [
            (n, arg) for n, arg in enumerate(self.program.arguments) if self.weights is None or not arg.static
        ]

    def _bind(self, number: int, arg: Argument) -> list[str]:
        """Name the sizes that are known only at the call."""
        x = f"x{arg.position}"
        if arg.kind == "size":
            return [f"a{number}_0 = {x}"]
        if arg.kind == "number":
            return [f"n{number} = number({x})", f"p{number} = n{number}.address"]
        dynamic = [d for d, size in enumerate(arg.shape) if isinstance(size, str)]
        if not dynamic:
            return []
        order = arg.order or tuple(range(len(arg.shape)))
        return [f"h{number} = {x}.shape", *(f"a{number}_{order.index(d)} = h{number}[{d}]" for d in dynamic)]

    def _check(self, number: int, arg: Argument) -> list[str]:
        if arg.kind != "tensor" or (number, arg) not in self._passed:
            return []
        assert arg.dtype is not None
        x, p = f"x{arg.position}", f"p{number}"
        shape = constant(self.names, f"shape{number}", arg.shape)
        strides = constant(self.names, f"strides{number}", arg.strides)
        has_shape = f"h{number}" if any(isinstance(size, str) for size in arg.shape) else f"{x}.shape"
        aligned = f"not ({p} := {x}.data_ptr()) & {arg.dtype.itemsize - 1}"
        here = self._place.condition.format(x=x)
        lines = [
            f"if not ({has_shape} == {shape} and {x}.stride() == {strides} and {here} and {aligned}):",
            f"    {x} = adapt({number}, {x}, {shape}, {strides})",
            f"    {p} = {x}.data_ptr()",
        ]
        if arg.order is None:
            lines += [f"c{number} = {x}.contiguous()", f"{p} = c{number}.data_ptr()"]
        return lines

    def _tensor(self, number: int, arg: Argument) -> str:
        """What is read of an argument."""
        if arg.kind != "tensor":
            return "None"
        return f"x{arg.position}" if arg.order is not None else f"c{number}"

    def _adapt(
        self, number: int, value: torch.Tensor, shape: Sequence[int], strides: Sequence[int]
    ) -> torch.Tensor:
        """``value`` in memory of these strides, aligned."""
        arg = self.program.arguments[number]
        if value.dtype is not arg.dtype or tuple(value.shape) != tuple(shape) or not self._place.has(value):
            raise InputError(
                f"'{arg.name}' of a compiled graph is {describe(value.dtype, value.shape)} on {value.device}"
                f", compiled for {describe(arg.dtype or value.dtype, shape)} on {self._place.words}",
                remedy=_REMEDY if self._place.has(value) else _MOVE,
            )
        if arg.order is None:
            return value.clone() if value.data_ptr() % value.dtype.itemsize else value
        return self._place.empty(shape, strides, value.dtype).copy_(value)

    def _allocate(self, text: CallText) -> list[str]:
        lines = []
        for number, result in enumerate(self.program.results):
            strides = result.strides if result.dense else contiguous_strides(result.shape)
            lines.append(text.allocate(number, result.shape, strides, result.dtype))
        return lines

    def _output(self, number: int, output: GraphOutput) -> str:
        """The expression of one output."""
        if output.kind == "constant":
            self.names[f"constant{number}"] = output.value
            return f"constant{number}"
        if output.kind == "size":
            return str(output.value)
        if output.kind == "argument":
            return f"x{output.index}"
        if output.kind == "result":
            result = self.program.results[output.index]
            if result.dense:
                return f"r{output.index}"
            return f"restride(r{output.index}, {constant(self.names, f'restrides{number}', result.strides)})"
        assert output.base is not None
        shape = constant(self.names, f"view_shape{number}", output.shape)
        strides = constant(self.names, f"view_strides{number}", output.strides)
        base = self._output(number, output.base)
        offset = output.offset
        if output.base.kind == "argument":
            offset = f"{base}.storage_offset() + {offset}"
        return f"{base}.as_strided({shape}, {strides}, {offset})"


class _Number:
    """An int in memory."""

    __slots__ = ("_value", "address")

    def __init__(self, value: int) -> None:
        self._value = ctypes.c_int64(value)
        self.address = ctypes.addressof(self._value)
