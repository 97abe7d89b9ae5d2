"""A subexpression that is written twice is computed once.

    python examples/common_subexpression.py

The captured program has two sums and two sigmoids; the kernel has one of each.
"""

from __future__ import annotations

import mlopt
import torch
from facts import error, show


def twice(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.sigmoid(x + y) * x - torch.sigmoid(x + y) * y


def main() -> None:
    x, y = torch.randn(64, 65), torch.randn(64, 65)
    fast = mlopt.jit(twice, x, y)
    captured, kernel = fast.asm["torch"], fast.asm["kernels"]
    show(
        {
            "sigmoids as written": captured.count("torch.aten.sigmoid"),
            "sigmoids in the kernel": kernel.count("math.exp"),
            "kernels": len(fast.kernels),
            "error against float64": error(fast(x, y), twice(x.double(), y.double())),
        }
    )
    assert (captured.count("torch.aten.sigmoid"), kernel.count("math.exp"), len(fast.kernels)) == (2, 1, 1)


if __name__ == "__main__":
    main()
