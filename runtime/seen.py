"""Tensors as they were when they were last looked at, and whether they still are.

What was seen is kept in columns, each of which one builtin function compares: the 102 weights of ResNet-18
take 33 µs instead of the 130 of a loop over them. (Where kernels have driven it all out of the caches, both
wait for memory, 0.23 ms.)
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter, is_
from typing import Any

import torch

_version = attrgetter("_version")
# Dynamo's check of dtypes, shapes and strides at once.
_Guards: Any = getattr(torch._C._dynamo.guards, "TensorGuards", None)


class Seen:
    """Which tensors, their addresses, dtypes, shapes and strides, and the versions of those that ``matter``.

    Aliases of the tensors keep what they pointed to: while that is alive, no other memory, of a later
    ``.data`` say, can have the same address.
    """

    def __init__(self, tensors: Sequence[torch.Tensor], matter: Sequence[bool]) -> None:
        versioned = zip(tensors, matter, strict=True)
        self._versioned = [tensor for tensor, m in versioned if m and not tensor.is_inference()]
        self._versions = list(map(_version, self._versioned))
        self._tensors = tuple(tensors)
        self._addresses = list(map(torch.Tensor.data_ptr, tensors))
        self._forms = list(map(_form, tensors))
        self._memory = [tensor.detach() for tensor in tensors]
        self._guards: Any = None

    def are(self, now: Sequence[object]) -> bool:
        """Whether ``now``, as many as were seen, are the same tensors and nothing has changed."""
        return (
            all(map(is_, now, self._tensors))
            and list(map(torch.Tensor.data_ptr, self._tensors)) == self._addresses
            and list(map(_version, self._versioned)) == self._versions
            and self._have_forms()
        )

    def _have_forms(self) -> bool:
        tensors = self._tensors
        if self._guards is not None and self._guards.check(*tensors):
            return True
        # The guards look at modes (of inference, say) and requires_grad, too: then others are made, before
        # the forms are compared.
        guards = _Guards and _Guards(*tensors, dynamic_dims_sizes=None, dynamic_dims_strides=None)
        if list(map(_form, tensors)) != self._forms:
            return False
        self._guards = guards
        return True


def _form(tensor: torch.Tensor) -> tuple[torch.dtype, torch.Size, tuple[int, ...]]:
    return tensor.dtype, tensor.shape, tensor.stride()
