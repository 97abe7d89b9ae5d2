"""The ops of tile IR, seen from their operands: which dims of an operand run along which of the result."""

from __future__ import annotations

from collections.abc import Iterator

from mlir import ir

from ....dialects.attributes import MMA
from ...combining import kept_dims, rows_of_scan
from ...reshapes import RESHAPES

Link = tuple[int, ir.Value, int]  # a dim of an operand; a value and its dim that runs along

ELEMENTWISE = ("arith.", "math.")


def is_tile(value: ir.Value) -> bool:
    """Whether a value is a tile (of any rank) and not a scalar."""
    return isinstance(value.type, ir.VectorType)


def sizes_of(value: ir.Value) -> list[int]:
    """The shape of a tile."""
    return list(ir.VectorType(value.type).shape)


def contract_loops(op: ir.Operation) -> list[list[int]]:
    """For each of a contract's operands the loop of each dim."""
    maps = [ir.AffineMapAttr(attribute).value for attribute in op.attributes["indexing_maps"]]
    return [[ir.AffineDimExpr(expr).position for expr in each.results] for each in maps]


def is_uniform(value: ir.Value) -> bool:
    """Whether a tile is one scalar at all its positions, as the ops say: it needs no layout."""
    seen: set[ir.Value] = set()
    waiting = [value]
    while waiting:
        tile = waiting.pop()
        if tile in seen:
            continue
        seen.add(tile)
        if isinstance(tile.owner, ir.Block):
            return False
        op = tile.owner.operation
        if op.name in ("arith.constant", "ub.poison"):
            continue
        if op.name not in RESHAPES and not op.name.startswith(ELEMENTWISE):
            return False
        waiting += [operand for operand in op.operands if is_tile(operand)]
    return True


def links(op: ir.Operation) -> Iterator[tuple[int, list[Link]]]:
    """For each tile operand, by its number, which of its dims run along dims of other values."""
    name = op.name
    if name in RESHAPES:
        if is_tile(op.operands[0]):
            found = RESHAPES[name](op)
            yield 0, [(dim, op.results[0], at) for at, dim in enumerate(found) if dim is not None]
    elif name == "vector.multi_reduction":
        yield 0, [(dim, op.results[0], at) for at, dim in enumerate(kept_dims(op))]
        if is_tile(op.results[0]):
            yield 1, [(dim, op.results[0], dim) for dim in range(len(sizes_of(op.results[0])))]
    elif name == "vector.scan":
        rows = [(dim, op.results[1], at) for at, dim in enumerate(rows_of_scan(op))]
        yield 0, [(dim, op.results[0], dim) for dim in range(len(sizes_of(op.results[0])))] + rows
        yield 1, [(at, op.results[0], dim) for dim, _, at in rows]
    elif name == "vector.contract":
        yield from _contract_links(op)
    elif name == "scf.yield":
        loop = op.parent
        for number, value in enumerate(op.operands):
            if is_tile(value):
                yield number, [(dim, loop.results[number], dim) for dim in range(len(sizes_of(value)))]
    elif name == "scf.for":
        for number, result in enumerate(op.results):
            if is_tile(result):
                yield number + 3, [(dim, result, dim) for dim in range(len(sizes_of(result)))]
    elif name.startswith(ELEMENTWISE):
        for number, value in enumerate(op.operands):
            if is_tile(value):
                yield number, [(dim, op.results[0], dim) for dim in range(len(sizes_of(value)))]


def _contract_links(op: ir.Operation) -> Iterator[tuple[int, list[Link]]]:
    if MMA.name in op.attributes:  # its factors have fragments of their own
        yield 2, [(dim, op.results[0], dim) for dim in range(len(sizes_of(op.results[0])))]
        return
    loops = contract_loops(op)
    places: dict[int, tuple[ir.Value, int]] = {
        loop: (op.results[0], dim) for dim, loop in enumerate(loops[2])
    }
    for number, value in enumerate(op.operands):
        found = [(dim, *places[loop]) for dim, loop in enumerate(loops[number]) if loop in places]
        for dim, loop in enumerate(loops[number]):
            places.setdefault(loop, (value, dim))
        yield number, found
