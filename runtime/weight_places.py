"""Where the tensors of a captured program live in the module, so that each call finds what is there then.

Parameters and buffers are found by name in the module's dictionaries. A tensor that is none of these is a
plain attribute, has a place in a list or dictionary of the module, or is a variable that the function reads.
A tensor that the function makes itself, ``torch.tensor([1.0])``, has no place and stays what it was.
"""

from __future__ import annotations

import itertools
import types
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from ..frontends.program import Weight
from .weights import Owner, Slot

Structure = dict[str, tuple[dict[str, Any], str, Any]]
_DEEPEST = 4  # lists in lists


class _Attributes:
    """The attributes of an object, its class's among them, and what is in them: (name, index, …)."""

    def __init__(self, holder: object) -> None:
        self._holder = holder

    def get(self, key: Any, /) -> Any:
        name, *rest = key
        value: Any = getattr(self._holder, name, None)
        for index in rest:
            try:
                value = value[index]
            except (LookupError, TypeError):
                return None
        return value


class _Cells:
    """The variables around a function, by their numbers; those that are not set yet are None."""

    def __init__(self, cells: Sequence[types.CellType]) -> None:
        self._cells = cells

    def get(self, key: Any, /) -> Any:
        try:
            return self._cells[key].cell_contents
        except ValueError:
            return None


def find_weights(
    module: torch.nn.Module, weights: Sequence[Weight]
) -> tuple[list[Slot], list[tuple[dict[str, Any], str, Any]]]:
    """Where each weight lives, and the chain of submodules that leads there."""
    structure: Structure = {}
    slots = []
    for weight in weights:
        (owner, key), *ties = [
            _by_name(module, name, structure)
            or _by_identity(module, weight.tensor)
            or ({name: weight.tensor}, name)
            for name in weight.names
        ]
        shape = tuple(weight.tensor.shape)
        slots.append(Slot(weight.name, owner, key, weight.tensor.dtype, shape, tuple(ties)))
    return slots, list(structure.values())


def _by_name(module: torch.nn.Module, name: str, structure: Structure) -> tuple[Owner, Any] | None:
    """What holds the weight ``name``, None for a constant without a name; ``structure`` gets the way."""
    *path, key = name.split(".")
    way = {}
    for depth, part in enumerate(path, 1):
        child = module._modules.get(part)
        if child is None:
            return None
        way[".".join(path[:depth])] = (module._modules, part, child)
        module = child
    places: list[tuple[Owner, Any]] = [
        (module._parameters, key), (module._buffers, key), (_Attributes(module), (key,)),
    ]  # fmt: skip
    for owner, where in places:
        if isinstance(owner.get(where), torch.Tensor):
            structure.update(way)
            return owner, where
    return None


def _by_identity(module: torch.nn.Module, tensor: torch.Tensor) -> tuple[Owner, Any] | None:
    """The place that holds just this tensor, for which torch has no name."""
    for owner, key in _places(module):
        if owner.get(key) is tensor:
            return owner, key
    return None


def _places(module: torch.nn.Module) -> Iterator[tuple[Owner, Any]]:
    for each in module.modules():
        attributes = _Attributes(each)
        classes = itertools.takewhile(lambda base: base is not torch.nn.Module, type(each).__mro__)
        for name, value in [item for holder in (each, *classes) for item in vars(holder).items()]:
            if isinstance(value, torch.Tensor):  # never the value of a property
                yield attributes, (name,)
            for path in _inside(value, _DEEPEST):
                yield attributes, (name, *path)
        function: Any = getattr(each.forward, "__func__", each.forward)
        if isinstance(function, types.FunctionType):
            for name in function.__code__.co_names:
                yield function.__globals__, name
            cells = _Cells(function.__closure__ or ())
            for number in range(len(function.__closure__ or ())):
                yield cells, number


def _inside(value: Any, depth: int) -> Iterator[tuple[Any, ...]]:
    """The ways to what is in lists and dictionaries of plain types."""
    if depth == 0 or type(value) not in (list, tuple, dict):
        return
    for key, part in list(value.items() if type(value) is dict else enumerate(value)):
        yield (key,)
        for path in _inside(part, depth - 1):
            yield (key, *path)
