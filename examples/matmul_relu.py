"""matmul → relu: the relu is the matrix product's epilogue, done before its sums leave the registers.

python examples/matmul_relu.py
"""

from __future__ import annotations

import mlopt
import torch
from facts import error, milliseconds, show


def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.relu(a @ b)


def main() -> None:
    torch.manual_seed(0)
    a, b = torch.randn(512, 500), torch.randn(500, 512)
    fast = mlopt.jit(product, a, b)
    exact = product(a.double(), b.double())
    times = milliseconds({"eager": lambda: product(a, b), "compiled": lambda: fast(a, b)})
    kernel = fast.kernels[-1]
    show(
        {
            "kernels": len(fast.kernels),
            "fused in it": ", ".join(kernel.ops),
            "FLOPs a byte": kernel.intensity,
            "eager, ms": times["eager"],
            "compiled, ms": times["compiled"],
            "error against float64": error(fast(a, b), exact),
            "  eager's": error(product(a, b), exact),
        }
    )
    assert {"matmul", "relu"} <= set(kernel.ops) and error(fast(a, b), exact) < 1e-5


if __name__ == "__main__":
    main()
