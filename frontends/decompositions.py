"""How aten ops become the ops that torch-mlir lowers well.

torch's default table does most of it. decomposing/ has versions of our own, where the usual
one is wrong in some case, less accurate than eager, or slow to run. Composite ops compute
f16 and bf16 in f32 and round once, at the end, as eager does; for single ops widen.py sees
to that.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch._decomp import get_decompositions
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.export import ExportedProgram
from torch.export.exported_program import (
    _decompose_exported_program,
    _split_decomp_table_to_cia_and_python_decomp,
)
from torch.fx import Graph

from .decomposing import (  # noqa: F401 (they register when they are imported)
    attention,
    bags,
    contractions,
    diagonals,
    distances,
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
    scaled,
    scans,
    scatters,
    searches,
    signs,
    sorting,
    special,
    splits,
    unfolding,
    zero_dims,
)
from .decomposing.registry import OURS, aten

# Default decompositions that lead to ops which torch-mlir does not know; it lowers these itself.
_KEEP: list[Any] = [
    aten.norm, aten.linalg_vector_norm, aten.empty_like,
    aten.all, aten.eye,
]  # fmt: skip

# Ops outside of torch's default table whose decomposition in torch is good.
_EXTRA: list[Any] = [
    aten._native_batch_norm_legit_functional, aten._native_batch_norm_legit,
    aten._native_batch_norm_legit.no_stats, aten.squeeze.dims,
    aten._euclidean_dist, aten.full, aten.logsumexp,
    aten._to_copy, aten.diag, aten._batch_norm_with_update_functional, aten.addmv, aten.dist,
    aten.view_copy.default, aten.permute_copy, aten.narrow_copy, aten.unbind_copy,
]  # fmt: skip


@functools.cache
def decomposition_table() -> dict[Any, Callable[..., Any]]:
    """The table for `decomposed` and for AOTAutograd."""
    table = dict(torch.export.default_decompositions().items())
    table = {op: function for op, function in table.items() if op._overloadpacket not in _KEEP}
    table = {**table, **get_decompositions(_EXTRA), **OURS}
    along = zero_dims.ALONG_A_DIMENSION
    return {**table, **{op: zero_dims.with_a_dimension(op, table.get(op)) for op in along}}


def decomposed(exported: ExportedProgram) -> ExportedProgram:
    """``exported.run_decompositions(decomposition_table())``, in a quarter of its time for a small graph.

    That splits the table at each call, and installs 20 kernels for each of its 500 composite ops, to have
    470 of them do what they do anyway: 0.16 s. Only the others are installed here.
    """
    composite, simple = _split_table()
    with unset_fake_temporarily(), _views_as_reshapes(exported.graph):
        return _decompose_exported_program(
            exported,
            cia_to_decomp=composite,
            python_decomp_table=dict(simple),
            joint_loss_index=None,
            decompose_custom_triton_ops=False,
        )


@contextmanager
def _views_as_reshapes(graph: Graph) -> Iterator[None]:
    """Let views copy where what an op becomes lies in memory otherwise than what eager's op returns.

    torch.export drops a ``contiguous()`` that finds nothing to do: of attention's transposed result, of a
    pooling of channels-last. Not where something is written in place, perhaps through the view.
    """
    schemas = [getattr(node.target, "_schema", None) for node in graph.nodes]
    mutates = any(schema is not None and schema.is_mutable for schema in schemas)
    views = [] if mutates else [node for node in graph.nodes if node.target is aten.view.default]
    for node in views:
        node.target = aten.reshape.default
    try:
        yield
    finally:
        for node in views:
            node.target = aten.view.default


@functools.cache
def _split_table() -> tuple[dict[Any, Callable[..., Any]], dict[Any, Callable[..., Any]]]:
    """Of the table: composite ops that do not become what torch composes them of, and simple ops."""
    composite, simple = _split_decomp_table_to_cia_and_python_decomp(dict(decomposition_table()))
    return {op: rule for op, rule in composite.items() if not _is_its_own(op, rule)}, simple


def _is_its_own(op: Any, rule: Callable[..., Any]) -> bool:
    """Whether ``rule`` calls the kernel by which torch composes ``op`` of others."""
    return isinstance(rule, functools.partial) and rule.keywords == {"kernel": op}
