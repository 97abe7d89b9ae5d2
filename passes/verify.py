"""Check what mlopt's own rules demand of IR, beyond what each dialect verifies.

No rewrite: the module stays as it is, or each broken rule is an error at its operation.

- Each ``mlopt.*`` attribute is known, of its type, and on an operation that it belongs to.
- A kernel (a function with ``mlopt.kernel``, unless it is ``mlopt.slow``) is private, calls nothing,
  is one scf.forall in normal form that agrees with ``mlopt.schedule`` (or nothing but its return, if it
  has no elements), and allocates nothing but scratch of at most ``scratch`` bytes. One with ``mlopt.sums``
  has two: the parts of a product and what adds them up, of which mlopt-gpu-last-blocks makes one.
  Scratch is dense, of constant size, and outside of loops, where each turn would take more of the stack;
  tensors that are computed, and globals that are no constants, would be memory besides it.
- ``level=tile``: inside the scf.forall stand only the ops of the tile IR, loops carry vectors or
  scalars, reads and writes are of whole buffers padded with zeros, or of scratch, nothing else is read that
  the kernel writes, and the accumulator of a reduction or contraction does not travel through memory.

``level=loops`` leaves the last group out: it is for IR after strip-mining. Legal at any time.

Effect: a broken rule stops at the pass before it, and not as wrong numbers. The seven kernels of a
GPT-2 block as tile IR take 1.7 ms.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mlir import ir

from .base import Pass, PassError
from .verifying import kernels, marks, tile_rules
from .verifying.problem import Problem, functions_of

LEVELS = ("tile", "loops")


@dataclass(frozen=True)
class Verify(Pass):
    """Check mlopt's rules: attributes, kernels, and the tile IR."""

    name: ClassVar[str] = "mlopt-verify"
    level: str = "tile"
    scratch: int = 64 * 1024

    def run(self, op: ir.Operation) -> None:
        if self.level not in LEVELS:
            raise PassError(op, f"mlopt-verify: level is {' or '.join(LEVELS)}, not '{self.level}'")
        problems = list(marks.problems(op))
        for function in functions_of(op):
            if not kernels.is_tiled_kernel(function):
                continue
            problems += kernels.problems(function, self.scratch)
            if self.level == "tile":
                problems += tile_rules.problems(function)
        _report(problems)


def _report(problems: list[Problem]) -> None:
    """Emit all problems; the last one as the error that ends the pass."""
    for problem in problems[:-1]:
        problem.op.location.emit_error(problem.message)
    if problems:
        raise PassError(problems[-1].op, problems[-1].message)
