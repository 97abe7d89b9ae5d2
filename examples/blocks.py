"""Modules to try the command line on: ``mlopt explain examples/blocks.py:gpt2_block``."""

from __future__ import annotations

import torch
from mlopt.test.corpus import DEMO
from torch import Tensor, nn
from torch.nn import functional as F


class Mlp(nn.Module):
    """A transformer's second half."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(768), nn.Linear(768, 3072), nn.Linear(3072, 768)

    def forward(self, x: Tensor) -> Tensor:
        y = F.gelu(self.up(self.norm(x)))
        return x + self.down(y)


def mlp() -> tuple[nn.Module, Tensor]:
    """128 tokens."""
    return Mlp().eval(), torch.ones(128, 768)


def gpt2_block() -> tuple[nn.Module, Tensor]:
    """As ``make demo`` has it."""
    return DEMO["gpt2_block"].module(), *DEMO["gpt2_block"].inputs()


def resnet18() -> tuple[nn.Module, Tensor]:
    """As ``make demo`` has it."""
    return DEMO["resnet18"].module(), *DEMO["resnet18"].inputs()
