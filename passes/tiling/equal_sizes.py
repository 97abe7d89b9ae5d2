"""Which sizes of a kernel's arguments are one: those along the same loop, whichever tensor is asked.

For ``%x + %y`` of tensor<?xf32>, written to ``%out``, they are ``a0_0 = a1_0 = a2_0``: linalg says nothing of
operands whose sizes differ. A bound that is asked of one argument then holds for the others.
"""

from __future__ import annotations

from mlir import ir

from ..domain import Dim, Domain
from ..structured import DYNAMIC
from .access import Index


def equal_sizes(function: ir.Operation, domain: Domain) -> list[str]:
    """The dynamic sizes of a kernel's arguments that are equal, as ``mlopt.equal_sizes`` has them."""
    arguments = list(function.regions[0].blocks[0].arguments)
    outs = dict(zip(domain.results, arguments[len(arguments) - len(domain.results) :], strict=True))
    found: dict[Dim, set[tuple[int, int]]] = {}
    for nest in domain.nests:
        loops = domain.loops(nest)
        for access in (*filter(None, nest.reads), *nest.writes):
            value = outs.get(access.value, access.value)
            if not isinstance(value, ir.BlockArgument) or not isinstance(value.type, ir.RankedTensorType):
                continue
            for dim, index in enumerate(access.indices):
                if value.type.shape[dim] == DYNAMIC and _is_whole(index):
                    found.setdefault(loops[index.loops[0]], set()).add((value.arg_number, dim))
    groups = [sorted(sizes) for sizes in found.values() if len(sizes) > 1]
    return [" = ".join(f"a{number}_{dim}" for number, dim in sizes) for sizes in groups]


def _is_whole(index: Index) -> bool:
    """Whether a dim is as long as its loop."""
    return index.plain and not index.padded and index.start == 0 and index.stride == 1
