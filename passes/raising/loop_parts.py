"""One loop of a generic as several that stand for it: its maps, and the positions that its body asks for."""

from __future__ import annotations

from collections.abc import Callable

from mlir import ir
from mlir.dialects import linalg

from ..structured import body_of


def dim_of_loop(where: ir.AffineMap, loop: int) -> int | None:
    """The dim that runs along ``loop``."""
    exprs = list(where.results)
    mine = ir.AffineDimExpr.get(loop, where.context)
    return exprs.index(mine) if mine in exprs else None


def with_loops(where: ir.AffineMap, loop: int, added: int) -> ir.AffineMap:
    """``where`` with ``added`` loops behind ``loop``, each in a dim of its own."""
    exprs: list[ir.AffineExpr] = []
    for expr in where.results:
        if not isinstance(expr, ir.AffineDimExpr):
            exprs.append(expr)
        elif expr.position == loop:
            exprs += [ir.AffineDimExpr.get(loop + more) for more in range(added + 1)]
        else:
            exprs.append(ir.AffineDimExpr.get(expr.position + added * (expr.position > loop)))
    return ir.AffineMap.get(where.n_dims + added, 0, exprs)


def ask_with_loops(
    op: ir.Operation, loop: int, added: int, position: Callable[[list[ir.Value]], ir.Value]
) -> None:
    """Let the body of ``op`` ask for loops as they are once ``added`` ones stand behind ``loop``.

    ``position`` makes the position in the loop as it was from the loops that it has become.
    """
    for index in [each.operation for each in body_of(op).operations if each.operation.name == "linalg.index"]:
        number = index.attributes["dim"].value
        if number == loop:
            with ir.InsertionPoint(index), op.location:
                loops = [linalg.IndexOp(loop + more).result for more in range(added + 1)]
                index.results[0].replace_all_uses_with(position(loops))
            index.erase()
        elif number > loop:
            index.attributes["dim"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), number + added)
