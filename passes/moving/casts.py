"""What several ops read cast is cast for each of them.

::

    %w = generic {extf} ins(%y)                    %w1 = generic {extf} ins(%y)
    %r = generic {mul} ins(%c, %w)             ->  %w2 = generic {extf} ins(%y)
    %s = generic {mul} ins(%x, %w)                 %r = generic {mul} ins(%c, %w1)
                                                   %s = generic {mul} ins(%x, %w2)

Legal always. Done before ops are computed in parts, which need parts of their cast only: queries and keys of
half floats that rotate by the same angles are 1 kernel instead of 3. Casts that stay equal cse joins again.
"""

from __future__ import annotations

from mlir import ir

from ..structured import CASTS, body_of, structured_ops


def repeat_casts(func: ir.Operation) -> None:
    """Give each generic of ``func`` a cast of its own of what it reads cast."""
    for op in structured_ops(func):
        names = {inner.operation.name for inner in body_of(op).operations}
        if names == {"linalg.yield"} or not names <= {*CASTS, "linalg.yield"}:
            continue
        readers: list[ir.Operation] = []
        for use in op.results[0].uses:
            if use.owner.name == "linalg.generic" and use.owner.operation not in readers:
                readers.append(use.owner.operation)
        for reader in readers[1:]:
            own = op.clone(ir.InsertionPoint(op)).operation.results[0]
            for number, value in enumerate(reader.operands):
                if value == op.results[0]:
                    reader.operands[number] = own
