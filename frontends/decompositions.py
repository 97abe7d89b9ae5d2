"""How aten ops become the ops that torch-mlir lowers well.

torch's default table does most of it. decomposing/ has versions of our own, where the usual
one is wrong in some case, less accurate than eager, or slow to run. Composite ops compute
f16 and bf16 in f32 and round once, at the end, as eager does; for single ops widen.py sees
to that.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch._decomp import get_decompositions

from .decomposing import (  # noqa: F401 (they register when they are imported)
    attention,
    bags,
    contractions,
    division,
    elementwise,
    indices,
    integers,
    interpolation,
    mixed,
    pads,
    pools,
    positions,
    reductions,
    rolls,
    rows,
    sampling,
    scatters,
    sorting,
    splits,
    zero_dims,
)
from .decomposing.registry import OURS, aten

# Default decompositions that lead to ops which torch-mlir does not know; it lowers these itself.
_KEEP: list[Any] = [
    aten.norm, aten.linalg_norm, aten.linalg_vector_norm, aten.empty_like,
    aten.all, aten.eye,
]  # fmt: skip

# Ops outside of torch's default table whose decomposition in torch is good.
_EXTRA: list[Any] = [
    aten._native_batch_norm_legit_functional, aten._native_batch_norm_legit,
    aten._native_batch_norm_legit.no_stats, aten.squeeze.dims,
    aten._euclidean_dist, aten.full, aten.logsumexp,
    aten._to_copy, aten.diag,
]  # fmt: skip


@functools.cache
def decomposition_table() -> dict[Any, Callable[..., Any]]:
    """The table for ``ExportedProgram.run_decompositions`` and for AOTAutograd."""
    table = dict(torch.export.default_decompositions().items())
    table = {op: function for op, function in table.items() if op._overloadpacket not in _KEEP}
    table = {**table, **get_decompositions(_EXTRA), **OURS}
    along = zero_dims.ALONG_A_DIMENSION
    return {**table, **{op: zero_dims.with_a_dimension(op, table.get(op)) for op in along}}
