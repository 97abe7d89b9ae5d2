"""Blocks of attention for GPUs: some rows, the keys of a step, and warps that lie below each other.

On tensor cores a warp has 16 or 32 whole rows, so that their maxima and sums need no other warp, and the
weights are where the second product wants them. With 32 rows it reads keys and values half as often from
shared memory; their sums must fit its registers beside the scores. Blocks of 128 rows read them half as
often as those of 64 from memory, and there must be enough.
"""

from __future__ import annotations

from ...dialects.attributes import ROUNDS
from ..domain import Dim, Domain
from ..gpu.layouts.mma import ROWS
from ..tiling import attention, contraction
from ..tiling.access import Nest
from ..tiling.registry import rule_of
from .attention import Block, choose_attention
from .gpu_products import tensor_instruction
from .gpu_tiles import BLOCKS, power_above

PLAIN = Block(rows=(32, 16), keys=16, step=8)
SCORES = Block(rows=(32, 16), keys=16, step=16)  # on tensor cores alone
TENSOR_ROWS = (128, 64, 32, 16)
NARROW = 64  # elements of a value, of which a warp has 32 rows in its registers
KEYS, FEW_KEYS = 64, 32  # of a step; of wide ones fewer, for their sums take the registers
WIDE = 128
MOST_WARPS = 8


def choose_block(domain: Domain, nest: Nest, tiles: dict[Dim, int]) -> int | None:
    """Fill in ``tiles``; the warps that tensor cores take, or None where they cannot be used."""
    products = [each for each in domain.nests if rule_of(each) is contraction]
    has_scores = len(products) == 1 and tensor_instruction(domain, products[0]) is not None
    if not has_scores or ROUNDS.get(nest.op) is None:
        choose_attention(domain, nest, tiles, SCORES if has_scores else PLAIN, BLOCKS)
        return None
    width = _width(domain, nest)
    keys = KEYS if width <= WIDE else FEW_KEYS
    choose_attention(domain, nest, tiles, Block(TENSOR_ROWS, keys, 0), BLOCKS)
    loops = domain.loops(nest)
    tiles[loops[nest.reductions[0]]] = keys
    inner = loops[attention.rows_of(nest)[-1]]
    own = 2 * ROWS if width <= NARROW else ROWS
    high = power_above(tiles[inner] or inner.extent or ROWS)
    return min(max(high // own, min(high // ROWS, 4), 1), MOST_WARPS)


def _width(domain: Domain, nest: Nest) -> int:
    """The elements of a value."""
    (own,) = (loop for loop in nest.parallels if loop not in attention.rows_of(nest))
    return domain.loops(nest)[own].extent or WIDE
