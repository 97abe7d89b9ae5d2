"""The demo's models as PTX: what ptxas says of each kernel. Needs no GPU."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import mlopt
import torch
from rich.table import Table

CHIPS = ("sm_80", "sm_90a")
FEWEST_THREADS = 128
# What reads more than it can write 16 bytes at a time: windows, and sums that leave one number a row.
REDUCING = frozenset({"sum", "amax", "amin", "max_pool", "avg_pool"})
_ENTRY = re.compile(r"\.entry (\w+)\((.*?)\n}\n", re.DOTALL)
_WIDE = re.compile(r"\b(?:ld|st)\.global[\w.]*\.(?:v4\.[bfus]32|v2\.[bfus]64|v8\.[bfus]16)\b")


@dataclass(frozen=True)
class Verdict:
    """One model for one chip; ``narrow`` are element-wise kernels without 128-bit accesses."""

    model: str
    chip: str
    ptxas: str
    seconds: float
    kernels: int
    slow: int
    threads: int
    registers: int
    spills: int
    warnings: int
    wide: int
    narrow: tuple[str, ...]

    def problems(self) -> list[str]:
        """What is not as it should be."""
        found = []
        if not self.ptxas:
            found.append("there is no ptxas to judge it: pip install 'mlopt[cuda]'")
        if self.slow:
            found.append(f"{self.slow} kernels on the slow path")
        if self.spills or self.warnings:
            found.append(f"{self.spills} bytes of spills, {self.warnings} warnings of ptxas")
        if self.threads < FEWEST_THREADS:
            found.append(f"a block of {self.threads} threads")
        if self.narrow:
            found.append(f"no 128-bit accesses in {', '.join(self.narrow)}")
        return [f"{self.model} for {self.chip}: {problem}" for problem in found]


def verdict(name: str, module: torch.nn.Module, x: torch.Tensor, chip: str, folder: Path) -> Verdict:
    """Compile ``module`` for ``chip``; its PTX and report go to ``folder``."""
    start = time.perf_counter()
    compiled = mlopt.jit(module, x, target=f"cuda:{chip}")
    seconds = time.perf_counter() - start
    report, ptx = compiled.report, compiled.asm["ptx"]
    (folder / f"{chip}.ptx").write_text(ptx)
    (folder / f"{chip}-report.txt").write_text(str(report))
    gpu = report.gpu
    assert gpu is not None, "a program for a GPU"
    wide = {entry for entry, body in _ENTRY.findall(ptx) if _WIDE.search(body)}
    return Verdict(
        model=name,
        chip=chip,
        ptxas=gpu.ptxas,
        seconds=seconds,
        kernels=len(report.kernels),
        slow=len(report.slow_paths),
        threads=min(kernel.threads or 0 for kernel in gpu.kernels),
        registers=max(kernel.registers or 0 for kernel in gpu.kernels),
        spills=gpu.spills,
        warnings=len(gpu.warnings),
        wide=sum(kernel.name in wide for kernel in report.kernels),
        narrow=tuple(
            kernel.name
            for kernel in report.kernels
            if kernel.name not in wide and not REDUCING & set(kernel.ops)
        ),
    )


def table(verdicts: Mapping[tuple[str, str], Verdict]) -> Table:
    """One column for each model and chip."""
    result = Table(title="PTX for NVIDIA GPUs, assembled by ptxas")
    result.add_column("")
    for model, chip in verdicts:
        result.add_column(f"{model}\n{chip}", justify="right")
    lines = {
        "kernels": lambda one: str(one.kernels),
        "kernels on the slow path": lambda one: str(one.slow),
        "kernels with 128-bit accesses": lambda one: str(one.wide),
        "bytes of spills": lambda one: str(one.spills),
        "warnings": lambda one: str(one.warnings),
        "most registers": lambda one: str(one.registers),
        "fewest threads a block": lambda one: str(one.threads),
        "compile, s": lambda one: f"{one.seconds:.1f}",
    }
    for label, show in lines.items():
        result.add_row(label, *(show(one) for one in verdicts.values()))
    return result
