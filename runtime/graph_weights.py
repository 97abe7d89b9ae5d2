"""Arguments of a compiled graph that stay from call to call: its weights.

torch.compile passes parameters and buffers as arguments of each call and says which they
are. What depends on them alone is prepared once, and again when one of them is another
tensor, at another address or of another version; `mlopt.runtime.weights` says why that is
what has to be looked at.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ..errors import InputError
from ..frontends.graph import Argument
from .executable import Bound, Executable
from .optimizer_steps import Watch
from .torch_place import place_of

_Seen = tuple[torch.Tensor, int, int | None, torch.Tensor]
"""A tensor, its address, its version where that matters, an alias that keeps its memory."""


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
        # Replaced as a whole: a call in another thread sees the old state or the new one.
        self._state: tuple[tuple[_Seen, ...], Bound, Watch] | None = None

    def bound(self, *tensors: torch.Tensor) -> Bound:
        """The addresses of ``tensors`` and of the constants, and what was prepared from them."""
        state = self._state
        if state is None or state[2].stepped:
            return self._bind(tensors)
        for now, (tensor, pointer, version, _) in zip(tensors, state[0], strict=True):
            if (
                now is not tensor
                or now.data_ptr() != pointer
                or (version is not None and now._version != version)
            ):
                return self._bind(tensors)
        return state[1]

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
        seen = tuple(
            (value, value.data_ptr(), value._version if trackable and m else None, value.detach())
            for value, m in list(zip(values, matters, strict=True))[: len(tensors)]
        )
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
        self._state = (seen, bound, watch) if trackable else None
        return bound


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
