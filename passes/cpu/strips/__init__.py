"""Strip mining's rules, one module a kind of op; importing the package registers them all."""

from . import contract, elementwise, leaves, loop, read, reduce, reshape, scalars

__all__ = ["contract", "elementwise", "leaves", "loop", "read", "reduce", "reshape", "scalars"]
