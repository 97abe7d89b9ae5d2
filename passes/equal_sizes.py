"""Sizes that are known to be equal are those of the first argument that has them.

    func.func @main(%x: tensor<?x99xf32>, %t: tensor<?xi64>) … {mlopt.equal_sizes = ["a0_0 = a1_0"]}
      %n = tensor.dim %x, %c0
      %m = tensor.dim %t, %c0
  ->
    func.func @main(%x: tensor<?x99xf32>, %t: tensor<?xi64>) …
      %n = tensor.dim %x, %c0
      %m = tensor.dim %x, %c0

Passes behind it compare where sizes come from: loops over both run together then, and become one kernel.
Legal as long as who calls has compared them: torch.export and dynamo say which sizes have one symbol, and
mlopt's guards or dynamo's refuse other arguments. The attribute goes, as it counts arguments by their places.
The loss of a class, log_softmax and nll_loss, is one kernel for a dynamic batch, too; it was two.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from mlir import ir

from ..dialects.attributes import EQUAL_SIZES
from .base import Pass, PassError
from .constants import index_constant, scalar_constant
from .operations import ops_named
from .structured import DYNAMIC

_SIZE = re.compile(r"a(\d+)_(\d+)")


@dataclass(frozen=True)
class EqualSizes(Pass):
    """Ask sizes that are known to be equal of one argument."""

    name: ClassVar[str] = "mlopt-equal-sizes"

    def run(self, op: ir.Operation) -> None:
        """Of each function by itself."""
        for func in ops_named(op, "func.func"):
            groups = [_sizes_of(func, group) for group in EQUAL_SIZES.get(func) or ()]
            EQUAL_SIZES.drop(func)
            first = {size: sizes[0] for sizes in groups for size in sizes}
            for dim in ops_named(func, "tensor.dim") if first else ():
                _ask_first(dim, first)


def _sizes_of(func: ir.Operation, group: str) -> list[tuple[ir.Value, int]]:
    """The arguments and dims of ``a0_0 = a1_0``."""
    arguments = list(func.regions[0].blocks[0].arguments)
    found = []
    for text in group.split(" = "):
        size = _SIZE.fullmatch(text)
        argument, dim = (int(size[1]), int(size[2])) if size else (len(arguments), 0)
        kind = arguments[argument].type if argument < len(arguments) else None
        if not isinstance(kind, ir.RankedTensorType) or dim >= kind.rank or kind.shape[dim] != DYNAMIC:
            raise PassError(func, f"mlopt.equal_sizes: {text} is no dynamic dim D of an argument I, as aI_D")
        found.append((arguments[argument], dim))
    return found


def _ask_first(op: ir.Operation, first: dict[tuple[ir.Value, int], tuple[ir.Value, int]]) -> None:
    which = scalar_constant(op.operands[1])
    if which is None or (op.operands[0], which.value) not in first:
        return
    argument, dim = first[op.operands[0], which.value]
    if argument == op.operands[0] and dim == which.value:
        return
    with op.location, ir.InsertionPoint(op):
        op.operands[1] = index_constant(dim)
    op.operands[0] = argument
