"""Blocks of products that warpgroups make (sm_90a): what there can be beside those of mma.sync.

A block's warpgroups stand below each other as far as there are 64 rows for each, then side by side, as
`layouts/warpgroup` has them. Factors stay in shared memory, where each 64 rows read the columns again; a
thread has sums and addresses alone. One step's product runs while the copies for all other stages are on
their way (mlopt-gpu-warp-roles). Where rows of blocks are even, and blocks enough, two below each other
bring their columns for both (mlopt-gpu-pair-blocks). Of more tiles than there are blocks at once each block
makes some, one after the other (mlopt-gpu-persistent-grid): of small ones two warpgroups make one each, and
what comes behind the product of one takes its time beside the other's (mlopt-gpu-ping-pong).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil, prod

from ..costs.machine import Machine, find_machine
from ..gpu.layouts.instructions import TF32
from ..gpu.layouts.warpgroup import MOST_COLUMNS, PATTERN_BYTES, ROWS, TURNABLE, WARPS, words_for
from ..gpu.layouts.warps import CONSUMERS, REGISTER_STEP, RESERVED
from ..gpu.pair_blocks import BLOCKS
from ..gpu.persistent_grid import PARTS
from ..gpu.warp_roles import ADDRESSES as BESIDE
from ..gpu.warp_roles import roles_for
from ..gpu.warpgroup_products import STAGES
from .block_times import Estimate, estimates
from .tensor_blocks import ADDRESSES, FLOAT8, TWIN, WARP, Block, Product

_HIGHS = (64, 128, 256)
_WIDES = (32, 64, 128, 256)
_GROUPS = (1, 2)
_STAGES = (2, 3, 4, 8)
_STEP_BYTES = (64, 128)
_KINDS = ("bf16", "f16", "i8", FLOAT8, TF32)
LINE = 128  # bytes of columns that lie together in shared memory, of one warpgroup
_LEAST_IN_TURN = 128  # columns: an instruction of fewer reads 64 rows of a factor for few of them


@dataclass(frozen=True)
class WarpgroupBlock(Block):
    """A block of whole warpgroups; ``consumers``: how often it has them, each time with another tile."""

    consumers: int = 1

    def __str__(self) -> str:
        turns = " in turn" if self.alternates else ""
        groups = f"{words_for(self.all_warps)}{turns}"
        return f"{self.rows}x{self.columns}x{self.step}, {groups}, {self.stages} stages"

    @property
    def all_warps(self) -> int:
        """Those of all tiles."""
        return self.warps * self.consumers

    @property
    def alternates(self) -> bool:
        """Whether another tile is multiplied while one is stored."""
        return self.consumers > 1

    @property
    def part(self) -> tuple[int, int]:
        """The rows and columns of a warp."""
        groups = self.warps // WARPS
        below = min(groups, self.rows // ROWS)
        return self.rows // (below * WARPS), self.columns * below // groups

    def brought(self, product: Product, machine: Machine) -> int:
        """Half of the columns less, where two blocks share them."""
        high, wide = ceil(product.rows / self.rows), ceil(product.columns / self.columns)
        paired = high % BLOCKS == 0 and product.count * high * wide >= machine.processors
        columns = self.columns // BLOCKS if paired else self.columns
        return (self.rows + columns) * self.step * product.bytes

    def peak(self, product: Product, machine: Machine) -> float:
        """All of the machine's."""
        return machine.matrix[product.kind]

    def persists(self, product: Product, resident: int, shared: int) -> bool:
        """Whether warps copy alone, and beside the rings there is room for what changes hands behind them.

        So do a tile that is stored, or a part of it, and what is read as a whole.
        """
        parts = PARTS[-1] if self.part[1] == self.columns else 1
        tiles = self.consumers * self.rows * self.columns * (product.staged / parts + product.exchanged)
        block = self.slot(product.bytes) * self.stages + PATTERN_BYTES + tiles + RESERVED
        sums = prod(self.part) / WARP * (2 if product.kind == FLOAT8 else 1)
        return resident * block <= shared and roles_for(self.all_warps, resident, sums + BESIDE) is not None

    def passed(self, size: int) -> int:
        """Bytes to shared memory, and from there for each 64 rows of a warpgroup."""
        high, wide = self.part
        blocks = high * self.warps // ROWS
        return self.slot(size) + blocks * (ROWS + wide) * self.step * size

    def registers(self, product: Product, aligned: bool = True, addresses: int = ADDRESSES) -> int:
        """What a thread needs: sums, addresses as many as usual, and what passes through one of the twin.

        Or a step's own sums, of 8-bit floats: once copies have been made.
        """
        del addresses
        sums = prod(self.part) / WARP
        passing = 0.0 if aligned else TWIN * (self.rows + self.columns) * self.step / (self.warps * WARP)
        meanwhile = max(passing, sums if product.kind == FLOAT8 else 0)
        return ceil((sums + ADDRESSES + meanwhile) / REGISTER_STEP) * REGISTER_STEP


