"""Which tensors an optimizer has written to since they were looked at.

Optimizers with ``fused=True`` (SGD, Adam, AdamW, Adagrad), and those of other packages that write
through ``.data``, leave a weight's version as it was. So what is made of weights watches the steps
of all optimizers too.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook


class Watch:
    """``stepped`` turns true when an optimizer steps a parameter in the memory of one of ``tensors``.

    To be made before the tensors' values are read: a step in between is then not missed.
    """

    __slots__ = ("__weakref__", "memory", "stepped")

    def __init__(self, tensors: Iterable[torch.Tensor]) -> None:
        self.stepped = False
        self.memory = _memory(tensors)
        if self.memory:
            _register()
            _watches[id(self)] = self


_watches: weakref.WeakValueDictionary[int, Watch] = weakref.WeakValueDictionary()
_hooks: list[Any] = []


def _register() -> None:
    if not _hooks:
        _hooks.append(register_optimizer_step_post_hook(_after_step))


def _after_step(optimizer: torch.optim.Optimizer, *_: Any) -> None:
    # A compiled step writes with copy_, which raises versions.
    if torch.compiler.is_compiling():
        return
    references = _watches.valuerefs()  # a copy: other threads may add to it
    if not references:
        return
    written = _memory(parameter for group in optimizer.param_groups for parameter in group["params"])
    for reference in references:
        watch = reference()
        if watch is not None and not watch.memory.isdisjoint(written):
            watch.stepped = True


def _memory(tensors: Iterable[torch.Tensor]) -> frozenset[int]:
    """The storages of ``tensors``: views, as of tied or flattened weights, have one in common."""
    return frozenset(tensor.untyped_storage()._cdata for tensor in tensors if tensor.layout is torch.strided)
