"""Compile time by layers: equal kernels are compiled once, so it grows with what each layer has of its own.

    python bench/layers.py                 2, 12 and 48 layers of a GPT-2-like stack
    python bench/layers.py 4 8 --passes    others; and the passes that take longest with the most layers
    python bench/layers.py --save          and keep them in bench/results/layers.json and layers.md

Capture is torch.export with our decompositions, import torch-mlir in a worker. The stages and code generation
run in this process, in turn, after a warm-up: `ours` is their sum. Of many equal layers a few pass through
the stage of kernels. What a layer has of its own: its ops before that, its calls in the host function, its
weights and what @prepare makes of them, its memory.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import torch
from mlir import ir
from mlopt.bench.run import processor
from mlopt.dialects.context import make_context
from mlopt.options import Options
from mlopt.passes.layers.find import FEWEST
from mlopt.pipelines.accept import accept
from mlopt.pipelines.cpu import cpu_stages
from mlopt.pipelines.driver import PassEvent
from mlopt.runtime import requests
from mlopt.runtime.codegen import Target, generate
from mlopt.tables import aligned
from mlopt.test.corpus.transformers import Gpt2Block
from mlopt.tools.tracing import trace
from torch import nn

WIDTH, HEADS, TOKENS = 128, 4, 32
SLOWEST = 12
TURNS = 3
RESULTS = Path(__file__).parent / "results"
KEPT = """# Compile time by layers

Made by `python bench/layers.py --save`: a stack of {width}-wide GPT-2 blocks, {heads} heads,
{tokens} tokens, on {machine}. Seconds of processor time on a machine that
others used, too: the median of {turns} turns; those of the import, which a worker does, are of the clock.
Capture is torch.export with our decompositions, import is torch-mlir; `ours` is the sum of what follows.
Equal kernels are compiled once: @main calls so many `kernels` in so many `calls`. Of {fewest}
equal layers and more, four pass through the stage of kernels, then five, which must be alike but for one
layer; the rest of its time is that to find them. From the tile stage on, what grows is @main with its
calls. Before the stage of kernels layers are ops.

{table}

{ratios}
"""


class Measured:
    """One compilation: seconds of each part, kernels, and the seconds of each pass."""

    def __init__(self, layers: int) -> None:
        self.layers = layers
        self.seconds: dict[str, float] = {}
        self.passes: Counter[str] = Counter()
        options = Options.resolve()
        module = nn.Sequential(*[Gpt2Block(WIDTH, HEADS) for _ in range(layers)]).eval()
        program = self._timed("capture", lambda: trace(module, [torch.randn(1, TOKENS, WIDTH)], "cpu"))
        text = self._timed(
            "import",
            lambda: requests.import_program(program.text, program.weight_positions, options),
            time.perf_counter,  # in a worker, whose processor time is not known here
        )
        target = Target.resolve()
        with make_context(), ir.Location.unknown():
            built = self._timed("parse", lambda: accept(text))
            for stage in cpu_stages(target.vector_bits):
                self._timed(
                    stage.name, lambda stage=stage: stage.run(built.operation, observers=[self._observe])
                )
                if stage.name == "kernels":
                    self._count(built)
            self._timed("code", lambda: generate(built, target))

    def _timed(
        self, part: str, action: Callable[[], Any], clock: Callable[[], float] = time.process_time
    ) -> Any:
        start = clock()
        result = action()
        self.seconds[part] = clock() - start
        return result

    def _observe(self, event: PassEvent) -> None:
        self.passes[event.pass_text] += event.seconds

    def _count(self, module: ir.Module) -> None:
        functions = {op.attributes["sym_name"].value: op.operation for op in module.body.operations}
        ops = (op.operation for op in functions["main"].regions[0].blocks[0])
        called = [op.attributes["callee"].value for op in ops if op.name == "func.call"]
        self.calls, self.kernels = len(called), len({*called})

    def row(self) -> list[str]:
        return [str(self.layers), str(self.calls), str(self.kernels), *(f"{each:.2f}" for each in self.all())]

    def all(self) -> list[float]:
        """The seconds of each part, of those that are ours, and of all of them."""
        seconds = list(self.seconds.values())
        return [*seconds, sum(seconds[2:]), sum(seconds)]

    def record(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "layers": self.layers,
            "calls": self.calls,
            "kernels": self.kernels,
            "seconds": {part: round(each, 4) for part, each in self.seconds.items()},
        }


def in_turns(layers: Sequence[int], turns: int) -> list[Measured]:
    """Each number of layers in each turn; the median of each part."""
    runs = [[Measured(each) for each in layers] for _ in range(turns)]
    for number, each in enumerate(runs[0]):
        for part in each.seconds:
            each.seconds[part] = median(run[number].seconds[part] for run in runs)
        for name in each.passes:
            each.passes[name] = median(run[number].passes[name] for run in runs)
    return runs[0]


def markdown(head: Sequence[str], found: Sequence[Measured]) -> str:
    """The table, and how often the time of the fewest layers each part takes for the most."""
    first, last = found[0], found[-1]
    rows = [head, ["---:"] * len(head), *(each.row() for each in found)]
    parts = zip(head[3:], first.all(), last.all(), strict=True)
    times = ", ".join(f"{part} {late / early:.1f}" for part, early, late in parts)
    return KEPT.format(
        width=WIDTH,
        heads=HEADS,
        tokens=TOKENS,
        machine=processor(),
        turns=TURNS,
        fewest=FEWEST,
        table="\n".join(f"| {' | '.join(row)} |" for row in rows),
        ratios=f"{last.layers / first.layers:g} times the layers take so many times the time:\n{times}.",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("layers", type=int, nargs="*", default=[2, 12, 48])
    parser.add_argument("--passes", action="store_true", help="list the slowest passes, too")
    parser.add_argument("--save", action="store_true", help="keep the table in bench/results")
    arguments = parser.parse_args()
    Measured(1)
    found = in_turns(arguments.layers, TURNS)
    print(f"a stack of {WIDTH}-wide GPT-2 blocks; seconds of processor time (import: of the clock)")
    head = ["layers", "calls", "kernels", *found[0].seconds, "ours", "total"]
    print("\n".join(aligned([head, *(each.row() for each in found)], left=())))
    if arguments.save:
        (RESULTS / "layers.json").write_text(json.dumps([each.record() for each in found], indent=1) + "\n")
        (RESULTS / "layers.md").write_text(markdown(head, found))
    if arguments.passes:
        first, last = found[0], found[-1]
        rows = [
            [name, f"{first.passes[name]:.2f}", f"{seconds:.2f}"]
            for name, seconds in last.passes.most_common(SLOWEST)
        ]
        print("\n".join(aligned([["pass", str(first.layers), str(last.layers)], *rows], left=(0,))))


if __name__ == "__main__":
    main()
