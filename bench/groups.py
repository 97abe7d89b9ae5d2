"""The groups of workloads, and what is aimed at in each against the best peer."""

from __future__ import annotations

from dataclasses import dataclass

ROWS = "element-wise and rows"
MATMUL = "matmul"
ATTENTION = "attention"
CONVOLUTION = "convolution"
MODELS = "models"


@dataclass(frozen=True)
class Goal:
    """Ratios, the best peer's time over mlopt's: the geometric mean of the group, the least of a row."""

    mean: float
    least: float


@dataclass(frozen=True)
class Share:
    """The share of their limit that rows should have: those of these names, or those that stream."""

    title: str
    least: float
    names: tuple[str, ...] = ()


SHARES = (
    Share("the bandwidth of streaming rows", 0.85),
    Share("the limit of rows of exp and of norms", 0.7, ("softmax", "layer-norm", "rms-norm", "nll")),
    Share("the FMA peak of products", 0.93, ("matmul-1024", "matmul-2048")),
)

GOALS = {
    ROWS: Goal(1.25, 1.0),
    MATMUL: Goal(1.0, 0.97),
    ATTENTION: Goal(1.15, 0.97),
    CONVOLUTION: Goal(1.0, 0.97),
    MODELS: Goal(1.0, 0.97),
}
