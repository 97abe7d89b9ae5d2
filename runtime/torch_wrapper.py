"""The hot call for torch tensors: Python source written for one signature, then compiled.

For ``f(x: f32[4, 16], y: f32[16]) -> f32[4, 16]`` it is

    def call(x0, x1):
        if dual._current_level >= 0 or modes._is_in_torch_dispatch_mode:
            refuse_transforms((x0, x1))
        try:
            plain = (type(x0) is Tensor and x0.dtype is dtype0 and x0.shape == shape0
                and x0.is_contiguous() and x0.is_cpu and not x0.is_neg()
                and not (p0 := x0.data_ptr()) & 3 and type(x1) is …)
        except RuntimeError:
            plain = False
        if not plain: return adapt(x0, x1)
        if grad_enabled() and (x0.requires_grad or x1.requires_grad):
            refuse_grad(x0, x1)
        if autocast("cpu"):
            refuse_autocast()
        r0 = empty(result_shape0, result_strides0, result_dtype0)
        try:
            frame = frames.pop()
        except IndexError:
            frame = new_frame()
        pack(frame.array, 0, p0, p1, r0.data_ptr(), frame.workspace_address, threads())
        status = (profiled if profiler._is_profiler_enabled else function)(frame.address)
        frames.append(frame)
        if status:
            raise_status(status)
        return r0

A loop over descriptions of the tensors would take several times as long. What does not pass
the first condition goes through `adapt`, which makes it pass (a copy, a conversion) or says
what is wrong with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.autograd import forward_ad
from torch.utils import _python_dispatch

from ..frontends.program import Condition, Input, Mutation, Output, Result
from . import torch_inputs, torch_outputs
from .call_text import CallText, comma, constant
from .eager_strides import EagerStrides
from .executable import Bound, EntryPoint
from .sharing import Region, refuse_sharing, region
from .signature import contiguous_strides
from .torch_place import TorchPlace, place_of
from .transforms import refuse_transforms


@dataclass
class TorchWrapper:
    """Writes the function `call` of an entry point.

    ``inputs`` are the leading arguments, which `call` takes; ``bound`` gives the others, from
    those inputs whose numbers are in ``bound_from``. ``structure`` is the expression that is
    returned, over the outputs ``o0, o1, …``. ``weights_grad`` says whether a weight requires
    grad; ``store`` writes the new value of a weight that is mutated, ``regions`` says where the
    weights are. ``eager_strides`` knows the outputs' strides for inputs of other layouts than those
    that were captured. ``conditions`` are the `Program`'s.
    """

    entry: EntryPoint
    inputs: Sequence[Input]
    results: Sequence[Result]
    outputs: Sequence[Output]
    structure: str
    mutations: Sequence[Mutation] = ()
    conditions: Sequence[Condition] = ()
    bound: Callable[..., Bound] | None = None
    bound_from: Sequence[int] = ()
    weights_grad: Callable[[], bool] | None = None
    store: Callable[[int, torch.Tensor], None] | None = None
    regions: Callable[[], Sequence[Region]] = tuple
    eager_strides: EagerStrides | None = None
    names: dict[str, Any] = field(default_factory=dict)

    def build(self) -> Callable[..., Any]:
        """The compiled function."""
        self.names.update(
            Tensor=torch.Tensor,
            autocast=torch.is_autocast_enabled,
            grad_enabled=torch.is_grad_enabled,
            no_grad=torch.no_grad,
            math=math,
            refuse_autocast=torch_inputs.refuse_autocast,
            refuse_grad=lambda *values: torch_inputs.refuse_grad(self.inputs, values),
            refuse_sharing=self._refuse_sharing,
            refuse_transforms=refuse_transforms,
            dual=forward_ad,
            modes=_python_dispatch,
            adapt=self._adapt,
            restride=torch_outputs.restride,
            forbid_backward=torch_outputs.forbid_backward,
            weights_grad=self.weights_grad,
            store=self.store,
        )
        source = self.source()
        exec(compile(source, f"<mlopt call of {self.entry.name}>", "exec"), self.names)
        call: Callable[..., Any] = self.names["call"]
        if self.eager_strides is not None and not self.eager_strides.as_compiled:
            return self._adapt  # what was captured are the strides for inputs with gaps or overlaps
        return call

    def _adapt(self, *values: Any) -> Any:
        return torch_inputs.adapt(
            self.names["call"],
            self.inputs,
            self.conditions,
            self._mutated,
            self._refuse_sharing,
            self.eager_strides,
            values,
            self._place,
        )

    def _refuse_sharing(self, *values: Any) -> None:
        """Raise if what the call writes to shares memory with another input or weight."""
        if not self.mutations:
            return
        inputs = [
            region(f"input '{spec.name}'", value) for spec, value in zip(self.inputs, values, strict=True)
        ]
        weights = self.regions()
        refuse_sharing([inputs[number] for number in self._mutated], [*inputs, *weights])
        written = [weights[mutation.index] for mutation in self.mutations if mutation.kind == "weight"]
        refuse_sharing(written, inputs)

    def source(self) -> str:
        """The text of `call`; constants that it refers to are put into ``names``."""
        parameters = comma(f"x{i}" for i in range(len(self.inputs)))
        text = CallText(self.entry, self.names)
        body = [
            "if dual._current_level >= 0 or modes._is_in_torch_dispatch_mode:",
            f"    refuse_transforms(({parameters}{',' if parameters else ''}))",
            *self._check_form(parameters),
            *self._check_modes(parameters),
            *self._allocate(text),
            *text.take_frame(len(self.inputs), self.bound, [f"x{i}" for i in self.bound_from]),
            *text.run(*([f"{kind}{i}" for i in range(len(self.inputs))] for kind in "px")),
            *self._write_mutations(),
            *self._make_outputs(),
            f"return {self.structure}",
        ]
        return "\n".join([f"def call({parameters}):", *(f"    {line}" for line in body), ""])

    @property
    def _place(self) -> TorchPlace:
        return place_of(self.entry)

    @property
    def _mutated(self) -> tuple[int, ...]:
        return tuple(mutation.index for mutation in self.mutations if mutation.kind == "input")

    def _check_form(self, parameters: str) -> list[str]:
        conditions = [part for number in range(len(self.inputs)) for part in self._conditions(number)]
        # Last, when the names of all sizes are bound.
        conditions += [
            f"a{number}_{dim} == {size}"
            for number, spec in enumerate(self.inputs)
            for dim, size in enumerate(spec.sizes)
            if spec.shape[dim] is None and size != f"a{number}_{dim}"
        ]
        conditions += [f"({condition.text})" for condition in self.conditions]
        lines = []
        if conditions:
            # Tensors inside transforms have no address, and a size may be divided by 0; a try costs nothing.
            lines += [
                "try:",
                f"    plain = {' and '.join(conditions)}",
                "except (RuntimeError, ZeroDivisionError):",
                "    plain = False",
                f"if not plain: return adapt({parameters})",
            ]
        if self.mutations:
            lines.append(f"refuse_sharing({parameters})")
        return lines

    def _conditions(self, number: int) -> list[str]:
        spec, x = self.inputs[number], f"x{number}"
        self.names[f"dtype{number}"] = spec.dtype
        return [
            f"type({x}) is Tensor",
            f"{x}.dtype is dtype{number}",
            *self._shape_conditions(number),
            self._layout_condition(number),
            self._place.condition.format(x=x),
            f"not {x}.is_neg()",
            f"not (p{number} := {x}.data_ptr()) & {spec.dtype.itemsize - 1}",
        ]

    def _layout_condition(self, number: int) -> str:
        strides = self.inputs[number].strides
        if not strides:
            return f"x{number}.is_contiguous()"
        return f"x{number}.stride() == {constant(self.names, f'input_strides{number}', strides)}"

    def _shape_conditions(self, number: int) -> list[str]:
        spec = self.inputs[number]
        if None not in spec.shape:
            self.names[f"shape{number}"] = torch.Size(spec.shape)  # type: ignore[arg-type]
            return [f"x{number}.shape == shape{number}"]
        conditions = [f"len(h{number} := x{number}.shape) == {len(spec.shape)}"]
        for dim, size in enumerate(spec.shape):
            if size is not None:
                conditions.append(f"h{number}[{dim}] == {size}")
                continue
            low, high = spec.ranges.get(dim, (0, None))
            conditions.append(f"(a{number}_{dim} := h{number}[{dim}]) >= {low}")
            conditions += [] if high is None else [f"a{number}_{dim} <= {high}"]
        return conditions

    def _check_modes(self, parameters: str) -> list[str]:
        lines = [f'if autocast("{self._place.device.type}"):', "    refuse_autocast()"]
        grad = []
        if self.inputs:
            requires_grad = " or ".join(f"x{i}.requires_grad" for i in range(len(self.inputs)))
            grad += [f"    if {requires_grad}:", f"        refuse_grad({parameters})"]
        if self.weights_grad is None:
            return lines + (["if grad_enabled():", *grad] if grad else [])
        return [*lines, "record = False", "if grad_enabled():", *grad, "    record = weights_grad()"]

    def _allocate(self, text: CallText) -> list[str]:
        """A fresh tensor for each result: in the layout of the output that it becomes, if it can be."""
        lines = []
        for number, result in enumerate(self.results):
            output = next((o for o in self.outputs if o.result == number and o.dense), None)
            shape, strides = (
                (output.shape, output.strides) if output else (result.sizes, contiguous_strides(result.sizes))
            )
            lines.append(text.allocate(number, shape, strides, result.dtype))
        return lines

    def _write_mutations(self) -> list[str]:
        if not self.mutations:
            return []
        lines = ["with no_grad():"]
        for mutation in self.mutations:
            if mutation.kind == "input":
                lines.append(f"    x{mutation.index}.copy_(r{mutation.result})")
            else:
                lines.append(f"    store({mutation.index}, r{mutation.result})")
        return lines

    def _make_outputs(self) -> list[str]:
        """Name the outputs; eager returns one tensor twice where ours are of one result and alias."""
        lines = []
        taken: set[int] = set()
        for number, output in enumerate(self.outputs):
            if output.kind == "constant":
                self.names[f"o{number}"] = output.value
                continue
            if output.kind == "size":
                lines.append(f"o{number} = {output.value}")
                continue
            value = f"r{output.result}"
            if not output.dense:
                value = f"restride({value}, {constant(self.names, f'strides{number}', output.strides)})"
            elif output.result in taken and output.alias != "output":
                value += ".clone()"
            taken.add(output.result)
            lines.append(f"o{number} = {value}")
        if self.weights_grad is not None:
            names = comma(
                f"o{i}"
                for i, o in enumerate(self.outputs)
                if o.dtype is not None and o.dtype.is_floating_point
            )
            lines += [f"if record: forbid_backward({names})"] if names else []
        return lines
