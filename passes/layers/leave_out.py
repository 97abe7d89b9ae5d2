"""Most of the layers that `find` has found leave @main: the first few and the last one stay.

::

    layer 0, 1, 2, 3, …, n - 2, n - 1      ->      layer 0, 1, 2, n - 1

The arguments of the layers that go stay where they are, unread. All of them have their layer's number as
``mlopt.layer``; `put_back` knows by it what belongs to which layer.
"""

from __future__ import annotations

from mlir import ir

from ...dialects.attributes import LAYER, argument_attributes
from ..groups import operands_of
from .find import Layers
from .members import host_functions


def mark(module: ir.Operation, layers: Layers) -> None:
    """Note at each argument of @main which layer reads it."""
    main = host_functions(module)["main"]
    attributes = argument_attributes(main)
    with main.location:
        for layer, numbers in enumerate(layers.arguments):
            for number in numbers:
                attributes[number] = LAYER.added(attributes[number], layer)
        main.attributes["arg_attrs"] = ir.ArrayAttr.get(attributes)


def leave_out(layers: Layers, gone: range) -> None:
    """Take the layers ``gone`` out; those before them stay, and what followed them follows those."""
    instead = {
        old: new
        for before, stays in zip(layers.of(gone.stop - 1), layers.of(gone.start - 1), strict=True)
        for old, new in zip(before.results, stays.results, strict=True)
    }
    for op in layers.of(layers.count - 1):
        for owner, number, value in list(operands_of(op)):
            if value in instead:
                owner.operands[number] = instead[value]
    for layer in reversed(gone):
        for op in reversed(layers.of(layer)):
            op.erase()
