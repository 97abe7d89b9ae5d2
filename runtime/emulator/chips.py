"""The chips whose limits a launch is checked against, and the peaks that the roofline takes."""

from __future__ import annotations

from dataclasses import dataclass

from ..cuda.chips import REGISTERS, Limits, find_chip
from .errors import EmulatorError


@dataclass(frozen=True, slots=True)
class Chip:
    """A processor's limits, and its peaks: bandwidth in bytes/s, rates in FLOP/s."""

    name: str
    processors: int
    limits: Limits  # of a multiprocessor
    registers: int  # of 32 bits, in a multiprocessor
    shared_in_block: int  # bytes, with opt-in
    bandwidth: float
    f32: float
    f64: float
    tensor: float  # f16 with f32 sums, dense
    capability: tuple[int, int]
    threads_in_block: int = 1024
    grid: tuple[int, int, int] = (2**31 - 1, 65535, 65535)
    block: tuple[int, int, int] = (1024, 1024, 64)


# By compute capability's major version: multiprocessors, bandwidth, f32, f64 and tensor peaks, from the
# data sheets of the A100 80GB SXM, the H100 SXM, and (for what is newer) the B200.
_PEAKS = {
    8: (108, 2.039e12, 19.5e12, 9.7e12, 312e12),
    9: (132, 3.35e12, 66.9e12, 33.5e12, 989e12),
    10: (148, 8.0e12, 75e12, 37e12, 2250e12),
}


def chip(target: str) -> Chip:
    """The chip for a PTX target (sm_90a); ones that are older than sm_80 run as sm_80 would run them."""
    digits = "".join(character for character in target.partition("_")[2] if character.isdigit())
    if not target.startswith("sm_") or not digits:
        raise EmulatorError(f"{target!r} is not a chip", remedy="a name such as sm_80")
    try:
        found = find_chip(target if int(digits) >= 80 else "sm_80")
    except LookupError as error:
        raise EmulatorError(f"{target!r} is not a chip", remedy=str(error)) from None
    limits = found.limits
    processors, bandwidth, f32, f64, tensor = _PEAKS[min(found.capability[0], max(_PEAKS))]
    return Chip(
        found.name,
        processors,
        limits,
        REGISTERS,
        limits.shared_per_block,
        bandwidth,
        f32,
        f64,
        tensor,
        found.capability,
    )
