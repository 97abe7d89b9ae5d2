"""mlopt's kernels in torch's profiler, beside eager's ops.

    python examples/profiling.py [TRACE.json]

prints the profiler's table for ten eager and ten compiled calls of an MLP block, and writes the
Chrome trace (open it in https://ui.perfetto.dev or chrome://tracing).
"""

from __future__ import annotations

import sys
from pathlib import Path

import mlopt
import torch
from torch.profiler import ProfilerActivity, profile, record_function

CALLS = 10


class Block(torch.nn.Module):
    """LayerNorm, then Linear → GELU → Linear, and back onto the input."""

    def __init__(self, width: int = 768) -> None:
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


def main(trace: str = "build/profile.json") -> profile:
    """Profile both, print the table, write ``trace``."""
    torch.manual_seed(0)
    block, x = Block().eval(), torch.randn(128, 768)
    with torch.no_grad():
        compiled = mlopt.jit(block, x)
        for _ in range(3):  # prepare weights, wake threads
            block(x)
            compiled(x)
        with profile(activities=[ProfilerActivity.CPU]) as profiler:
            for _ in range(CALLS):
                with record_function("eager"):
                    block(x)
            for _ in range(CALLS):
                with record_function("mlopt"):
                    compiled(x)
    print(profiler.key_averages().table(sort_by="cpu_time_total", row_limit=14, max_name_column_width=48))
    Path(trace).parent.mkdir(parents=True, exist_ok=True)
    profiler.export_chrome_trace(trace)
    print(f"wrote {trace}")
    return profiler


if __name__ == "__main__":
    main(*sys.argv[1:2])
