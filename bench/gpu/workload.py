"""What a row of the benchmark on a GPU is: a function of tensors, and inputs of any size and dtype."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

Size = tuple[int, ...]
CHAINS, ROWS, OTHERS, LAUNCHES, GRAPHS, ATTENTION = (
    "element-wise", "rows", "other", "launch-bound", "launch-bound, CUDA graph", "attention",
)  # fmt: skip
F32, F16, BF16 = torch.float32, torch.float16, torch.bfloat16


@dataclass
class Source:
    """Makes tensors of one dtype on ``device``; of ``empty`` ones only sizes and dtypes are wanted."""

    dtype: torch.dtype
    device: str = "cpu"
    seed: int = 0
    empty: bool = False
    generator: torch.Generator = field(init=False)

    def __post_init__(self) -> None:
        self.generator = torch.Generator(self.device).manual_seed(self.seed)

    def normal(self, *shape: int) -> Tensor:
        """Normal numbers."""
        return self._filled(torch.randn, shape)

    def uniform(self, *shape: int) -> Tensor:
        """From 0 to 1: their sum is not near 0."""
        return self._filled(torch.rand, shape)

    def index(self, below: int, *shape: int) -> Tensor:
        """Whole numbers from 0."""
        if self.empty:
            return torch.empty(shape, dtype=torch.int64, device=self.device)
        return torch.randint(below, shape, generator=self.generator, device=self.device)

    def _filled(self, fill: Callable[..., Tensor], shape: Size) -> Tensor:
        if self.empty:
            return torch.empty(shape, dtype=self.dtype, device=self.device)
        return fill(shape, generator=self.generator, device=self.device, dtype=self.dtype)


@dataclass(frozen=True)
class Timed:
    """A function, its inputs by ``size``, and what a call of it has to move at least.

    ``tiny`` is a size for the emulator. ``twice``: the first input is read twice, as a number of all of it is
    needed for the first result. ``table``: of the last input only rows as many as the result has are read.
    ``flops``: of a call by size, where they decide. ``heads``: results of one index of dim 1 need nothing of
    others, and too much memory is needed to make all of them in float64 at once. ``largest_error``: of a
    row's largest value, 0: what is right for one op of the dtype. ``reference``: makes the result in float64
    where the function takes no factors of it.
    """

    name: str
    title: str
    group: str
    dtype: torch.dtype
    function: Callable[..., Tensor]
    make: Callable[[Source, Size], Sequence[Tensor]]
    size: Size
    tiny: Size
    twice: bool = False
    table: bool = False
    flops: Callable[[Size], float] | None = None
    heads: bool = False
    largest_error: float = 0.0
    reference: Callable[..., Tensor] | None = None

    def exact(self, inputs: Sequence[Tensor]) -> Tensor:
        """The result in float64."""
        wide = [each.double() if each.is_floating_point() else each for each in inputs]
        if self.reference is not None:
            return self.reference(*wide)
        if not self.heads:
            return self.function(*wide)
        parts = zip(*(each.split(1, 1) for each in wide), strict=True)
        return torch.cat([self.function(*part) for part in parts], 1)

    def inputs(self, source: Source, tiny: bool) -> tuple[Tensor, ...]:
        """The inputs from ``source``."""
        return tuple(self.make(source, self.tiny if tiny else self.size))

    def bytes(self, inputs: Sequence[Tensor], result: Tensor) -> int:
        """What is read and written at least."""
        sizes = [each.numel() * each.element_size() for each in inputs]
        written = result.numel() * result.element_size()
        if self.table:
            sizes[-1] = min(sizes[-1], written)
        return sum(sizes) + written + (sizes[0] if self.twice else 0)
