"""Strip mining's rules, one module a kind of op; importing the package registers them all."""

from . import contract, elementwise, halves, leaves, loop, read, reduce, reshape, scalars, scan

__all__ = [
    "contract",
    "elementwise",
    "halves",
    "leaves",
    "loop",
    "read",
    "reduce",
    "reshape",
    "scalars",
    "scan",
]
