"""The GPUs that code can be generated for, and what one of their multiprocessors has.

A name that LLVM does not know, or with a PTX version that is too old for it, ends the process
in LLVM; so only names from this table get there.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass

PREFIX = "cuda:"
TOO_OLD = "mlopt's GPU code needs compute capability 8.0 (Ampere)"


@dataclass(frozen=True)
class Limits:
    """What a multiprocessor (SM) has, by compute capability.

    Source: CUDA C++ Programming Guide 13.0, "Technical Specifications per Compute Capability";
    ``blocks`` and the granularities as in cuda_occupancy.h of CUDA 13.0. Shared memory in bytes:
    of an SM, and the most that one block can ask for; the driver takes ``RESERVED`` of each block.
    """

    warps: int
    blocks: int
    shared: int
    shared_per_block: int


# Alike on all of them.
WARP = 32
REGISTERS = 65536  # of an SM, and the most that one block can have
REGISTERS_PER_THREAD = 255
REGISTER_GRANULARITY = 256  # registers of a warp are allocated in steps of this
PARTITIONS = 4  # of an SM; each has a quarter of its registers
SHARED_GRANULARITY = 128
RESERVED = 1024

_KIB = 1024
_LIMITS = {
    (8, 0): Limits(64, 32, 164 * _KIB, 163 * _KIB),
    (8, 6): Limits(48, 16, 100 * _KIB, 99 * _KIB),
    (8, 7): Limits(48, 16, 164 * _KIB, 163 * _KIB),
    (8, 9): Limits(48, 24, 100 * _KIB, 99 * _KIB),
    (9, 0): Limits(64, 32, 228 * _KIB, 227 * _KIB),
    (10, 0): Limits(64, 32, 228 * _KIB, 227 * _KIB),
    (10, 3): Limits(64, 32, 228 * _KIB, 227 * _KIB),
    (11, 0): Limits(48, 24, 228 * _KIB, 227 * _KIB),
    (12, 0): Limits(48, 24, 100 * _KIB, 99 * _KIB),
    (12, 1): Limits(48, 24, 100 * _KIB, 99 * _KIB),
}

# The PTX version that brought each chip (PTX ISA, "Target directives"), or 8.0, which all
# of ours need; "a" and "f" chips have instructions that no other chip runs.
_PTX = {
    "sm_80": 80, "sm_86": 80, "sm_87": 80, "sm_89": 80, "sm_90": 80, "sm_90a": 80,
    "sm_100": 86, "sm_100a": 86, "sm_100f": 88, "sm_103": 88, "sm_103a": 88, "sm_103f": 88,
    "sm_110": 90, "sm_110a": 90, "sm_110f": 90,
    "sm_120": 87, "sm_120a": 87, "sm_120f": 88, "sm_121": 88, "sm_121a": 88, "sm_121f": 88,
}  # fmt: skip


@dataclass(frozen=True)
class Chip:
    """A GPU by its name ("sm_90a"): compute capability, PTX version (80 is 8.0) and limits."""

    name: str
    capability: tuple[int, int]
    ptx: int
    limits: Limits

    @property
    def suffix(self) -> str:
        """The name's end: "a" for code that only this chip runs, "f" for its family, else empty."""
        return self.name.lstrip("sm_0123456789")

    def runs_on(self, device: tuple[int, int]) -> bool:
        """Whether a GPU of compute capability ``device`` can run the PTX for this chip."""
        if self.suffix == "a":
            return device == self.capability
        if self.suffix == "f":
            return device[0] == self.capability[0] and device >= self.capability
        return device >= self.capability

    def cubin_runs_on(self, device: tuple[int, int]) -> bool:
        """Whether such a GPU can run machine code for this chip: PTX is compiled for others."""
        return self.runs_on(device) and device[0] == self.capability[0]


def chip_names() -> tuple[str, ...]:
    """All chips, oldest first."""
    return tuple(_PTX)


def find_chip(name: str) -> Chip:
    """The chip called ``name``; LookupError with near names if there is none."""
    if name not in _PTX:
        near = difflib.get_close_matches(name, _PTX, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        raise LookupError(f"{hint}There are {', '.join(_PTX)}")
    digits = name.removeprefix("sm_").rstrip("af")
    capability = (int(digits[:-1]), int(digits[-1]))
    return Chip(name, capability, _PTX[name], _LIMITS[capability])


def best_chip(device: tuple[int, int]) -> Chip | None:
    """The chip to compile for, for a GPU of compute capability ``device``; None if it is too old."""
    able = [chip for chip in map(find_chip, _PTX) if chip.runs_on(device)]
    return max(able, key=lambda chip: (chip.capability, chip.suffix == "a"), default=None)


def is_cuda(target: str) -> bool:
    """Whether ``target`` asks for a GPU ("cuda:sm_80")."""
    return target.startswith(PREFIX)


def chip_of(target: str) -> Chip:
    """The chip of a target like "cuda:sm_80"; LookupError as `find_chip`'s."""
    return find_chip(target.removeprefix(PREFIX))
