"""What a warm call through torch.compile(backend="mlopt") costs, beside what torch itself takes.

    python bench/backend_overhead.py

"torch alone" is Dynamo's guards and AOTAutograd around a backend that does nothing. All are taken
turn by turn many times, and the smallest is kept.
"""

from __future__ import annotations

import timeit
from collections.abc import Callable
from typing import Any

import mlopt
import torch
from torch._dynamo.backends.common import aot_autograd
from torch._functorch._aot_autograd.utils import make_boxed_func

CALLS, ROUNDS = 200, 100


def nothing(result: torch.Tensor) -> Callable[..., Any]:
    """A backend whose graphs return ``result``."""
    return aot_autograd(fw_compiler=lambda graph, inputs: make_boxed_func(lambda *args: (result,)))  # noqa: ARG005


def three() -> Callable[..., torch.Tensor]:
    """A new function each time: Dynamo keeps what it compiled by code and backend."""
    names: dict[str, Any] = {}
    exec("def three(x, y, z):\n    return x * y + z\n", names)
    function: Callable[..., torch.Tensor] = names["three"]
    return function


def main() -> None:
    x, y, z = (torch.randn(4, 16) for _ in range(3))
    with torch.no_grad():
        calls = {
            "eager": three(),
            "mlopt.jit": mlopt.jit(three(), x, y, z),
            "torch alone": torch.compile(three(), backend=nothing(torch.empty(4, 16))),
            "torch.compile, mlopt": torch.compile(three(), backend="mlopt"),
            "torch.compile, inductor": torch.compile(three()),
        }
        best = dict.fromkeys(calls, float("inf"))
        for function in calls.values():
            function(x, y, z)
        for _ in range(ROUNDS):
            for name, function in calls.items():
                taken = timeit.timeit(lambda function=function: function(x, y, z), number=CALLS) / CALLS
                best[name] = min(best[name], taken)
    print("µs a call of x * y + z, f32[4, 16]")
    for name, seconds in best.items():
        print(f"{name:24s} {seconds * 1e6:6.2f}")


if __name__ == "__main__":
    main()
