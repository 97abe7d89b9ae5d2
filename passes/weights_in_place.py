"""`mlopt-weights-in-place`: a product of enough rows reads the weights of a linear layer as they lie."""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from mlir import ir

from .base import Pass
from .hoist import made_of_weights, weights_factor
from .join_products import of_unequal_widths
from .moving.reads import original
from .operations import defining_op, plain_functions
from .structured import (
    DYNAMIC,
    erase_dead,
    indexing_maps,
    inits_of,
    kinds_of,
    loop_extents,
    maps_of,
    structured_ops,
)

LEAST_BYTES = 1 << 20  # of weights: a copy of fewer is no matter
# Fewer rows do not pay for turning the weights at each call. If the weights of all products are more than a
# cache keeps from call to call, packed ones come from memory as well, and not as early.
LEAST_ROWS, LEAST_ROWS_FROM_MEMORY = 128, 32
CACHE_BYTES = 32 << 20
_BYTES = 4  # of an f32


@dataclass(frozen=True)
class WeightsInPlace(Pass):
    """Let a product read the weights of a linear layer where they are, and keep no copy of them.

    ::

        %t = generic {transpose} (k, n) ins(%w at (n, k))
        %c = generic {matmul} (m, n | k) ins(%x at (m, k), %t at (k, n)) : tensor<128x3072xf32>
      ->
        %c = generic {matmul} (m, n | k) ins(%x at (m, k), %w at (n, k)) : tensor<128x3072xf32>

    Run it before mlopt-pack-weights and mlopt-join-products, which keep a copy of what they pack or join and
    leave these alone: products of one tensor share a kernel as they are (`siblings`), unless their results
    differ in width. Those that mlopt-join-products makes one are left to it then: with queries 1024 wide,
    keys and values 256, 128 rows, a layer takes 0.92 of the time on one core, eight layers 0.96. A task
    turns 32 KB of weights at a time into a panel, which L1 holds, and asks for the next while it multiplies.
    Legal where the weights are a matrix and the one summed loop is the last dim of both factors. Done in f32
    for 1 MB of weights and 128 rows, or 32 where the weights of all products are 32 MB (a table that is
    gathered does not count: a call reads a few of its rows); for fewer rows they are packed.

    One thread of a Zen 5 core, beside packed weights: ten layers 768 to 3072 and back, 32 rows 0.90 of the
    time, 64 0.91, 128 0.91, 512 0.95 (16 rows 1.1 to 1.3, 8 rows 1.3); one layer 768 to 768, which stays in
    the cache, 32 rows 1.16, 128 rows 1.01. GPT-2-small of 128 tokens: 173 to 154 ms, its process at its peak
    1.33 to 0.95 GB. Four layers like BERT's, whose queries, keys and values are not joined: 128 tokens 0.98
    of the time, 512 tokens 1.0, 33 MB less.
    """

    name: ClassVar[str] = "mlopt-weights-in-place"

    def run(self, op: ir.Operation) -> None:
        for function in plain_functions(op):
            _read_all(function)


def _read_all(function: ir.Operation) -> None:
    weights = made_of_weights(function)
    least = least_rows(function, weights)
    joined = of_unequal_widths(function, weights)
    read_weights(function, weights, lambda op, number: op not in joined and should_read(op, number, least))


def read_weights(
    function: ir.Operation, weights: Set[ir.Value], should: Callable[[ir.Operation, int], bool]
) -> None:
    """Have products of ``function`` read ``weights`` in place where they can, and ``should``, by number."""
    for op in structured_ops(function):
        number = weights_factor(op, weights)
        if number is not None and can_read(op, number) and should(op, number):
            read_in_place(op, number)
    erase_dead(function)  # transposes of weights


def read_in_place(op: ir.Operation, number: int) -> None:
    """Have ``op`` read factor ``number`` as it lies, and not what moves it."""
    maps = maps_of(op)
    op.operands[number], maps[number] = original(op, number)
    op.attributes["indexing_maps"] = indexing_maps(maps)


def can_read(op: ir.Operation, number: int) -> bool:
    """Whether the summed loop runs along rows of the weights, operand ``number``, and of the other factor."""
    data, (_, own) = maps_of(op)[1 - number], original(op, number)
    plain = all(isinstance(expr, ir.AffineDimExpr) for where in (data, own) for expr in where.results)
    if not plain or len(data.results) < 2 or len(own.results) != 2:
        return False
    kinds = kinds_of(op)
    summed = [loop for loop, kind in enumerate(kinds) if kind == "reduction"]
    column = own.results[0].position
    starts_anew = defining_op(inits_of(op)[0], "linalg.fill") is not None
    along = summed == [data.results[-1].position] == [own.results[1].position]
    return starts_anew and along and column not in [expr.position for expr in data.results]


def should_read(op: ir.Operation, number: int, least: int) -> bool:
    """Whether there are ``least`` rows, and weights, operand ``number``, of which a copy matters."""
    rows = rows_beside(op, number)
    if not all(isinstance(value.type.element_type, ir.F32Type) for value in op.operands):
        return False
    return rows is not None and rows >= least and _bytes(op.operands[number]) >= LEAST_BYTES


def rows_beside(op: ir.Operation, number: int) -> int | None:
    """How many rows the other factor than the weights, operand ``number``, has; None if nobody knows."""
    extents = [loop_extents(op)[expr.position] for expr in list(maps_of(op)[1 - number].results)[:-1]]
    return None if None in extents else prod(extents)


def least_rows(function: ir.Operation, weights: Set[ir.Value]) -> int:
    """How many rows pay for turning weights, of all that products of ``function`` read.

    What nothing reads counts, too: of layers alike, most were taken out (`layers`) and will be put back.
    """
    unread = {value for value in weights if isinstance(value.owner, ir.Block) and not any(value.uses)}
    read = {
        original(op, number)[0]
        for op in structured_ops(function)
        if (number := weights_factor(op, weights)) is not None
    }
    held = sum(_bytes(value) for value in unread | read)
    return LEAST_ROWS_FROM_MEMORY if held >= CACHE_BYTES else LEAST_ROWS


def _bytes(value: ir.Value) -> int:
    """Of weights in f32; 0 if their number is not known."""
    kind = value.type
    known = isinstance(kind, ir.RankedTensorType) and isinstance(kind.element_type, ir.F32Type)
    return prod(kind.shape) * _BYTES if known and DYNAMIC not in kind.shape else 0
