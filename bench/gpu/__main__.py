"""``python -m mlopt.bench.gpu``: the gates of memory-bound kernels as a table (bench/gpu/gates.py).

    python -m mlopt.bench.gpu                      every operation and row of the benchmark, for sm_80
    python -m mlopt.bench.gpu softmax --chip sm_90a
    python -m mlopt.bench.gpu --save               and write bench/results/gpu_gates.md
    python -m mlopt.bench.gpu --save --chip sm_90a              bench/results/gpu_gates_sm_90a.md

No GPU is needed: code is ptxas's, disassembled by nvdisasm, and the PTX runs on the emulator. Exits with 1 if
a kernel misses a gate for which bench/gpu/known.py has no reason, or holds one for which it has; and if
something took too long for a row: the table names it, and has the others.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ...errors import CompileTimeout
from .arguments import finish, parse_arguments
from .gates import Found
from .measured import all_rows
from .table import surprises, table

CHIP = "sm_80"


def results_of(chip: str) -> Path:
    """Where a chip's table is kept."""
    return Path(__file__).parent.parent / "results" / f"gpu_gates{'' if chip == CHIP else f'_{chip}'}.md"


def main(arguments: Sequence[str]) -> int:
    """Measure, print; 0 if everything is as known."""
    parser = argparse.ArgumentParser(prog="python -m mlopt.bench.gpu", description="Gates of GPU kernels.")
    options = parse_arguments(parser, arguments, results_of(CHIP), CHIP)
    rows = all_rows()
    chosen = [name for name in rows if not options.only or any(part in name for part in options.only)]
    if not chosen:
        parser.error(f"no operation has this in its name; there are {', '.join(rows)}")
    found, late = dict[str, list[Found]](), dict[str, CompileTimeout]()
    for name in chosen:
        try:
            found[name] = rows[name](options.chip)
        except CompileTimeout as error:
            late[name] = error
    text = table(found, options.chip, {name: error.what for name, error in late.items()})
    wrong = [line for name, kernels in found.items() for line in surprises(name, kernels)]
    wrong += [f"{name}: not measured: {error}" for name, error in late.items()]
    return finish(text, results_of(options.chip) if options.save else None, wrong)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
