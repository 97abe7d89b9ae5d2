"""Captured programs in the compile cache, under the exported graph: a hit saves the decomposition.

torch.export has to run in any case, since only its graph says what a module does. What follows
takes two to four times as long, and depends on nothing but the graph.
"""

from __future__ import annotations

import dataclasses
import io
import pickle
from collections.abc import Callable
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
        self._cached = (
            None if text is None else Cached(_KIND, {"graph": text}, options, f"{label} (captured)")
        )

    def load(self) -> Program | None:
        """The program with this graph's own weights, or None."""
        found = self._cached.load() if self._cached is not None else None
        if found is None:
            self._missed()
            return None
        return _Unpickler(found[_KIND], self._tensors()).program(self._exported)

    def store(self, program: Program) -> None:
        """Keep ``program``, unless it holds a tensor that is not the module's, or an object of the user's."""
        spec = self._exported.call_spec
        if self._cached is None or (program.in_spec, program.out_spec) != (spec.in_spec, spec.out_spec):
            return
        tensors = self._tensors()
        try:
            data = _Pickler({id(tensor): name for name, tensor in tensors.items()}).dumps(program)
            _Unpickler(data, tensors).load()
        except (pickle.PickleError, TypeError, AttributeError):
            return
        self._cached.store({_KIND: data})

    def _tensors(self) -> dict[str, Any]:
        return {**self._exported.constants, **self._exported.state_dict}


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

    def __init__(self, data: bytes, tensors: dict[str, Any]) -> None:
        super().__init__(io.BytesIO(data))
        self._tensors = tensors

    def persistent_load(self, name: Any) -> Any:
        return self._tensors[name]

    def find_class(self, module: str, name: str) -> Any:
        if module.partition(".")[0] not in _PACKAGES:
            raise pickle.UnpicklingError(f"a {module}.{name}")
        return super().find_class(module, name)

    def program(self, exported: ExportedProgram) -> Program:
        program: Program = self.load()
        spec = exported.call_spec
        return dataclasses.replace(program, in_spec=spec.in_spec, out_spec=spec.out_spec)
