"""Blocks of attention for GPUs: some rows, the keys of a step, and warps that lie below each other.

On tensor cores a warp has 16 or 32 whole rows, so that their maxima and sums need no other warp, and the
weights are where the second product wants them. The block is the one that is predicted to be the fastest
(`attention_blocks`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, prod

from ...dialects.attributes import ROUNDS
from ..domain import Dim, Domain
from ..gpu.layouts.warps import FILLING
from ..tiling import attention, contraction
from ..tiling.access import Access, Nest, shape_of
from ..tiling.registry import rule_of
from . import attention_blocks
from .attention import Block, choose_attention, row_dim
from .attention_blocks import Attention, estimates
from .block_times import Estimate, Sized, with_first
from .gpu_products import UNKNOWN_DEPTH, tensor_instruction
from .gpu_tiles import blocks_of, bytes_of, inputs_of
from .tensor_blocks import WORD
from .warpgroup_attention import warpgroup_blocks

PLAIN = Block(rows=(32, 16), keys=16, step=8)
FEW = 16  # rows without tensor cores that are one block's, whose keys others may share
FEW_ELEMENTS = 4096  # of the keys of a step then: a thread has 32 of them, and as many of values
FEWEST_STEPS = 4  # of a part of the keys
BLOCKS_EACH = 2  # of a multiprocessor, if there are keys enough for them
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
        plain = SCORES if instruction is not None else _plain_block(domain, nest, len(products))
        choose_attention(domain, nest, tiles, plain, FILLING)
        if not products:  # lanes have whole keys: a step of some fewer, to be even, would leave lanes idle
            keys = domain.loops(nest)[nest.reductions[0]]
            tiles[keys] = min(plain.keys, _extent(keys))
        return ()
    best = found[0].block
    choose_attention(domain, nest, tiles, Block((best.rows,), best.keys, 0), FILLING)
    tiles[domain.loops(nest)[nest.reductions[0]]] = best.keys
    return found


def _plain_block(domain: Domain, nest: Nest, products: int) -> Block:
    """A block without tensor cores; of few rows, whose scores are no product, a step has more keys."""
    if products:
        return PLAIN
    loops = domain.loops(nest)
    own = attention.values_loop(nest)
    return Block(PLAIN.rows, max(FEW_ELEMENTS // max(_extent(loops[own]), 1), PLAIN.keys), 0)


def plain_parts(domain: Domain, nest: Nest, tiles: dict[Dim, int], processors: int) -> int:
    """How many blocks share the keys of a tile without tensor cores: enough for all multiprocessors."""
    loops = domain.loops(nest)
    rows, keys = [loops[loop] for loop in attention.rows_of(nest)], loops[nest.reductions[0]]
    inner = row_dim(domain, nest)
    known = all(dim.extent is not None for dim in rows)
    if not known or attention.causal_loop(nest) is not None or (inner is not None and _extent(inner) > FEW):
        return 1
    steps = ceil(_extent(keys) / (tiles[keys] or max(_extent(keys), 1)))
    wanted = ceil(BLOCKS_EACH * processors / max(blocks_of(domain, tiles), 1))
    parts = max(min(wanted, steps // FEWEST_STEPS), 1)
    return ceil(steps / ceil(steps / parts)) if steps else 1


def bytes_of_parts(domain: Domain, nest: Nest, parts: int) -> int:
    """What blocks that share keys write, and the last ones read: maxima, sums and weighted sums of rows."""
    loops = domain.loops(nest)
    rows = prod(_extent(loops[loop]) for loop in attention.rows_of(nest))
    own = attention.values_loop(nest)
    return 2 * parts * rows * (_extent(loops[own]) + 2) * WORD if parts > 1 else 0


def shared_keys(found: Sequence[Estimate[Sized]]) -> str:
    """That blocks share the keys of a tile, and what that saves; "" if the first of those found does not."""
    blocks = [(each, each.block) for each in found if isinstance(each.block, attention_blocks.Block)]
    if not blocks or blocks[0][1].parts == 1:
        return ""
    whole = next((each for each, block in blocks if block.parts == 1), None)
    best, block = blocks[0]
    alone = "" if whole is None else f", one block with all of them {whole.seconds * 1e6:.1f} µs"
    return (
        f"{block.parts} blocks share the keys of a tile, the last of them joins their parts:"
        f" {best.seconds * 1e6:.1f} µs{alone}"
    )


def _attention(domain: Domain, nest: Nest, scores: Nest, size: int) -> Attention:
    """An attention whose elements have ``size`` bytes, as tensor cores see it."""
    loops = domain.loops(nest)
    rows = [loops[loop] for loop in attention.rows_of(nest)]
    inner, keys = row_dim(domain, nest), loops[nest.reductions[0]]
    own = attention.values_loop(nest)
    stepped = contraction.stepped_loop(scores)
    assert stepped is not None, "it has an instruction"
    masks = [
        access
        for other, access in inputs_of(domain)
        if other is not scores
        and {inner or keys, keys}
        <= {domain.loops(other)[at] for index in access.indices for at in index.loops}
    ]
    return Attention(
        1 if inner is None else _extent(inner),
        _extent(keys),
        depth=_extent(domain.loops(scores)[stepped]),
        width=_extent(loops[own]),
        count=prod(_extent(dim) for dim in rows if dim != inner),
        kind=str(contraction.factor_types(scores)[0]),
        bytes=size,
        score_bytes=sum(map(bytes_of, masks)),
        mask_bytes=sum(map(_bytes, masks)),
        causal=attention.causal_loop(nest) is not None,
        divides=all(dim.extent is not None for dim in rows),
    )


def _extent(dim: Dim) -> int:
    return dim.extent or UNKNOWN_DEPTH


def _bytes(access: Access) -> int:
    """Of all that is read from."""
    return bytes_of(access) * prod(size or UNKNOWN_DEPTH for size in shape_of(access.value))
