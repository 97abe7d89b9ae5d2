"""Whether a launch fits the device and the kernel's code; the driver says "invalid value" if not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from .chips import REGISTER_GRANULARITY, WARP
from .driver import DeviceLimits, FunctionNeeds
from .occupancy import round_up


@dataclass(frozen=True)
class LaunchSizes:
    """Blocks and threads by dimension, and the bytes of dynamic shared memory."""

    grid: tuple[int, ...]
    block: tuple[int, ...]
    shared: int

    @staticmethod
    def from_metadata(launch: Mapping[str, Any]) -> LaunchSizes:
        """The constant part of ``launch``, as mlopt-gpu-launch describes it: the rest is 1 (or no bytes)."""
        sizes = [tuple(max(size, 1) for size in launch[name]) for name in ("grid", "threads")]
        return LaunchSizes(sizes[0], sizes[1], max(launch["shared"][0], 0))

    def __str__(self) -> str:
        blocks, threads = ("×".join(map(str, size)) for size in (self.grid, self.block))
        return f"{blocks} blocks of {threads} threads with {self.shared} bytes of shared memory"


def objection(sizes: LaunchSizes, limits: DeviceLimits, needs: FunctionNeeds) -> str:
    """Why such a launch cannot be, or an empty string."""
    threads = prod(sizes.block)
    shared = needs.shared + sizes.shared
    warps = -(-threads // WARP)
    registers = warps * round_up(needs.registers * WARP, REGISTER_GRANULARITY)
    return (
        _too_large("blocks", sizes.grid, limits.grid)
        or _too_large("threads", sizes.block, limits.block)
        or _above("threads a block", threads, limits.threads, "the device")
        or _above("registers a block", registers, limits.registers, "the device")
        or _above("threads a block", threads, needs.threads, "its code")
        or _above("bytes of shared memory", shared, limits.shared, "the device")
    )


def _above(what: str, wanted: int, allowed: int, whose: str) -> str:
    return f"{wanted} {what}, {whose} allows {allowed}" if wanted > allowed else ""


def _too_large(what: str, wanted: Sequence[int], allowed: Sequence[int]) -> str:
    for axis, size, most in zip("xyz", wanted, allowed, strict=True):
        if not 0 < size <= most:
            return f"{size} {what} along {axis}, the device allows 1 to {most}"
    return ""
