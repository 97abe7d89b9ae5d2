"""What the target that is decomposed for can run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass
class _Loops:
    """Whether loops over tensors run, and whether anybody has wanted to know."""

    run: bool = False
    asked: bool = False


_loops: ContextVar[_Loops] = ContextVar("loops")


@contextmanager
def for_target(target: str) -> Iterator[None]:
    """Decompose for ``target``: only the CPU runs loops over tensors."""
    token = _loops.set(_Loops(target == "cpu"))
    try:
        yield
    finally:
        _loops.reset(token)


def runs_loops() -> bool:
    """Whether what is decomposed may have loops over tensors."""
    loops = _loops.get(_Loops())
    loops.asked = True
    return loops.run


def used_loops() -> bool | None:
    """What `runs_loops` has said since `for_target`; None if nobody has asked."""
    loops = _loops.get(_Loops())
    return loops.run if loops.asked else None
