"""Programs compiled and run on the emulator for their gates: operations, the benchmark's rows, the corpus."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import mlopt
import torch
from mlopt import emulator
from torch import Tensor

from ...compiled import Compiled
from ...runtime.emulator.launch import Report
from .amounts import small, whole
from .gates import Found, found_in
from .modules import SIZED
from .operations import OPERATIONS, Operation
from .timed import TIMED
from .workload import GRAPHS, Size, Source, Timed

SAMPLE = 4 << 20  # bytes that the blocks of a timed row move which the emulator runs
FEWEST = 8  # blocks
_PRODUCTS = ("vector.contract", "mlopt.warpgroup_mma")


class Zeros(Source):
    """Makes zeros, whose memory costs nothing until it is touched, and indices none of which comes twice."""

    def index(self, below: int, *shape: int) -> Tensor:
        """Different numbers below ``below``."""
        return torch.randperm(below, generator=self.generator)[: prod(shape)].reshape(shape)

    def _filled(self, fill: Callable[..., Tensor], shape: Size) -> Tensor:  # noqa: ARG002
        return torch.zeros(shape, dtype=self.dtype)


def measure(operation: Operation, chip: str) -> list[Found]:
    """The kernels of an operation, each launch of it whole."""
    case = operation.case
    found = _compiled(operation.module(), operation.inputs(), chip, case.dynamic_shapes())
    return found_in(operation.name, *found, partial(small, chip=chip))


def measure_module(operation: Operation, chip: str) -> list[Found]:
    """The kernels of a module's call, each once, but products, of which a block runs."""
    compiled, launches = _compiled(
        operation.module(),
        operation.inputs(),
        chip,
        blocks=lambda built: dict.fromkeys(products_of(built), 1),
    )
    others = {kernel.name for kernel in compiled.kernels if kernel.function != "main"} | products_of(compiled)
    once = {each.kernel: each for each in launches if each.kernel not in others}
    return found_in(operation.name, compiled, list(once.values()), partial(small, chip=chip))


def products_of(compiled: Compiled) -> set[str]:
    """The kernels that multiply matrices or convolve."""
    functions = compiled.asm["layouts"].split("func.func private @")[1:]
    names = {each.partition("(")[0] for each in functions if any(word in each for word in _PRODUCTS)}
    return names | {kernel.name for kernel in compiled.kernels if any("conv" in op for op in kernel.ops)}


def measure_timed(timed: Timed, chip: str) -> list[Found]:
    """The kernels of a row of the benchmark at its own size, each once; of a long launch few blocks run."""
    inputs = timed.inputs(Zeros(timed.dtype), tiny=False)
    found = _compiled(timed.function, inputs, chip, blocks=_sample)
    return list(dict.fromkeys(found_in(timed.name, *found, partial(whole, chip=chip))))


def all_rows() -> dict[str, Callable[[str], list[Found]]]:
    """What is measured for a chip, by name: operations, the corpus's modules, the benchmark's rows.

    Those that are timed as CUDA graphs have the kernels of the rows that are not; what is bound by
    arithmetic has products, whose gates others ask.
    """
    found: dict[str, Callable[[str], list[Found]]] = {
        name: partial(measure, operation) for name, operation in OPERATIONS.items()
    }
    found |= {name: partial(measure_module, operation) for name, operation in SIZED.items()}
    found |= {
        name: partial(measure_timed, timed)
        for name, timed in TIMED.items()
        if timed.group != GRAPHS and timed.flops is None
    }
    return found


def _compiled(
    function: Callable[..., Any],
    inputs: Sequence[Tensor],
    chip: str,
    dynamic: Any = None,
    blocks: Callable[[Compiled], dict[str, int]] = lambda _: {},
) -> tuple[Compiled, list[Report]]:
    """A program and its launches; of the kernels that ``blocks`` names only so many run."""
    with torch.no_grad():
        compiled = mlopt.jit(
            function, *inputs, dynamic_shapes=dynamic, target=f"cuda:{chip}", device="emulator"
        )
        with emulator.record(trace=True, blocks=blocks(compiled)) as launches:
            compiled(*inputs)
    return compiled, launches


def _sample(compiled: Compiled) -> dict[str, int]:
    """For each kernel the blocks that move `SAMPLE` bytes, and no fewer than `FEWEST`."""
    gpu = compiled.report.gpu
    assert gpu is not None, "the target is a GPU"
    grids = {kernel.name: prod(kernel.grid or (1,)) for kernel in gpu.kernels}
    return {
        kernel.name: max(FEWEST, grids[kernel.name] * SAMPLE // kernel.bytes)
        for kernel in compiled.kernels
        if kernel.name in grids and kernel.bytes
    }
