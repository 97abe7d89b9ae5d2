"""Weights that live in a module: found again at each call, prepared again when they change.

What the weights were when they were last looked at is kept (`mlopt.runtime.seen`). A call compares, and only
if something differs binds the weights anew and runs @prepare. So an optimizer step, ``load_state_dict``
(``assign=True`` too) and a ``.data`` swap are all seen; a fused optimizer's step, which raises no version, is
told by `mlopt.runtime.optimizer_steps`; a submodule that was replaced by another is an error, because its
code was not what was compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import call, is_
from typing import Any, NamedTuple, NoReturn, Protocol

import torch

from ..errors import InputError
from .executable import Bound, Executable
from .optimizer_steps import Watch
from .seen import Seen
from .sharing import Region, refuse_sharing, region
from .torch_inputs import describe
from .torch_place import TorchPlace, place_of

_REMEDY = "call mlopt.jit again"


class Owner(Protocol):
    """What holds tensors: a dictionary, or something that looks like one to its readers."""

    def get(self, key: Any, /) -> Any:
        """The tensor there now; None if there is none."""


@dataclass(frozen=True, eq=False)
class Slot:
    """Where a weight lives: ``owner.get(key)``, as a rule in the dictionary of parameters of some module.

    ``ties`` are the other places that held the same tensor when the module was compiled.
    """

    name: str
    owner: Owner
    key: Any
    dtype: torch.dtype
    shape: tuple[int, ...]
    ties: tuple[tuple[Owner, Any], ...] = ()


class _State(NamedTuple):
    """What was seen of the weights, what was made of them, where they are."""

    seen: Seen
    bound: Bound
    regions: list[Region]
    watch: Watch


class LiveWeights:
    """The weights of one compiled module. ``structure`` are (dictionary, key, submodule).

    ``mutated`` are the numbers of the weights that a call writes to.
    """

    def __init__(
        self,
        executable: Executable,
        slots: Sequence[Slot],
        structure: Sequence[tuple[dict[str, Any], str, Any]] = (),
        mutated: Sequence[int] = (),
    ) -> None:
        self.executable = executable
        self.slots = tuple(slots)
        self.structure = tuple(structure)
        self.mutated = tuple(mutated)
        self.ties = tuple((slot, *tie) for slot in slots for tie in slot.ties)
        self.prepare_runs = 0
        self._getters = [slot.owner.get for slot in slots]
        self._keys = [slot.key for slot in slots]
        self._submodule_getters = [parent.get for parent, _, _ in structure]
        self._submodule_keys = [key for _, key, _ in structure]
        self._submodules = [child for _, _, child in structure]
        # Replaced as a whole: a call in another thread sees the old state or the new one.
        self._state: _State | None = None

    def current(self) -> Bound:
        """The weights' addresses and what was prepared from them, as of now."""
        if not all(map(is_, map(call, self._submodule_getters, self._submodule_keys), self._submodules)):
            self._refuse_structure()
        for slot, owner, key in self.ties:
            if owner.get(key) is not slot.owner.get(slot.key):
                raise InputError(f"the weight '{slot.name}' is no longer tied to '{key}'", remedy=_REMEDY)
        state = self._unchanged()
        return self._bind() if state is None else state.bound

    def _refuse_structure(self) -> NoReturn:
        key = next(key for parent, key, child in self.structure if parent.get(key) is not child)
        raise InputError(
            f"the submodule '{key}' was replaced after the module was compiled",
            remedy=_REMEDY + "; weights may change, the structure may not",
        )

    def _unchanged(self) -> _State | None:
        """What is known of the weights, if none of them has changed since."""
        state = self._state
        if state is None or state.watch.stepped:
            return None
        return state if state.seen.are(list(map(call, self._getters, self._keys))) else None

    def requires_grad(self) -> bool:
        """Whether eager's results would require grad because of a weight."""
        return any(getattr(slot.owner.get(slot.key), "requires_grad", False) for slot in self.slots)

    def store(self, number: int, value: torch.Tensor) -> None:
        """Write the new value of a weight that the program mutates."""
        self.slots[number].owner.get(self.slots[number].key).copy_(value)

    def regions(self) -> Sequence[Region]:
        """Where the weights are, as of now."""
        state = self._unchanged()
        if state is not None:
            return state.regions
        place = place_of(self.executable.main)
        return _regions(self.slots, [_read(slot, place) for slot in self.slots])

    def refresh(self) -> None:
        """Look at all weights anew in the next call, and run @prepare."""
        self._state = None

    def _bind(self) -> Bound:
        place = place_of(self.executable.main)
        tensors = [_read(slot, place) for slot in self.slots]
        regions = _regions(self.slots, tensors)
        refuse_sharing([regions[number] for number in self.mutated], regions)
        matters = [
            in_prepare or not _is_plain(tensor)
            for tensor, in_prepare in zip(tensors, self._in_prepare(), strict=True)
        ]
        # Versions are read before values: a change in between is then seen by the next call.
        watch = Watch(tensor for tensor, m in zip(tensors, matters, strict=True) if m)
        seen = Seen(tensors, matters)
        held = [
            tensor if _is_plain(tensor) else tensor.detach().resolve_neg().contiguous().clone()
            for tensor in tensors
        ]
        if not all(map(_is_plain, tensors)):
            self.executable.settle()
        pointers = [tensor.data_ptr() for tensor in held]
        if self.executable.prepare is not None:
            self.prepare_runs += 1
        shapes = [tensor.shape for tensor in held]
        prepared = self.executable.run_prepare(pointers, shapes, torch.get_num_threads())
        main = self.executable.main
        first = len(main.signature.args) - len(pointers) - len(prepared)
        addresses = [*pointers, *(buffer.address for buffer in prepared)]
        bound = Bound(main, first, addresses, held, prepared)
        # Inference tensors have no version: what is made of their values is made for each call.
        trackable = not any(m and tensor.is_inference() for m, tensor in zip(matters, tensors, strict=True))
        self._state = _State(seen, bound, regions, watch) if trackable else None
        return bound

    def _in_prepare(self) -> list[bool]:
        prepare = self.executable.prepare
        return (
            [arg.used for arg in prepare.signature.args] if prepare is not None else [False] * len(self.slots)
        )


