"""Most of the layers that `find` has found leave @main: the first few and the last one stay.

::

    layer 0, 1, 2, 3, 4, …, n - 2, n - 1      ->      layer 0, 1, 2, 3, n - 1

The arguments of the layers that go stay where they are, unread. All of them have their layer's number as
``mlopt.layer``; `put_back` knows by it what belongs to which layer.
"""

from __future__ import annotations

from mlir import ir

from ...dialects.attributes import LAYER, argument_attributes
from ..groups import operands_of
from .find import Layers
from .members import host_functions


def leave_out(module: ir.Operation, layers: Layers, first: int) -> None:
    """Take all layers out of @main but the ``first`` ones and the last one."""
    main = host_functions(module)["main"]
    last, template = layers.of(layers.count - 1), layers.of(first - 1)
    before = layers.of(layers.count - 2)
    instead = {
        old: new
        for gone, stays in zip(before, template, strict=True)
        for old, new in zip(gone.results, stays.results, strict=True)
    }
    for op in last:
        for owner, number, value in list(operands_of(op)):
            if value in instead:
                owner.operands[number] = instead[value]
    for layer in reversed(range(first, layers.count - 1)):
        for op in reversed(layers.of(layer)):
            op.erase()
    attributes = argument_attributes(main)
    with main.location:
        for layer, numbers in enumerate(layers.arguments):
            for number in numbers:
                attributes[number] = LAYER.added(attributes[number], layer)
        main.attributes["arg_attrs"] = ir.ArrayAttr.get(attributes)
