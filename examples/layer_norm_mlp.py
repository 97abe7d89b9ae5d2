"""LayerNorm → Linear → GELU → Dropout, trained through torch.compile(backend="mlopt").

    python examples/layer_norm_mlp.py

Forward and backward are compiled. Only the mask of the dropout is drawn in eager, from eager's
generator: so the loss after each step is eager's.
"""

from __future__ import annotations

import copy

import torch
from facts import show
from mlopt.backend import report
from torch import nn


def losses(function: nn.Module, module: nn.Module, x: torch.Tensor, target: torch.Tensor) -> list[float]:
    """Twenty steps of Adam."""
    torch.manual_seed(1)
    optimizer = torch.optim.Adam(module.parameters(), lr=1e-2)
    found = []
    for _ in range(20):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(function(x), target)
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


def main() -> None:
    torch.manual_seed(0)
    module = nn.Sequential(nn.LayerNorm(96), nn.Linear(96, 64), nn.GELU(), nn.Dropout(0.1))
    twin = copy.deepcopy(module)
    x, target = torch.randn(128, 96), torch.rand(128, 64)
    ours = losses(torch.compile(module, backend="mlopt"), module, x, target)
    eager = losses(twin, twin, x, target)
    forward, backward = report().graphs
    show(
        {
            "forward": f"{forward.ops} ops in {len(forward.kernels)} kernels",
            "backward": f"{backward.ops} ops in {len(backward.kernels)} kernels",
            "in eager": ", ".join(dict.fromkeys(op.name for op in report().eager)),
            "first loss": ours[0],
            "last loss": ours[-1],
            "largest difference to eager's losses": max(abs(a - b) for a, b in zip(ours, eager, strict=True)),
        }
    )
    assert ours[-1] < 0.7 * ours[0]
    torch.testing.assert_close(ours, eager, rtol=1e-3, atol=1e-4)


if __name__ == "__main__":
    main()
