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
        r0 = empty((a0_0, 16), (16, 1), dtype0)
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
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from ..errors import InputError
from ..frontends.graph import Argument, GraphOutput, GraphProgram
from ..frontends.program import Size
from .executable import Bound, EntryPoint
from .graph_weights import GraphWeights
from .signature import contiguous_strides
from .torch_inputs import describe
from .torch_outputs import restride
from .torch_place import CPU, TorchPlace, lane_of, place_of

_INT64 = 8
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
            empty=self._place.empty,
            restride=restride,
            max=max,
            math=math,
            number=_Number,
        )
        if self.entry is not None:
            self.names.update(
                threads=lane_of(self.entry),
                function=self.entry.function,
                profiled=self.entry.profiled,
                profiler=torch.autograd.profiler,
                raise_status=self.entry.raise_status,
                fit_workspace=self.entry.fit_workspace,
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
            body += [*self._allocate(), *self._take_frame(self.entry), *self._run(self.entry)]
        outputs = _comma(self._output(*numbered) for numbered in enumerate(self.program.outputs))
        parameters = _comma(f"x{i}" for i in range(self.program.count))
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
        shape = self._constant(f"shape{number}", arg.shape)
        strides = self._constant(f"strides{number}", arg.strides)
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

    def _allocate(self) -> list[str]:
        lines = []
        for number, result in enumerate(self.program.results):
            strides = result.strides if result.dense else contiguous_strides(result.shape)
            self.names[f"dtype{number}"] = result.dtype
            layout = (
                self._constant(f"result_shape{number}", result.shape),
                self._constant(f"result_strides{number}", strides),
            )
            lines.append(f"r{number} = empty({layout[0]}, {layout[1]}, dtype{number})")
        return lines

    def _constant(self, name: str, sizes: Sequence[Size]) -> str:
        """An expression for a tuple of sizes; ``name`` stands for it if it never changes."""
        if any(isinstance(size, str) for size in sizes):
            return f"({''.join(f'{size}, ' for size in sizes)})"
        self.names[name] = tuple(sizes)
        return name

    def _take_frame(self, entry: EntryPoint) -> list[str]:
        lines = ["try:", "    frame = frames.pop()", "except IndexError:"]
        if self.weights is None:
            bound = Bound(entry, len(self.program.arguments), [], None)
            self.names.update(frames=bound.frames, new_frame=bound.new_frame)
            return [*lines, "    frame = new_frame()"]
        self.names["bound"] = self.weights.bound
        static = _comma(f"x{a.position}" for a in self.program.arguments if a.static and a.position >= 0)
        return [f"kept = bound({static})", "frames = kept.frames", *lines, "    frame = kept.new_frame()"]

    def _run(self, entry: EntryPoint) -> list[str]:
        inputs = ["0" if arg.kind == "size" else f"p{number}" for number, arg in self._passed]
        rest = [
            *(f"r{number}.data_ptr()" for number in range(len(self.program.results))),
            entry.workspace_expression,
            "threads()",
            *entry.more_slots,
            *_dynamic_sizes(entry),
        ]
        if len(inputs) == entry.first_result:
            lines = [self._pack("pack", 0, [*inputs, *rest])]
        else:
            lines = [self._pack("pack_inputs", 0, inputs)] if inputs else []
            lines.append(self._pack("pack_rest", entry.first_result, rest))
        if entry.fits_workspace:
            lines.append("workspace = fit_workspace(frame)")
        return [
            *lines,
            "status = (profiled if profiler._is_profiler_enabled else function)(frame.address)",
            "frames.append(frame)",
            "if status:",
            "    raise_status(status)",
        ]

    def _pack(self, name: str, slot: int, values: Sequence[str]) -> str:
        self.names[name] = struct.Struct(f"{len(values)}q").pack_into
        return f"{name}(frame.array, {slot * _INT64}, {_comma(values)})"

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
            return f"restride(r{output.index}, {self._constant(f'restrides{number}', result.strides)})"
        assert output.base is not None
        shape = self._constant(f"view_shape{number}", output.shape)
        strides = self._constant(f"view_strides{number}", output.strides)
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


def _dynamic_sizes(entry: EntryPoint) -> list[str]:
    """In the order of the entry point's contract: of the arguments, then of the results."""
    args, results = entry.signature.args, entry.signature.results
    sizes = [f"a{i}_{d}" for i, arg in enumerate(args) for d, size in enumerate(arg.shape) if size is None]
    return sizes + [f"({size})" for result in results for size in result.sizes]


def _comma(parts: Iterable[str]) -> str:
    return ", ".join(parts)
