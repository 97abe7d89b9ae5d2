"""What all peers are given of a workload, made once, in a process that ends.

    python -m mlopt.bench.prepare NAME FOLDER --onnx

The folder then has ``input-0.npy`` …, ``exact.npy`` (float64 eager), ``facts.json`` (`Facts`) and, if asked
for, ``model.onnx``.
"""

from __future__ import annotations

import argparse
import copy
import json
import time
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ..options import Options
from ..passes.costs.cost import Cost
from ..runtime import pool, requests
from ..tools.tracing import trace
from .limits import Facts
from .workloads import WORKLOADS, Workload

FACTS = "facts.json"


def prepare(workload: Workload, folder: Path, onnx: bool) -> None:
    """Fill ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    module, inputs = workload.module(), workload.inputs()
    for number, each in enumerate(inputs):
        np.save(folder / f"input-{number}.npy", each.numpy())
    seconds: float | None = None
    problem = ""
    if onnx:
        start = time.perf_counter()
        try:
            export(module, inputs, folder / "model.onnx")
            seconds = time.perf_counter() - start
        except Exception as error:  # whatever torch's exporter raises is told, and the peers go without
            problem = f"{type(error).__name__}: {error}".splitlines()[0]
    work = work_of(module, inputs)
    size = workload.passes * _bytes(inputs) + _bytes([*module.parameters(), *module.buffers()])
    with torch.no_grad():
        doubles = [each.double() if each.is_floating_point() else each for each in inputs]
        exact = copy.deepcopy(module).double()(*doubles)
    np.save(folder / "exact.npy", exact.numpy())
    size += exact.numel() * 4  # the results are f32
    flops = sum(work.contracted.values()) + 2 * sum(work.elementwise.values())
    special = {name: calls for name, calls in work.special.items() if name not in workload.free}
    facts = Facts(size, flops, special, seconds, problem)
    (folder / FACTS).write_text(json.dumps(asdict(facts)))


def export(module: torch.nn.Module, inputs: tuple[torch.Tensor, ...], path: Path) -> None:
    """The module as an ONNX file."""
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        torch.onnx.export(module, inputs, path, dynamo=True, external_data=False)


def work_of(module: torch.nn.Module, inputs: tuple[torch.Tensor, ...]) -> Cost:
    """What the kernels of one call compute, as the cost model counts it."""
    options = Options.resolve()
    with torch.no_grad():
        program = trace(module, inputs, "cpu")
    found: dict[str, Any] = pool.call(
        "compile",
        "mlopt.pipelines.explain:explain_text",
        timeout=options.timeout,
        reproducer="linalg_text",
        linalg_text=requests.import_program(program.text, program.weight_positions, options),
        func_name="main",
    )
    costs = {kernel["name"]: Cost(**kernel["cost"]) for kernel in found["kernels"]}
    return sum((costs[call["kernel"]] for call in found["calls"] if call["function"] == "main"), Cost(0))


def _bytes(tensors: list[torch.Tensor] | tuple[torch.Tensor, ...]) -> int:
    return sum(each.numel() * each.element_size() for each in tensors)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=WORKLOADS)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--onnx", action="store_true")
    options = parser.parse_args()
    prepare(WORKLOADS[options.name], options.folder, options.onnx)


if __name__ == "__main__":
    main()
