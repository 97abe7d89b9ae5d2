"""``python -m mlopt.bench.gpu.compile_times``: how long programs take from linalg to PTX, without a GPU.

    python -m mlopt.bench.gpu.compile_times                 some programs of each kind
    python -m mlopt.bench.gpu.compile_times conv causal     of all of the benchmark's, those with such names
    python -m mlopt.bench.gpu.compile_times --save          and write gpu_compile_times.md

The passes' and LLVM's CPU time for all kernels; several processors have kernels side by side. Nothing is
compared with a limit: the times are one machine's.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import mlopt
import torch

from ...runtime.cuda.chips import Chip, find_chip
from .arguments import finish
from .measured import Zeros
from .timed import TIMED
from .to_ptx import MEANING, ToPtx, time_to_ptx, told_times

RESULTS = Path(__file__).parent.parent / "results" / "gpu_compile_times.md"
CHIPS = ("sm_80", "sm_90a")
PROGRAMS = (
    "relu-4096-f32", "gelu-4096-bf16", "residual-4096-bf16", "softmax-1024-bf16", "softmax-32768-f32",
    "layer-norm-1024-bf16", "cross-entropy-f32", "column-sum-bf16", "transpose-bf16", "embedding-bf16",
    "rotary-bf16", "linear-gelu-16x4096x4096-bf16", "linear-gelu-128x4096x4096-bf16",
    "attention-4096-128-bf16", "causal-attention-4096-128-bf16", "causal-attention-4096-64-bf16",
    "conv-64-64-56-3-1-bf16", "conv-64-256-56-1-1-bf16", "conv-128-128-56-3-2-bf16",
)  # fmt: skip


def times_of(name: str, chip: Chip) -> ToPtx:
    """The times of one of the benchmark's programs."""
    row = TIMED[name]
    with torch.no_grad():
        inputs = row.inputs(Zeros(row.dtype), tiny=False)
        compiled = mlopt.jit(row.function, *inputs, target=f"cuda:{chip.name}", device="emulator")
    return time_to_ptx(compiled.asm["linalg"], chip, tf32=False)


def table(rows: Sequence[tuple[str, Sequence[ToPtx]]]) -> str:
    """The rows in Markdown, a column for each chip."""
    head = [
        "# From linalg to PTX",
        "Made by `python -m mlopt.bench.gpu.compile_times --save`: programs of the benchmark.",
        MEANING,
        *(f"{chip}: {told_times([times[number] for _, times in rows])}" for number, chip in enumerate(CHIPS)),
    ]
    lines = [f"| program | {' | '.join(CHIPS)} |", f"|{' --- |' * (len(CHIPS) + 1)}"]
    lines += [f"| {name} | {' | '.join(map(str, times))} |" for name, times in rows]
    return "\n\n".join([*head, "\n".join(lines)])


def main(arguments: Sequence[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m mlopt.bench.gpu.compile_times")
    parser.add_argument("only", nargs="*", metavar="PART", help="programs whose names have it; default: some")
    parser.add_argument("--save", action="store_true", help=f"write {RESULTS.name}; names no programs")
    options = parser.parse_args(arguments)
    if options.save and options.only:
        parser.error("--save writes the whole table: name no programs")
    wanted = options.only
    names = [each for each in TIMED if any(part in each for part in wanted)] if wanted else PROGRAMS
    if not names:
        parser.error(f"no program's name has any of {', '.join(wanted)}")
    chips = [find_chip(name) for name in CHIPS]
    for chip in chips:
        times_of(names[0], chip)  # the first one loads MLIR and LLVM, too
    rows = [(name, [times_of(name, chip) for chip in chips]) for name in names]
    return finish(table(rows), RESULTS if options.save else None, [])


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
