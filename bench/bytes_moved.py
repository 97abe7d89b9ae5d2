"""Kernels of a call and the bytes that they move, beside torch.compile's (Inductor, CPU).

    python bench/bytes_moved.py              print the table
    python bench/bytes_moved.py --save       and keep it in bench/results/bytes_moved.json and bytes_moved.md

Counted from accesses, not measured; inference without gradients, in float32, of the GPT-2 block in bfloat16,
too. Both sides by the same rules:

- A kernel reads each element of an input that it uses once, and writes its outputs. What caches hold does
  not count as read less. A row that no cache keeps from one pass to the next counts in each pass of ours
  (passes/costs/rows.py) and once of Inductor's; no module here has one.
- Ours are `Kernel.bytes` of @main's kernels. @prepare's run when weights change, and are left out; Inductor
  has no such step unless it freezes weights. They are those for a processor with AVX-512, whatever this one
  is: with narrower registers ResNet-18 has three copies more (mlopt-dense-pixels), 72.2 MB.
- Inductor's are what its scheduler's nodes say (`get_read_write_buffer_accesses`, the rule above), and for
  calls of libraries (mm, convolution, attention) the tensors that they take and return: nothing that a
  library copies or reorders inside. Views cost nothing.
- "frozen" is Inductor with `freezing`: weights are constants, so that it folds batch norms into convolutions
  and packs matrices beforehand, as @prepare does. Constants count as read, at their size.
- Inductor's kernels are the nodes of its schedule after fusion, libraries' calls among them.

Exits with 1 if the GPT-2 block or ResNet-18 moves more bytes than the better of Inductor's two. Tests hold
our side of each row against the file (test/python/test_documented.py and test_fusion_counts.py).
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import mlopt
import torch
from mlopt.bench.inductor_graphs import graphs_shown_to, kernels_of
from mlopt.tables import aligned
from mlopt.test.corpus import DEMO
from mlopt.test.python.test_fusion_counts import ROWS
from torch._inductor import config
from torch._inductor.graph import GraphLowering
from torch._inductor.mkldnn_ir import MKLPackedLinear
from torch._inductor.scheduler import BaseSchedulerNode

RESULTS = Path(__file__).parent / "results" / "bytes_moved.json"
KEPT = """# Kernels and bytes of one call, beside torch.compile's

Made by `python bench/bytes_moved.py --save`, whose description has the assumptions: {versions}, {date}.
Bytes are counted from accesses, in MB. Inductor's are `torch.compile`'s on a CPU, with `freezing`, too,
where the module is an nn.Module; the last column is our share of the better of the two.

{table}
"""
SIDES = ("mlopt", "inductor", "inductor, frozen")
PROCESSOR = "x86-64-v4"
BF16 = "gpt2_block, bf16"
MUST_HOLD = ("gpt2_block", BF16, "resnet18")
Module = Callable[..., Any]
Inputs = tuple[torch.Tensor, ...]


@dataclass
class Counted:
    """Kernels of one call, and the bytes that they read and write."""

    kernels: int = 0
    bytes: int = 0


def ours(module: Module, inputs: Inputs) -> Counted:
    counted = Counted()
    for kernel in mlopt.jit(module, *inputs, cpu=PROCESSOR).kernels:
        if kernel.function == "main":
            counted.kernels += kernel.calls
            counted.bytes += kernel.bytes * kernel.calls
    return counted


def inductors(module: Module, inputs: Inputs, *, freezing: bool) -> Counted:
    counted = Counted()
    torch._dynamo.reset()
    settings = {"freezing": freezing, "fx_graph_cache": False, "compile_threads": 1}
    with config.patch(settings), graphs_shown_to(lambda graph: _count(graph, counted)):
        torch.compile(module)(*inputs)
    return counted


def _count(graph: GraphLowering, counted: Counted) -> None:
    for node in kernels_of(graph):
        counted.kernels += 1
        counted.bytes += _bytes_of(graph, node)


def _bytes_of(graph: GraphLowering, node: BaseSchedulerNode) -> int:
    """What Inductor counts, and the constants, which it does not."""
    accesses = node.get_read_write_buffer_accesses(include_reads=True, include_writes=True)
    constants = {dep.name for dep in node.read_writes.reads if dep.name in graph.constants}
    if isinstance(node.node, MKLPackedLinear):  # it takes the matrix as it was, too
        constants.discard(node.node.inputs[1].get_name())
    return sum(accesses.values()) + sum(_size(graph.constants[name]) for name in constants)


def _size(tensor: torch.Tensor) -> int:
    return tensor.numel() * tensor.element_size()


def demo(name: str) -> tuple[torch.nn.Module, Inputs]:
    """A model of `make demo` with its inputs."""
    each = DEMO["gpt2_block" if name == BF16 else name]
    if name != BF16:
        return each.module(), each.inputs()
    return each.module().bfloat16(), tuple(tensor.bfloat16() for tensor in each.inputs())


def measure(name: str, module: Module, inputs: Inputs) -> dict[str, Any]:
    """One row: kernels and bytes of ours, of Inductor, and of Inductor with frozen weights."""
    if isinstance(module, torch.nn.Module):
        module = module.eval()
    inputs = tuple(each.clone() for each in inputs)  # one that is passed twice would be read once
    with torch.no_grad():
        found = {"mlopt": ours(module, inputs), "inductor": inductors(module, inputs, freezing=False)}
        if isinstance(module, torch.nn.Module):
            found["inductor, frozen"] = inductors(module, inputs, freezing=True)
    return {"module": name, **{side: vars(counted) for side, counted in found.items()}}


def cells(rows: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """The table, its head first."""
    lines = [["module", "kernels", "Inductor's", "frozen", "MB", "Inductor's", "frozen", "ours / better"]]
    for row in rows:
        sides = [row.get(side) for side in SIDES]
        kernels = [str(side["kernels"]) if side else "" for side in sides]
        sizes = [f"{side['bytes'] / 1e6:.3f}" if side else "" for side in sides]
        lines.append([row["module"], *kernels, *sizes, f"{ratio(row):.2f}"])
    return lines


def markdown(found: Mapping[str, Any]) -> str:
    """What is kept in the JSON, for people."""
    head, *rows = cells(found["rows"])
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    versions = ", ".join(f"{name} {number}" for name, number in found["versions"].items())
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return KEPT.format(versions=versions, date=found["date"], table=table)


def ratio(row: Mapping[str, Any]) -> float:
    """Our bytes as a share of the better of Inductor's two."""
    best = min(row[side]["bytes"] for side in SIDES[1:] if side in row)
    return float(row["mlopt"]["bytes"] / best)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--save", action="store_true", help=f"keep it in {RESULTS.name} and as Markdown")
    arguments = parser.parse_args()
    modules = {name: demo(name) for name in MUST_HOLD}
    modules |= {name: (module, inputs) for name, (_, module, inputs) in ROWS.items() if name != "GPT-2 block"}
    rows = [measure(name, *given) for name, given in modules.items()]
    print("\n".join(aligned(cells(rows), left=(0,))))
    if arguments.save:
        RESULTS.parent.mkdir(exist_ok=True)
        versions = {"mlopt": version("mlopt"), "torch": torch.__version__}
        today = datetime.date.today().isoformat()
        found = {"date": today, "versions": versions, "cpu": PROCESSOR, "rows": rows}
        RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        RESULTS.with_suffix(".md").write_text(markdown(found), encoding="utf-8")
    return int(any(ratio(row) > 1 for row in rows if row["module"] in MUST_HOLD))


if __name__ == "__main__":
    sys.exit(main())
