"""Products of one left factor whose results have one shape: the tasks of one kernel can make a tile of each.

::

    %a = generic {matmul} (m, n | k) ins(%x at (m, k), %w at (k, n mod 256))
    %b = generic {matmul} (m, n | k) ins(%x at (m, k), %w at (k, n + 128))
    %r = generic {mul} ins(silu of %a, %b)

The left factor is read once, and what meets in an element-wise op is not stored. One thread of a Zen 5 core,
time against two kernels: LLaMA's two layers, 768 to 2048 in f32, 128 rows 1.02; `moving/columns.py` for more.
"""

from __future__ import annotations

from collections.abc import Sequence

from mlir import ir

from .raising.bodies import is_contraction
from .structured import DYNAMIC, kinds_of, maps_of, word_for

MOST = 4  # tiles of products that a task should make: more would not stay in its registers and caches


def have_one_factor(one: ir.Operation, other: ir.Operation) -> bool:
    """Whether two products read one left factor."""
    # What they read first: few ops read the same, and looking at a body takes longer.
    if not len(one.operands) == len(other.operands) == 3 or one.operands[0] != other.operands[0]:
        return False
    return is_contraction(one) and is_contraction(other)


def are_siblings(one: ir.Operation, other: ir.Operation) -> bool:
    """Whether two products read one left factor in the same way, and make results of one type."""
    if not have_one_factor(one, other):
        return False
    (left, _, made), (other_left, _, other_made) = maps_of(one), maps_of(other)
    alike = (left, made, kinds_of(one)) == (other_left, other_made, kinds_of(other))
    return alike and one.results[0].type == other.results[0].type


def not_siblings(anchors: Sequence[ir.Operation]) -> str | None:
    """Why contractions and windows cannot be made by the same tasks; None if they can."""
    first, *others = anchors
    unlike = next((other for other in others if not are_siblings(first, other)), None)
    if unlike is not None and have_one_factor(first, unlike) and _shape(first) != _shape(unlike):
        shapes = f"{_shape(first)} and {_shape(unlike)}"
        return f"products of one left factor share a kernel's tasks if they have one shape, not {shapes}"
    if unlike is None:
        return None
    kind = "contraction" if all(map(is_contraction, anchors)) else "contraction or window"
    several = ", or several of one left factor and shape" if len(anchors) > 2 else ""
    return f"a kernel has one {kind}{several}, not {' and '.join(map(word_for, anchors))}"


def _shape(product: ir.Operation) -> str:
    extents = product.results[0].type.shape
    return "x".join("?" if extent == DYNAMIC else str(extent) for extent in extents)
