"""Captured programs in the compile cache, under the exported graph: a hit saves the decomposition.

What follows torch.export takes two to four times as long, and depends on nothing but the graph, and for a few
ops on whether the target runs loops over tensors: such programs have places of their own.
(`mlopt.runtime.rehearsed` saves torch.export too, for modules of which it can tell.)
"""

from __future__ import annotations

import dataclasses
import io
import pickle
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.export import ExportedProgram

from ..frontends.graph_key import graph_key
from ..frontends.program import Program
from ..options import Options
from .cache import Cached

_KIND = "program"
_PACKAGES = ("mlopt", "torch", "builtins", "collections")


class KeptProgram:
    """The place of one exported graph's program in the cache; ``label`` names it for people.

    ``missed`` is called if it is not there: workers can start while the graph is decomposed.
    """

    def __init__(
        self, exported: ExportedProgram, options: Options, label: str, missed: Callable[[], None]
    ) -> None:
        self._exported = exported
        self._missed = missed
        text = graph_key(exported) if options.cache else None
        self._places: list[Cached] = []  # for any target, and for some
        if text is not None:
            for loops in (None, options.target == "cpu"):
                program = {"graph": text, "loops": loops}
                self._places.append(Cached(_KIND, program, options.of_capture(), f"{label} (captured)"))

    def load(self) -> Program | None:
        """The program with this graph's own weights, or None."""
        for place in self._places:
            found = place.load()
            if found is not None:
                spec = self._exported.call_spec
                return unpacked(found[_KIND], self._tensors(), spec.in_spec, spec.out_spec)
        self._missed()
        return None

    def store(self, program: Program) -> None:
        """Keep ``program``, unless it holds a tensor that is not the module's, or an object of the user's."""
        spec = self._exported.call_spec
        if not self._places:
            return
        data = packed(program, self._tensors(), spec.in_spec, spec.out_spec)
        if data is not None:
            self._places[program.loops is not None].store({_KIND: data})

    def _tensors(self) -> dict[str, Any]:
        return {**self._exported.constants, **self._exported.state_dict}


def packed(program: Program, tensors: Mapping[str, Any], in_spec: Any, out_spec: Any) -> bytes | None:
    """``program`` without its structures, and with the names of its tensors, if they are in ``tensors``;
    None if it cannot be made again from these.
    """
    if (program.in_spec, program.out_spec) != (in_spec, out_spec):
        return None
    try:
        data = _Pickler({id(tensor): name for name, tensor in tensors.items()}).dumps(program)
        _Unpickler(data, tensors).load()
    except (pickle.PickleError, TypeError, AttributeError):
        return None
    return data


def unpacked(data: bytes, tensors: Mapping[str, Any], in_spec: Any, out_spec: Any) -> Program:
    """The program that was packed, with these structures, and with ``tensors`` of the names that it had."""
    program: Program = _Unpickler(data, tensors).load()
    return dataclasses.replace(program, in_spec=in_spec, out_spec=out_spec)


class _Pickler(pickle.Pickler):
    """Writes tensors as their names in the module; another tensor, or object of the user's, is an error."""

    def __init__(self, names: dict[int, str]) -> None:
        self._buffer = io.BytesIO()
        super().__init__(self._buffer, pickle.HIGHEST_PROTOCOL)
        self._names = names

    def persistent_id(self, obj: Any) -> str | None:
        if not isinstance(obj, torch.Tensor):
            return None
        if id(obj) not in self._names:
            raise pickle.PicklingError("a tensor that is not the module's")
        return self._names[id(obj)]

    def dumps(self, program: Program) -> bytes:
        self.dump(dataclasses.replace(program, in_spec=None, out_spec=None))
        return self._buffer.getvalue()


class _Unpickler(pickle.Unpickler):
    """Finds tensors by their names; knows mlopt's and torch's classes only."""

    def __init__(self, data: bytes, tensors: Mapping[str, Any]) -> None:
        super().__init__(io.BytesIO(data))
        self._tensors = tensors

    def persistent_load(self, name: Any) -> Any:
        return self._tensors[name]

    def find_class(self, module: str, name: str) -> Any:
        if module.partition(".")[0] not in _PACKAGES:
            raise pickle.UnpicklingError(f"a {module}.{name}")
        return super().find_class(module, name)
