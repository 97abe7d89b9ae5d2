"""Compile time by layers: equal kernels are compiled once, so it grows with what each layer has of its own.

    python bench/layers.py                 2, 12 and 48 layers of a GPT-2-like stack
    python bench/layers.py 4 8 --passes    others; and the passes that take longest with the most layers

Capture is torch.export with our decompositions, import torch-mlir in a worker. The stages and code generation
run in this process, in turn, after a warm-up. What a layer has of its own: its ops until they are grouped,
its calls in the host function, its weights and what @prepare makes of them, its memory.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
from mlir import ir
from mlopt.dialects.context import make_context
from mlopt.options import Options
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


class Measured:
    """One compilation: seconds of each part, kernels, and the seconds of each pass."""

    def __init__(self, layers: int) -> None:
        self.layers = layers
        self.seconds: dict[str, float] = {}
        self.passes: Counter[str] = Counter()
        options = Options.resolve()
        module = nn.Sequential(*[Gpt2Block(WIDTH, HEADS) for _ in range(layers)]).eval()
        program = self._timed("capture", lambda: trace(module, [torch.randn(1, TOKENS, WIDTH)]))
        text = self._timed(
            "import", lambda: requests.import_program(program.text, program.weight_positions, options)
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

    def _timed(self, part: str, action: Callable[[], Any]) -> Any:
        start = time.perf_counter()
        result = action()
        self.seconds[part] = time.perf_counter() - start
        return result

    def _observe(self, event: PassEvent) -> None:
        self.passes[event.pass_text] += event.seconds

    def _count(self, module: ir.Module) -> None:
        functions = {op.attributes["sym_name"].value: op.operation for op in module.body.operations}
        self.kernels = sum("mlopt.kernel" in function.attributes for function in functions.values())
        self.calls = sum(op.operation.name == "func.call" for op in functions["main"].regions[0].blocks[0])

    def row(self) -> list[str]:
        seconds = [*self.seconds.values(), sum(self.seconds.values())]
        return [str(self.layers), str(self.calls), str(self.kernels), *(f"{each:.2f}" for each in seconds)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("layers", type=int, nargs="*", default=[2, 12, 48])
    parser.add_argument("--passes", action="store_true", help="list the slowest passes, too")
    arguments = parser.parse_args()
    Measured(1)
    found = [Measured(layers) for layers in arguments.layers]
    print(f"a stack of {WIDTH}-wide GPT-2 blocks; seconds")
    head = ["layers", "calls", "kernels", *found[0].seconds, "total"]
    print("\n".join(aligned([head, *(each.row() for each in found)], left=())))
    if arguments.passes:
        first, last = found[0], found[-1]
        rows = [
            [name, f"{first.passes[name]:.2f}", f"{seconds:.2f}"]
            for name, seconds in last.passes.most_common(SLOWEST)
        ]
        print("\n".join(aligned([["pass", str(first.layers), str(last.layers)], *rows], left=(0,))))


if __name__ == "__main__":
    main()