def bind_arguments(executable: Executable) -> Callable[..., Bound]:
    """For weights that are passed at each call: what @prepare makes of them, kept while they stay."""
    prepare, main = executable.prepare, executable.main
    assert prepare is not None
    first = len(main.signature.args) - len(prepare.signature.results)
    state: _State | None = None

    def bind(*weights: torch.Tensor) -> Bound:
        nonlocal state
        trackable = not any(tensor.is_inference() for tensor in weights)
        if trackable and state is not None and not state.watch.stepped and state.seen.are(weights):
            return state.bound
        watch = Watch(weights)
        seen = Seen(weights, [True] * len(weights))
        shapes = [tensor.shape for tensor in weights]
        prepared = executable.run_prepare([t.data_ptr() for t in weights], shapes, torch.get_num_threads())
        bound = Bound(main, first, [buffer.address for buffer in prepared], (), prepared)
        state = _State(seen, bound, [], watch) if trackable else None
        return bound

    return bind


def _read(slot: Slot, place: TorchPlace) -> torch.Tensor:
    """The tensor that is in ``slot`` now, if it still is what was compiled for."""
    tensor = slot.owner.get(slot.key)
    if not isinstance(tensor, torch.Tensor):
        raise InputError(f"the module no longer has the weight '{slot.name}'", remedy=_REMEDY)
    if tensor.dtype is not slot.dtype or tuple(tensor.shape) != slot.shape:
        raise InputError(
            f"the weight '{slot.name}' was {describe(slot.dtype, slot.shape)} when it was compiled, "
            f"it is now {describe(tensor.dtype, tensor.shape)}",
            remedy=_REMEDY,
        )
    if tensor.layout is not torch.strided:
        raise InputError(
            f"the weight '{slot.name}' is now {tensor.layout}, compiled for a dense one", remedy=_REMEDY
        )
    if not place.has(tensor):
        raise InputError(
            f"the weight '{slot.name}' is now on {tensor.device}, the code runs on {place.words}",
            remedy=f'call .to("{place.device}") on the module, or compile it for its device',
        )
    return tensor


def _regions(slots: Sequence[Slot], tensors: Iterable[torch.Tensor]) -> list[Region]:
    return [region(f"weight '{slot.name}'", tensor) for slot, tensor in zip(slots, tensors, strict=True)]


def _is_plain(tensor: torch.Tensor) -> bool:
    return tensor.is_contiguous() and not tensor.is_neg() and tensor.data_ptr() % tensor.dtype.itemsize == 0
