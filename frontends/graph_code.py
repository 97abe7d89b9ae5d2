"""Python code of torch.fx's graphs, written when it is asked for.

torch.fx writes a graph module's code, and has Python compile it, at each change of its graph: nearly twenty
times while a module is exported and decomposed. An interpreter runs the graphs; hardly any code is called.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from torch.fx import GraphModule
from torch.fx.graph import _PyTreeCodeGen

_write_code = GraphModule.recompile
_MADE = ("_code", "_lineno_map", "_prologue_start")  # of the module, beside its class's ``forward``


@contextmanager
def code_on_demand() -> Iterator[None]:
    """Let graph modules that are made or changed meanwhile have code once somebody looks at or calls it."""
    with mock.patch.object(GraphModule, "recompile", _write_later):
        yield


class _OnDemand:
    """What a graph module has once its code is written. Each has a class of its own, where this is."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, module: GraphModule | None, kind: type) -> Any:
        if module is None:
            return self
        _write_code(module)
        return getattr(module, self._name)


def _write_later(module: GraphModule) -> None:
    codegen = module._graph._codegen
    if isinstance(codegen, _PyTreeCodeGen):
        module._in_spec = codegen.pytree_info.in_spec
        module._out_spec = codegen.pytree_info.out_spec
    kind = type(module)
    for name in _MADE:
        module.__dict__.pop(name, None)
        setattr(kind, name, _OnDemand(name))
    kind.forward = _OnDemand("forward")  # type: ignore[assignment]
