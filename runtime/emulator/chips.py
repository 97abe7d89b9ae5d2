"""The chips whose limits a launch is checked against (CUDA programming guide, "Compute Capabilities")."""

from __future__ import annotations

from dataclasses import dataclass

from .errors import EmulatorError


@dataclass(frozen=True, slots=True)
class Chip:
    """A processor's limits, and its peaks: bandwidth in bytes/s, rates in FLOP/s."""

    name: str
    processors: int
    warps: int  # resident in a multiprocessor
    blocks: int
    registers: int  # of 32 bits, in a multiprocessor
    shared: int  # bytes in a multiprocessor
    shared_in_block: int  # with opt-in
    bandwidth: float
    f32: float
    f64: float
    tensor: float  # f16 with f32 sums, dense
    threads_in_block: int = 1024
    grid: tuple[int, int, int] = (2**31 - 1, 65535, 65535)
    block: tuple[int, int, int] = (1024, 1024, 64)


# Peaks from the data sheets of the A100 80GB SXM and the H100 SXM.
CHIPS = {
    "sm_80": Chip("sm_80", 108, 64, 32, 65536, 167936, 166912, 2.039e12, 19.5e12, 9.7e12, 312e12),
    "sm_90": Chip("sm_90", 132, 64, 32, 65536, 233472, 232448, 3.35e12, 66.9e12, 33.5e12, 989e12),
}


def chip(target: str) -> Chip:
    """The chip for a PTX target; older ones run as sm_80 would run them."""
    digits = "".join(character for character in target.partition("_")[2] if character.isdigit())
    if not target.startswith("sm_") or not digits:
        raise EmulatorError(f"{target!r} is not a chip", remedy=f"one of {', '.join(CHIPS)}")
    return CHIPS["sm_90" if int(digits) >= 90 else "sm_80"]
