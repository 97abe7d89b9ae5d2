"""Clusters of blocks: their size, and which blocks of the grid each has."""

from __future__ import annotations

import math

import numpy as np

from .chips import Chip
from .ptx import Array, Function

MOST = 16  # blocks of a cluster; more than 8 need a permission of the host
RANK = 24  # bits of an address in a cluster's shared memory below the rank of the block, plus one


class Clusters:
    """Of one launch. ``shape`` is that of a cluster; ``order`` has the grid's blocks cluster by cluster."""

    def __init__(
        self, grid: tuple[int, int, int], function: Function, given: tuple[int, int, int] | None
    ) -> None:
        said = function.directives.get("reqnctapercluster")
        self.required = (*said, 1, 1)[:3] if said else None
        self.grid = grid
        self.given = given
        self.missing = "explicitcluster" in function.directives and not (given or said)
        self.shape: tuple[int, int, int] = given or self.required or (1, 1, 1)  # type: ignore[assignment]
        self.most = (function.directives.get("maxclusterrank") or (MOST,))[0]
        self.explicit = bool(given or said)
        self.size = math.prod(self.shape)
        if any(size % part for size, part in zip(grid, self.shape, strict=True)):
            self.size = 1  # the launch is refused
        self.order: Array = self._order() if self.size > 1 else np.arange(math.prod(grid))
        self.position = np.empty_like(self.order)
        self.position[self.order] = np.arange(len(self.order))

    def _order(self) -> Array:
        x, y, z = self.grid
        a, b, c = self.shape
        blocks = np.arange(x * y * z).reshape(z // c, c, y // b, b, x // a, a)
        return blocks.transpose(0, 2, 4, 1, 3, 5).reshape(-1)

    def limits(self, chip: Chip) -> list[tuple[bool, str]]:
        """What the chip or the kernel forbids: whether it is so, and what to say."""
        size = math.prod(self.shape)
        divided = all(count % part == 0 for count, part in zip(self.grid, self.shape, strict=True))
        return [
            (self.missing, "no cluster, .explicitcluster asks for one"),
            (
                self.required is not None and self.shape != self.required,
                f"a cluster of {self.shape}, .reqnctapercluster says {self.required}",
            ),
            (size > self.most, f"a cluster of {size} blocks, of {self.most}"),
            (not divided, f"a grid of {self.grid} for clusters of {self.shape}, which do not divide it"),
            (self.explicit and chip.capability < (9, 0), f"a cluster on {chip.name}, which sm_90 has"),
        ]

    def same(self, block: Array, other: Array) -> Array:
        """Whether blocks of the grid are in the same cluster."""
        found: Array = self.position[block] // self.size == self.position[other] // self.size
        return found

    def rank(self, block: Array) -> Array:
        """The number of blocks of the grid in their clusters."""
        found: Array = self.position[block] % self.size
        return found
