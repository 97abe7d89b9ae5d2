"""GELU in its tanh form, written out by hand: eight ops, one kernel.

python examples/tanh_gelu.py
"""

from __future__ import annotations

import math

import mlopt
import torch
from facts import error, milliseconds, show


def gelu(x: torch.Tensor) -> torch.Tensor:
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def main() -> None:
    x = torch.randn(1000, 1003)
    fast = mlopt.jit(gelu, x)
    exact = gelu(x.double())
    times = milliseconds({"eager": lambda: gelu(x), "compiled": lambda: fast(x)})
    show(
        {
            "ops": len(fast.report.ops),
            "kernels": len(fast.kernels),
            "fused in it": ", ".join(fast.kernels[0].ops),
            "eager, ms": times["eager"],
            "compiled, ms": times["compiled"],
            "error against float64": error(fast(x), exact),
            "  eager's": error(gelu(x), exact),
        }
    )
    assert len(fast.kernels) == 1 and error(fast(x), exact) < 1e-6


if __name__ == "__main__":
    main()
