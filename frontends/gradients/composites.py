"""Ops that torch takes apart below AOTAutograd, which never sees them: by our decompositions instead."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest import mock

from torch._C import DispatchKey

from ..decomposing.registry import OURS, aten

_KEYS = (DispatchKey.Autograd, DispatchKey.CompositeImplicitAutograd)
_OPS = (
    aten.upsample_linear1d.vec,
    aten.upsample_bilinear2d.vec,
    aten.upsample_bilinear2d.default,
    aten.upsample_trilinear3d.vec,
    aten.upsample_bicubic2d.vec,
    aten.upsample_bicubic2d.default,
)


@contextmanager
def own_composites() -> Iterator[None]:
    """What torch's dispatcher calls for these ops, while a graph is traced. Dynamo traces one at a time."""
    with ExitStack() as stack:
        for op in _OPS:
            kernels = {key: OURS[op] for key in _KEYS if key in op.py_kernels}
            stack.callback(op._dispatch_cache.clear)
            stack.enter_context(mock.patch.dict(op.py_kernels, kernels))
            op._dispatch_cache.clear()
        yield
