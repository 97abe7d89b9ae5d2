"""Equal layers pass through a stage once: the stage runs on a few of them, the others are put back.

Nothing that a pass does is known to go by layers: it may gather something of each in one kernel behind
the last. So the stage runs on one layer more, too, and that must be what putting one layer back makes of the
first run: the step from four layers to five is taken for all that follow. If it is not, the stage runs on
all.
"""

from __future__ import annotations

from collections.abc import Callable

from mlir import ir

from .find import Layers
from .leave_out import leave_out, mark
from .members import FIRST
from .put_back import put_back, restore, unmark

Run = Callable[[ir.Operation], None]


def run_once(module: ir.Operation, layers: Layers, run: Run, run_unseen: Run) -> None:
    """Do to ``module`` what ``run`` does; ``run_unseen`` does the same to a copy that nobody observes."""
    whole = module.clone()
    mark(module, layers)
    leave_out(layers, range(FIRST + 1, layers.count - 1))
    more = module.clone()
    leave_out(layers, range(FIRST, FIRST + 1))
    run(module)
    if _adds_itself_only(module, more, layers.count, run_unseen):
        put_back(module, layers.count, layers.count - 1 - FIRST)
        return
    restore(module, whole)
    run(module)


def _adds_itself_only(few: ir.Operation, more: ir.Operation, count: int, run_unseen: Run) -> bool:
    """Whether the passes make of ``more``, which has one layer more, what is in ``few``, and that layer."""
    expected = few.clone()
    if not put_back(expected, count, 1):
        return False
    run_unseen(more)
    unmark(more)
    return _text(more) == _text(expected)


def _text(module: ir.Operation) -> list[str]:
    """All functions with their places; what is told of the whole module counts its layers."""
    return [
        str(op.operation.get_asm(enable_debug_info=True, use_local_scope=True))
        for op in module.regions[0].blocks[0].operations
    ]
