"""What the target that is decomposed for can run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass
class _Target:
    """Whether it is the CPU, and whether anybody has wanted to know."""

    is_cpu: bool = False
    asked: bool = False


_target: ContextVar[_Target] = ContextVar("target")


@contextmanager
def for_target(target: str) -> Iterator[None]:
    """Decompose for ``target``."""
    token = _target.set(_Target(target == "cpu"))
    try:
        yield
    finally:
        _target.reset(token)


def runs_loops() -> bool:
    """Whether what is decomposed may have loops over tensors: only the CPU runs them."""
    return _is_cpu()


def takes_memory_order() -> bool:
    """Whether an input is taken with its dims in the order of its memory, and turned where that is wanted.

    On the CPU torch's copy and kernels that read along the memory are quicker.
    """
    return not _is_cpu()


def gathers_by_element() -> bool:
    """Whether each element that a gather reads along a row takes an instruction of its own.

    On the CPU, where whole rows are read by registers: neighbours of few places along one dim after the
    other are quicker than all of them at once.
    """
    return _is_cpu()


def compares_long_numbers() -> bool:
    """Whether 64-bit numbers are compared at half the rate of 32-bit ones, as they fill the same registers.

    On GPUs it can be a 64th, and is several instructions for integers.
    """
    return _is_cpu()


def scatters_cheaply() -> bool:
    """Whether elements are written to places of a tensor by the kernel that finds these, as on the CPU."""
    return _is_cpu()


def used_loops() -> bool | None:
    """Whether the target runs loops, if anything has depended on the target since `for_target`; else None."""
    target = _target.get(_Target())
    return target.is_cpu if target.asked else None


def _is_cpu() -> bool:
    target = _target.get(_Target())
    target.asked = True
    return target.is_cpu
