"""Arguments of a compiled graph that stay from call to call: its weights.

torch.compile passes parameters and buffers as arguments of each call and says which they
are. What depends on them alone is prepared once, and again when one of them is at another
address or of another version; `mlopt.runtime.weights` says why that is what has to be looked at.

Modules of one class share one compiled graph: the layers of a model that are compiled one by one, say. So
what was prepared is kept for each of them, until one of its weights dies: nothing here keeps a weight alive.
No weight is in what was prepared for two of them, so there is never more of that than there are weights.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import torch

from ..errors import InputError
from ..frontends.graph import Argument
from .executable import Bound, Executable
from .optimizer_steps import Watch
from .torch_place import place_of

_Key = tuple[int, ...]
"""The ids of weights: as long as they live, no others have them."""


class _State(NamedTuple):
    """What was ``seen`` of weights (addresses, and versions where they matter) and made of them.

    ``prepared`` are the ids of those whose values are in what was made. ``memory`` are aliases, so that no
    other memory, of a later ``.data`` say, has the same address; ``lives`` end it all with the first weight.
    """

    seen: tuple[tuple[int, int | None], ...]
    bound: Bound
    watch: Watch
    prepared: frozenset[int]
    memory: tuple[torch.Tensor, ...]
    lives: tuple[weakref.ref[torch.Tensor], ...]


class GraphWeights:
    """``arguments`` are the program's last ones: the static ones, then constants of the graph."""

    def __init__(self, executable: Executable, arguments: Sequence[Argument], first: int) -> None:
        self.executable = executable
        self.arguments = tuple(arguments)
        self.first = first
        self.place = place_of(executable.main)
        self.prepare_runs = 0
        prepare = executable.prepare
        self._in_prepare = (
            [arg.used for arg in prepare.signature.args] if prepare else [False] * len(arguments)
        )
        # A state is never changed: a call in another thread sees the old one or the new one.
        self._states: dict[_Key, _State] = {}

    def bound(self, *tensors: torch.Tensor) -> Bound:
        """The addresses of ``tensors`` and of the constants, and what was prepared from them."""
        state = self._states.get(_ids(tensors))
        if state is None or state.watch.stepped:
            return self._bind(tensors)
        for now, (pointer, version) in zip(tensors, state.seen, strict=True):
            if now.data_ptr() != pointer or (version is not None and now._version != version):
                return self._bind(tensors)
        return state.bound

    def _bind(self, tensors: Sequence[torch.Tensor]) -> Bound:
        given = iter(tensors)
        # Constants were made on one GPU; the program may run on another.
        values = [
            next(given) if arg.constant is None else arg.constant.to(self.place.device)
            for arg in self.arguments
        ]
        for value, arg in zip(values, self.arguments, strict=True):
            if not self.place.has(value):
                raise InputError(
                    f"the weight '{arg.name}' of a compiled graph is on {value.device}, "
                    f"the code runs on {self.place.words}",
                    remedy="put the module and its inputs on one device",
                )
        plain = [_is_plain(value, arg) for value, arg in zip(values, self.arguments, strict=True)]
        matters = [used or not same for used, same in zip(self._in_prepare, plain, strict=True)]
        trackable = not any(m and value.is_inference() for m, value in zip(matters, values, strict=True))
        # Versions are read before values: a change in between is then seen by the next call.
        watch = Watch(value for value, m in zip(values, matters, strict=True) if m)
        key = _ids(tensors)
        seen = tuple(
            (value.data_ptr(), value._version if trackable and m else None)
            for value, m in zip(tensors, matters[: len(tensors)], strict=True)
        )
        memory = tuple(value.detach() for value in tensors)
        held = [
            value.detach() if same else _in_order(value, arg)
            for value, arg, same in zip(values, self.arguments, plain, strict=True)
        ]
        if not all(plain):
            self.executable.settle()
        shapes = [_permuted(value, arg).shape for value, arg in zip(held, self.arguments, strict=True)]
        if self.executable.prepare is not None:
            self.prepare_runs += 1
        pointers = [value.data_ptr() for value in held]
        prepared = self.executable.run_prepare(pointers, shapes, torch.get_num_threads())
        addresses = [*pointers, *(buffer.address for buffer in prepared)]
        bound = Bound(self.executable.main, self.first, addresses, held, prepared)
        used = frozenset(_ids(value for value, m in zip(values, matters, strict=True) if m)).intersection(key)
        for known, state in self._states.copy().items():
            if known == key or not used.isdisjoint(state.prepared):
                self._states.pop(known, None)
        if trackable:
            forget = functools.partial(_forget, weakref.ref(self), key)
            lives = tuple(weakref.ref(value, forget) for value in tensors)
            self._states[key] = _State(seen, bound, watch, used, memory, lives)
        return bound


def _ids(tensors: Iterable[torch.Tensor]) -> _Key:
    return tuple(map(id, tensors))


def _forget(weights: weakref.ref[GraphWeights], key: _Key, _: object) -> None:
    """One of the tensors with these ids dies."""
    alive = weights()
    if alive is not None:
        alive._states.pop(key, None)


def _is_plain(value: torch.Tensor, arg: Argument) -> bool:
    """Whether the program can read it where it is."""
    aligned = value.data_ptr() % value.dtype.itemsize == 0
    return arg.order is not None and value.stride() == arg.strides and aligned and not value.is_neg()


def _in_order(value: torch.Tensor, arg: Argument) -> torch.Tensor:
    """A copy in the memory order that the program was compiled for."""
    if arg.order is None:
        return value.detach().clone(memory_format=torch.contiguous_format)
    strides = [stride for stride in arg.strides if isinstance(stride, int)]
    return value.detach().new_empty_strided(value.shape, strides).copy_(value.detach())


def _permuted(value: torch.Tensor, arg: Argument) -> torch.Tensor:
    return value if arg.order is None else value.permute(arg.order)
