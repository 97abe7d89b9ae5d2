"""What a compiled object shows of its work: kernels, and a summary of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .gpu_report import GpuReport
from .tables import aligned

_OPS_WIDTH = 48
_UNKNOWN = "?"


@dataclass(frozen=True)
class Kernel:
    """One kernel: the ops in it, how it runs, what one call of it moves and computes.

    ``bytes`` and ``flops`` are of the static part of its shapes, None where they are not known (on
    the slow path). ``path`` is "tile", or "slow:"
    and why no tile rule took it. ``function`` is "main", or "prepare" for what runs only when
    weights change; ``calls`` is how often it is called there.
    """

    name: str
    ops: tuple[str, ...]
    schedule: str
    path: str
    bytes: int | None
    flops: int | None
    function: str
    calls: int

    @staticmethod
    def from_metadata(data: Mapping[str, Any]) -> Kernel:
        """``data`` as pipelines/metadata.py writes it."""
        return Kernel(**{**data, "ops": tuple(data["ops"])})

    @property
    def is_slow(self) -> bool:
        return self.path != "tile"

    @property
    def intensity(self) -> float | None:
        """FLOPs a byte; None where they are not known, or there are no bytes."""
        return self.flops / self.bytes if self.bytes and self.flops is not None else None


@dataclass(frozen=True)
class Report:
    """How a module was compiled; ``str()`` is a table of its kernels.

    ``ops`` are the ops of the captured graph with their source lines. ``eager`` says why the
    module runs in eager instead; empty if it does not. ``gpu`` has what is known of kernels on a GPU.
    ``notes`` are what was asked for and is not done.
    """

    kernels: tuple[Kernel, ...] = ()
    ops: tuple[tuple[str, str], ...] = ()
    seconds: float = 0.0
    not_fused: tuple[str, ...] = ()
    eager: str = ""
    gpu: GpuReport | None = None
    notes: tuple[str, ...] = ()

    @staticmethod
    def from_metadata(
        metadata: Mapping[str, Any],
        ops: tuple[tuple[str, str], ...],
        seconds: float,
        notes: tuple[str, ...] = (),
    ) -> Report:
        """The report on what a compile worker returned."""
        kernels = tuple(Kernel.from_metadata(kernel) for kernel in metadata.get("kernels", ()))
        device = metadata.get("device")
        gpu = GpuReport.from_metadata(device) if device else None
        return Report(kernels, ops, seconds, tuple(metadata.get("fusion", ())), "", gpu, notes)

    @property
    def coverage(self) -> float:
        """The share of the ops that is compiled: all of them, or none if the module runs in eager."""
        return 0.0 if self.eager else 1.0

    @property
    def slow_paths(self) -> tuple[Kernel, ...]:
        return tuple(kernel for kernel in self.kernels if kernel.is_slow)

    @property
    def bytes(self) -> int | None:
        """What the kernels of one call move; None if that of one of them is not known, or in eager."""
        return None if self.eager else _total([(kernel.bytes, kernel.calls) for kernel in self._main])

    @property
    def flops(self) -> int | None:
        """What the kernels of one call compute; None if that of one of them is not known, or in eager."""
        return None if self.eager else _total([(kernel.flops, kernel.calls) for kernel in self._main])

    @property
    def _main(self) -> Sequence[Kernel]:
        return [kernel for kernel in self.kernels if kernel.function == "main"]

    def summary(self) -> str:
        """One line."""
        if self.eager:
            return f"runs in eager: {self.eager.splitlines()[0]}"
        ops = f"{len(self.ops)} ops in " if self.ops else ""
        slow = f", {len(self.slow_paths)} on the slow path" if self.slow_paths else ""
        kernels = "1 kernel" if len(self._main) == 1 else f"{len(self._main)} kernels"
        return f"{ops}{kernels}{slow}"

    def __str__(self) -> str:
        if self.eager:
            return f"0 % compiled; the module runs in eager:\n{self.eager}"
        rows = [("kernel", "ops", "calls", "MB", "MFLOP", "FLOP/B", "path")]
        rows += [_row(kernel) for kernel in self.kernels]
        head = f"{self.coverage:.0%} compiled: {self.summary()}, compiled in {self.seconds:.2f} s"
        total = f"one call: {_millions(self.bytes)} MB, {_millions(self.flops)} MFLOP"
        lines = [head, *aligned(rows, left=(0, 1, 6)), total, *self.notes]
        return "\n".join(lines if self.gpu is None else [*lines, "", str(self.gpu)])


def _total(parts: Sequence[tuple[int | None, int]]) -> int | None:
    known = [number * calls for number, calls in parts if number is not None]
    return sum(known) if len(known) == len(parts) else None


def _millions(number: int | None) -> str:
    return _UNKNOWN if number is None else f"{number / 1e6:.3f}"


def _row(kernel: Kernel) -> tuple[str, str, str, str, str, str, str]:
    ops = ", ".join(kernel.ops)
    if len(ops) > _OPS_WIDTH:
        ops = ops[: _OPS_WIDTH - 1] + "…"
    where = "" if kernel.function == "main" else f" ({kernel.function})"
    return (
        kernel.name + where,
        ops,
        str(kernel.calls),
        _millions(kernel.bytes),
        _millions(kernel.flops),
        _UNKNOWN if kernel.intensity is None else f"{kernel.intensity:.1f}",
        kernel.path,
    )
