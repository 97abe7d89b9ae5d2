"""An element-wise chain, fused and not: one pass over memory in place of four.

    python examples/elementwise_chain.py [elements]

`torch.sigmoid(torch.relu(x) * 0.5 + 1)` is four ops in eager, each of which reads and writes all
of memory; compiled it is one kernel. The profiler's tables show both.
"""

from __future__ import annotations

import sys

import torch
from facts import error, milliseconds, show
from mlopt.backend import report


def chain(x: torch.Tensor) -> torch.Tensor:
    return torch.sigmoid(torch.relu(x) * 0.5 + 1)


def table(call: object, x: torch.Tensor) -> str:
    """The profiler's table of ten calls."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
        for _ in range(10):
            call(x)
    return profiler.key_averages().table(sort_by="self_cpu_time_total", row_limit=6)


def main() -> None:
    elements = int(sys.argv[1]) if len(sys.argv) > 1 else 1 << 24
    x = torch.randn(elements)
    fused = torch.compile(chain, backend="mlopt")
    wrong = error(fused(x), chain(x.double()))
    times = milliseconds({"unfused": lambda: chain(x), "fused": lambda: fused(x)})
    print(table(chain, x), table(fused, x), sep="\n")
    (graph,) = report().graphs
    show(
        {
            "ops": graph.ops,
            "kernels": len(graph.kernels),
            "fused in it": ", ".join(graph.kernels[0].ops),
            "bytes moved": graph.kernels[0].bytes,
            "unfused, ms": times["unfused"],
            "fused, ms": times["fused"],
            "error against float64": wrong,
        }
    )
    assert len(graph.kernels) == 1 and wrong < 1e-6


if __name__ == "__main__":
    main()