def product_estimates(
    product: Product,
    machine: str,
    shared: int,
    rows: int | None = None,
    columns: int | None = None,
    *,
    warpgroups: bool = False,
) -> Sequence[Estimate[Block]]:
    """The possible blocks, the fastest first, as `estimates` has them; ``warpgroups``: these, too.

    What no warpgroup multiplies of 8-bit floats is f16, made of them in registers.
    """
    blocks = warpgroup_blocks(product, rows, columns) if warpgroups and not product.extents else ()
    others = tuple(each for each in blocks if _has_turns(each, product, find_machine(machine), shared))
    found = estimates(product, machine, shared, rows, columns, others=others)
    if product.kind != FLOAT8:
        return found
    halves = estimates(replace(product, kind="f16", loose=True), machine, shared, rows, columns)
    return sorted([*found, *halves], key=lambda each: each.seconds)


def _has_turns(block: WarpgroupBlock, product: Product, machine: Machine, shared: int) -> bool:
    """Whether there are tiles for warpgroups to take turns with, and room; or whether these do not."""
    if not block.alternates:
        return True
    resident = block.resident(product, shared)
    tiles = product.count * ceil(product.rows / block.rows) * ceil(product.columns / block.columns)
    return tiles > machine.processors * resident > 0 and block.persists(product, resident, shared)


def warpgroup_blocks(product: Product, rows: int | None, columns: int | None) -> Iterator[WarpgroupBlock]:
    """The blocks that warpgroups can make of a plain product; ``rows`` and ``columns``: those it must have.

    Sides are powers of two within the product's. Of several products in a kernel and sums around a step it
    is not known before if warpgroups can make them.
    """
    if product.loose or product.sums > 1 or product.around > 1 or product.kind not in _KINDS:
        return
    if product.bytes != TURNABLE and any(product.turned):
        return
    highs = [side for side in _HIGHS if side <= product.rows and rows in (None, side)]
    wides = [side for side in _WIDES if side <= product.columns and columns in (None, side)]
    for high, wide, groups, row_bytes in itertools.product(highs, wides, _GROUPS, _STEP_BYTES):
        step = row_bytes // product.bytes
        beside = groups // min(groups, high // ROWS)
        each = wide // beside
        if step >= product.depth or each > MOST_COLUMNS or (beside > 1 and each * product.bytes < LINE):
            continue
        steps = ceil(product.depth / step)
        for stages in (each for each in _STAGES if each <= max(steps, STAGES)):
            yield WarpgroupBlock(high, wide, step, WARPS * groups, stages)
        # The ring has steps of the next tile, too.
        if groups == 1 and product.goes_on and wide >= _LEAST_IN_TURN:
            yield from (WarpgroupBlock(high, wide, step, WARPS, each, CONSUMERS) for each in _STAGES)
