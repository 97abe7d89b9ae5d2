"""The strides that eager's outputs would have, for inputs of another layout than the example's.

The compiled program has the outputs' strides for the layout that it was captured with: x + 1 of a
transposed x is transposed in eager, a convolution of a channels_last image is channels_last. For any
other layout, or where an example had gaps or overlaps, a copy of the module is run once on fake tensors,
which have sizes and strides but no memory, and what it says is kept for the next call with such inputs.
(The exported graph would not do: calls that do nothing for the layout of the examples, like
``x.contiguous()``, are not in it.)
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils import _pytree as pytree

from ..errors import InputError
from ..frontends.program import Input, Output, Program
from .quiet import quiet_fakes
from .signature import contiguous_strides
from .torch_outputs import forbid_backward, restride

KEPT = 256
_REMEDY = "pass contiguous tensors, or call mlopt.jit with inputs of this layout"

Strides = tuple[tuple[int, ...] | None, ...]
"""Of each leaf of what the module returns; None for what is no tensor."""


class EagerStrides:
    """Finds the strides for the inputs of a call; ``examples`` are the tensors of the capture."""

    def __init__(self, module: torch.nn.Module, program: Program, examples: Sequence[torch.Tensor]) -> None:
        self.module = module
        self.program = program
        self.as_compiled = self._lie_as_compiled(examples)
        """Whether the compiled strides are those for inputs in the memory that the program takes."""
        self._known: dict[tuple[Any, ...], Strides] = {}

    def outputs(self) -> Sequence[Output]:
        """The program's outputs in the strides that the compiled function is to give them.

        Where the examples have gaps or overlaps, outputs may have theirs, which other inputs' elements
        do not fit: those outputs are contiguous first.
        """
        if self.as_compiled:
            return self.program.outputs
        return [
            output if output.dense else replace(output, strides=contiguous_strides(output.shape), dense=True)
            for output in self.program.outputs
        ]

    def of(self, inputs: Sequence[torch.Tensor]) -> Strides | None:
        """The outputs' strides for these inputs; None: they are the compiled ones.

        Raises `InputError` if eager refuses such inputs.
        """
        if self.as_compiled and self._lie_as_compiled(inputs):
            return None
        layout = tuple((tensor.shape, tensor.stride()) for tensor in inputs)
        found = self._known.get(layout)
        if found is None:
            found = self._run(inputs)
            if len(self._known) >= KEPT:
                self._known.clear()
            self._known[layout] = found
        return found

    def _lie_as_compiled(self, inputs: Sequence[torch.Tensor]) -> bool:
        return all(map(lies_as_compiled, self.program.inputs, inputs))

    def _run(self, inputs: Sequence[torch.Tensor]) -> Strides:
        try:
            with quiet_fakes():
                outputs, structure = pytree.tree_flatten(self._on_fakes(inputs))
        except InputError:
            raise
        except Exception as error:
            raise InputError(
                f"eager refuses inputs of these strides: {type(error).__name__}: {error}", remedy=_REMEDY
            ) from error
        if structure != self.program.out_spec:
            raise InputError(
                "for inputs of these strides the module returns something of another structure",
                remedy=_REMEDY,
            )
        return tuple(tuple(value.stride()) if isinstance(value, torch.Tensor) else None for value in outputs)

    def _on_fakes(self, inputs: Sequence[torch.Tensor]) -> Any:
        """What a copy of the module with fake weights returns for fake inputs."""
        fakes = FakeTensorMode(allow_non_fake_inputs=True)
        leaves = dict(self.program.constants)
        for spec, tensor in zip(self.program.inputs, inputs, strict=True):
            leaves[spec.position] = fakes.from_tensor(tensor.detach())
        args, kwargs = pytree.tree_unflatten(
            [leaves[number] for number in range(len(leaves))], self.program.in_spec
        )
        weights = (*self.module.parameters(), *self.module.buffers())
        try:
            module = copy.deepcopy(self.module, {id(weight): fakes.from_tensor(weight) for weight in weights})
        except Exception as error:
            raise InputError(
                "the results' strides for inputs of these strides are not known, since the module cannot be "
                f"copied: {type(error).__name__}: {error}",
                remedy=_REMEDY,
            ) from error
        with torch.no_grad(), fakes:
            return module(*args, **kwargs)


def lies_as_compiled(spec: Input, tensor: torch.Tensor) -> bool:
    """Whether the function takes the memory of ``tensor`` as it is."""
    return tensor.stride() == spec.strides if spec.strides else tensor.is_contiguous()


def with_strides(results: Any, strides: Strides) -> Any:
    """``results``, a tree, with each tensor's elements in memory as ``strides`` say."""
    leaves, spec = pytree.tree_flatten(results)
    made: dict[int, Any] = {}  # a tensor that is returned twice stays one
    for leaf, wanted in zip(leaves, strides, strict=True):
        if id(leaf) not in made:
            made[id(leaf)] = leaf if wanted is None or leaf.stride() == wanted else _moved(leaf, wanted)
    return pytree.tree_unflatten([made[id(leaf)] for leaf in leaves], spec)


def _moved(value: torch.Tensor, strides: tuple[int, ...]) -> torch.Tensor:
    with torch.no_grad():
        moved = restride(value, strides)
    if value.requires_grad:
        forbid_backward(moved)
    return moved
