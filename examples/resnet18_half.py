"""ResNet-18 in half precision: half the bytes, sums in float32.

    python examples/resnet18_half.py [image size] [float16 | bfloat16]

Both dtypes if none is named.
"""

from __future__ import annotations

import copy
import sys

import torch
from facts import error, milliseconds, show
from mlopt.backend import report
from mlopt.test.corpus import DEMO

BOUNDS = {"float16": 1e-2, "bfloat16": 5e-2}


def run(model: torch.nn.Module, x: torch.Tensor, bound: float) -> None:
    """Compile, check and time ``model`` in the dtype of ``x``."""
    half = copy.deepcopy(model).to(x.dtype)
    fast = torch.compile(half, backend="mlopt")
    # What the rounded weights and image give without any further rounding.
    exact = copy.deepcopy(half).double()(x.double())
    wrong, eager = error(fast(x), exact), error(half(x), exact)
    times = milliseconds({"eager": lambda: half(x), "compiled": lambda: fast(x)}, rounds=5)
    graph = report().graphs[-1]
    show(
        {
            "dtype": str(x.dtype),
            "weights, MB": sum(p.numel() * p.itemsize for p in half.parameters()) / 1e6,
            "ops": graph.ops,
            "kernels": sum(kernel.calls for kernel in graph.kernels),
            "eager, ms": times["eager"],
            "compiled, ms": times["compiled"],
            "error against float64": wrong,
            "  eager's": eager,
        }
    )
    assert graph.coverage == 1 and wrong < max(bound, 2 * eager)


def main() -> None:
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 224
    dtypes = sys.argv[2:] or ["float16", "bfloat16"]
    model = DEMO["resnet18"].module()
    x = torch.randn(1, 3, size, size)
    with torch.no_grad():
        for dtype in dtypes:
            run(model, x.to(getattr(torch, dtype)), BOUNDS[dtype])


if __name__ == "__main__":
    main()
