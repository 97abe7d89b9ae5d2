"""Blocks of attention for GPUs: some rows, the keys of a step, and warps that lie below each other.

On tensor cores a warp has 16 or 32 whole rows, so that their maxima and sums need no other warp, and the
weights are where the second product wants them. The block is the one that is predicted to be the fastest
(`attention_blocks`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ...dialects.attributes import ROUNDS
from ..domain import Dim, Domain
from ..tiling import attention, contraction
from ..tiling.access import Access, Nest, shape_of
from ..tiling.registry import rule_of
from . import attention_blocks
from .attention import Block, choose_attention
from .attention_blocks import Attention, estimates
from .block_times import Estimate, with_first
from .gpu_products import UNKNOWN_DEPTH, tensor_instruction
from .gpu_tiles import BLOCKS, bytes_of, inputs_of
from .warpgroup_attention import warpgroup_blocks

PLAIN = Block(rows=(32, 16), keys=16, step=8)
SCORES = Block(rows=(32, 16), keys=16, step=16)  # on tensor cores alone


def choose_block(
    domain: Domain,
    nest: Nest,
    tiles: dict[Dim, int],
    machine: str,
    shared: int,
    warpgroups: bool = False,
    candidate: int = 0,
) -> Sequence[Estimate[attention_blocks.Block]]:
    """Fill in ``tiles``; the blocks on tensor cores that there are, this one first.

    Empty if tensor cores cannot be used for both products, or no block can have rows of so many elements.
    ``warpgroups``: whether the chip has wgmma; ``candidate``: not the fastest, but so many after it.
    """
    products = [each for each in domain.nests if rule_of(each) is contraction]
    instruction = tensor_instruction(domain, products[0]) if len(products) == 1 else None
    found: Sequence[Estimate[attention_blocks.Block]] = ()
    if instruction is not None and ROUNDS.get(nest.op) is not None:
        asked = _attention(domain, nest, products[0], instruction.element_bytes)
        others = tuple(warpgroup_blocks(asked)) if warpgroups else ()
        found = with_first(estimates(asked, machine, shared, others), candidate)
    if not found:
        choose_attention(domain, nest, tiles, PLAIN if instruction is None else SCORES, BLOCKS)
        return ()
    best = found[0].block
    choose_attention(domain, nest, tiles, Block((best.rows,), best.keys, 0), BLOCKS)
    tiles[domain.loops(nest)[nest.reductions[0]]] = best.keys
    return found


def _attention(domain: Domain, nest: Nest, scores: Nest, size: int) -> Attention:
    """An attention whose elements have ``size`` bytes, as tensor cores see it."""
    loops = domain.loops(nest)
    rows = [loops[loop] for loop in attention.rows_of(nest)]
    keys = loops[nest.reductions[0]]
    (own,) = (loop for loop in nest.parallels if loop not in attention.rows_of(nest))
    stepped = contraction.stepped_loop(scores)
    assert stepped is not None, "it has an instruction"
    masks = [
        access
        for other, access in inputs_of(domain)
        if other is not scores
        and {rows[-1], keys} <= {domain.loops(other)[at] for index in access.indices for at in index.loops}
    ]
    return Attention(
        _extent(rows[-1]),
        _extent(keys),
        depth=_extent(domain.loops(scores)[stepped]),
        width=_extent(loops[own]),
        count=prod(_extent(dim) for dim in rows[:-1]),
        kind=str(contraction.factor_types(scores)[0]),
        bytes=size,
        score_bytes=sum(map(bytes_of, masks)),
        mask_bytes=sum(map(_bytes, masks)),
        causal=attention.causal_loop(nest) is not None,
    )


def _extent(dim: Dim) -> int:
    return dim.extent or UNKNOWN_DEPTH


def _bytes(access: Access) -> int:
    """Of all that is read from."""
    return bytes_of(access) * prod(size or UNKNOWN_DEPTH for size in shape_of(access.value))
