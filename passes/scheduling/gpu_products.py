"""Blocks of matrix products for GPUs: a square of the result, and a step of the reduced dim.

On tensor cores the block is the one that is predicted to be the fastest (`block_times`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from math import prod

from ..costs.count import work_of
from ..costs.machine import Machine, find_machine
from ..costs.roofline import arithmetic_of
from ..domain import Dim, Domain
from ..gpu.layouts.access import WIDE
from ..gpu.layouts.instructions import Instruction, instruction_for
from ..gpu.layouts.warps import FILLING
from ..powers import power_above
from ..siblings import are_siblings
from ..tiling import contraction, elementwise, fill
from ..tiling.access import Access, Nest, shape_of
from ..tiling.registry import SINGLE, rule_of
from .block_times import Estimate, with_first
from .common import ROW, products_at_once
from .gpu_tiles import ROW_ELEMENTS, blocks_of, bytes_of, inputs_of, leaves, part_of
from .tensor_blocks import MOST_ROWS, Block, Product, row_parts
from .warpgroup_blocks import product_estimates

CONTRACTION_SIDES = ((64, 64), (32, 64), (32, 32), (16, 32))
CONTRACTION_STEP = 8  # so that both factors of a step fit a thread beside its square

HALF = 2  # bytes of elements up to which tiles change hands, and that boxes store (mlopt-gpu-tma-stores)
_PLAIN = (elementwise, fill)
UNKNOWN_DEPTH = 1024  # what a dynamic one is taken for


def choose_contraction(domain: Domain, nest: Nest, tiles: dict[Dim, int]) -> None:
    """A square of the product, and a step of the reduced dim."""
    _choose_single(domain, nest, tiles, CONTRACTION_STEP)
    loops = domain.loops(nest)
    lanes = loops[contraction.lane_loop(nest)]
    rows = [loops[loop] for loop in reversed(nest.parallels) if loops[loop] not in (lanes, *tiles)]
    free = dict(tiles)
    most = prod(CONTRACTION_SIDES[0]) // products_at_once(domain)
    for high, wide in [side for side in CONTRACTION_SIDES if prod(side) <= most]:
        tiles.update(free)
        _choose_block(tiles, free, lanes, rows, high, wide)
        if blocks_of(domain, tiles) >= FILLING:
            return


def choose_tensor_block(
    domain: Domain,
    nest: Nest,
    tiles: dict[Dim, int],
    machine: str,
    shared: int,
    tf32: bool = False,
    warpgroups: bool = False,
    candidate: int = 0,
) -> Sequence[Estimate[Block]]:
    """Tiles of a product on tensor cores, and the blocks that there are, this one first.

    It is the fastest, or the ``candidate`` after it, as `with_first` counts.
    Empty, and no tiles, if tensor cores cannot multiply its factors, or no block can have what a task owns.
    """
    product = tensor_product(domain, nest, tf32)
    if product is None:
        return ()
    product = replace(product, behind=_behind(domain, nest, find_machine(machine)) / _results(domain, nest))
    loops, sides = domain.loops(nest), _divided_sides(domain, nest)
    owned = [
        next((tiles.get(dim) or dim.extent or ROW for dim in side if dim.whole or dim in tiles), None)
        for side in sides
    ]
    found = with_first(product_estimates(product, machine, shared, *owned, warpgroups=warpgroups), candidate)
    if found:
        best = found[0].block
        _choose_single(domain, nest, tiles, best.step)
        for side, wanted in zip(sides, (best.rows, best.columns), strict=True):
            many = row_parts(product.extents, wanted) if len(side) > 1 else ()
            for dim, part in zip(side, many or [part_of(dim.extent, wanted) for dim in side], strict=True):
                tiles.setdefault(dim, part)
        for loop in nest.parallels:
            tiles.setdefault(loops[loop], SINGLE)
    return found


def tensor_product(domain: Domain, nest: Nest, tf32: bool = False) -> Product | None:
    """A product as tensor cores see it, if they can multiply its factors; ``tf32``: f32 may be rounded."""
    instruction = tensor_instruction(domain, nest, tf32 and len(nest.reductions) == 1)
    if instruction is None:
        return None
    loops, sides = domain.loops(nest), _divided_sides(domain, nest)
    stepped = contraction.stepped_loop(nest)
    assert stepped is not None
    rows, columns = (prod(dim.extent or ROW for dim in side) for side in sides)
    depth = loops[stepped].extent or UNKNOWN_DEPTH
    along = {loops[loop] for each in contraction.factor_accesses(nest) for loop in _inner_loops(each)}
    products = sum(are_siblings(nest.op, each.op) for each in domain.nests)  # this one, too
    own = {dim for side in sides for dim in side}
    count = _results(domain, nest) // (rows * columns)
    written, read = (_along(domain, each, own) for each in (_written(domain), _read(domain, nest)))
    return Product(
        rows,
        columns,
        depth,
        count=count,
        kind=instruction.machine_kind,
        bytes=instruction.element_bytes,
        result_bytes=sum(map(bytes_of, (*read, *written))),
        loose=any(_is_loose(domain, access) for access in contraction.factor_accesses(nest)),
        around=products * prod(loops[loop].extent or 1 for loop in nest.reductions if loop != stepped),
        sums=products_at_once(domain),
        turned=(bool(along & {*sides[0]}), bool(along & {*sides[1]})),
        narrow=_narrow(domain, nest, sides[1]),
        extents=tuple(dim.extent or ROW for dim in sides[0]) if len(sides[0]) > 1 else (),
        staged=max((each for each in map(bytes_of, written) if each == HALF), default=0),
        exchanged=max((each for each in map(bytes_of, read) if each <= HALF), default=0),
        goes_on=_goes_on(domain, nest, count),
    )


def _narrow(domain: Domain, product: Nest, columns: Collection[Dim]) -> int:
    """The bytes of an element of the columns' factor where it is read, if it is widened then; else 0."""
    loops = domain.loops(product)
    for access in contraction.factor_accesses(product):
        if not {*columns} & {loops[loop] for loop in _loops_of(access)}:
            continue
        read: Access | None = access
        while read is not None and (made := domain.writer(read.value)) is not None:
            maker, _ = made
            # Scales beside it have fewer loops.
            whole = [each for each in maker.reads if each and {*maker.parallels} <= _loops_of(each)]
            read = whole[0] if len(whole) == 1 and not maker.reductions else None
        if read is not None and bytes_of(read) < bytes_of(access):
            return bytes_of(read)
    return 0


def _loops_of(access: Access) -> set[int]:
    return {loop for index in access.indices for loop in index.loops}


def _goes_on(domain: Domain, product: Nest, count: int) -> bool:
    """Whether blocks may make other results, too: nothing but what is element by element is done to them.

    Of several products' sums others may be made in the same kernel, if they are parts (mlopt-gpu-join-sums).
    """
    if any(rule_of(each) not in _PLAIN for each in domain.nests if each is not product):
        return False
    return count == 1 or all(bytes_of(access) <= HALF for _, access in _written(domain))


def _inner_loops(access: Access) -> Collection[int]:
    """The loops along the innermost dim of memory."""
    return access.indices[-1].loops if access.indices else ()


def tensor_instruction(domain: Domain, nest: Nest, tf32: bool = False) -> Instruction | None:
    """What tensor cores multiply a product's tiles with, if they can.

    They can if no factor has two dims that a task owns, nor both one together, and the depth is known, or the
    last step may reach beyond it: else its steps are single elements.
    """
    stepped = contraction.stepped_loop(nest)
    if stepped is None or (nest.extents[stepped] is None and not contraction.can_step(domain, nest)):
        return None
    types = contraction.factor_types(nest)
    total = contraction.total_type(nest)
    found = instruction_for(types[0], total, tf32) if types[0] == types[1] else None
    owned = {loop for loop, dim in enumerate(domain.loops(nest)) if dim.whole and dim.extent != 1}
    if found is None or owned & contraction.batch_loops(nest):
        return None
    return found if all(len(owned & set(side)) < 2 for side in _sides(nest)) else None


def _is_loose(domain: Domain, access: Access) -> bool:
    """Whether a factor's tile comes through registers: computed, or without aligned 16 bytes in memory."""
    if domain.writer(access.value) is not None or access.value in domain.stages or not access.indices:
        return True
    last = access.indices[-1]
    own = max(WIDE // bytes_of(access), 1)
    size = shape_of(access.value)[-1]
    begins = isinstance(last.start, int) and last.start % own == 0
    return len(last.loops) != 1 or not begins or last.stride != 1 or last.padded or (size or 0) % own != 0


def _choose_single(domain: Domain, nest: Nest, tiles: dict[Dim, int], wanted: int) -> None:
    """Steps of ``wanted`` along a reduced dim, single elements of the others, and of dims of both factors."""
    loops = domain.loops(nest)
    stepped = contraction.stepped_loop(nest)
    for loop in nest.reductions:
        if loops[loop].kind == "reduction":
            step = min(wanted, loops[loop].extent or wanted)
            tiles[loops[loop]] = step if loop == stepped else SINGLE
    for loop in contraction.batch_loops(nest):
        tiles.setdefault(loops[loop], SINGLE)  # each has factors of its own: nothing to share in a block


def _divided_sides(domain: Domain, nest: Nest) -> list[list[Dim]]:
    """Of rows and columns the dim that a task owns, or else those that blocks divide; none of one element."""
    loops = domain.loops(nest)
    sides = [[loops[loop] for loop in side] for side in reversed(_sides(nest))]
    found = [[next((dim for dim in side if dim.whole), side[0])] if side else [] for side in sides]
    return [_further_rows(domain, nest, sides[0]) or found[0], found[1]]


def _further_rows(domain: Domain, nest: Nest, side: Sequence[Dim]) -> list[Dim]:
    """The dims that rows run along, innermost first, if that is more than one: places of several images.

    They do if their factor is copied as it is, along the depth.
    """
    loops, stepped, found = domain.loops(nest), contraction.stepped_loop(nest), list[Dim]()
    single = {loops[loop] for loop in contraction.needs(nest)}
    for access in contraction.factor_accesses(nest):
        own = {loops[loop] for index in access.indices for loop in index.loops}
        if {*side} <= own and (_is_loose(domain, access) or stepped not in _inner_loops(access)):
            return []
    if any(dim.whole or dim.extent is None or dim in single for dim in side):
        return []
    for dim in side:
        if prod(each.extent or ROW for each in found) < MOST_ROWS:
            found.append(dim)
    return found if len(found) > 1 else []


def _written(domain: Domain) -> list[tuple[Nest, Access]]:
    """What the kernel leaves in memory."""
    return [(nest, each) for nest in domain.nests for each in nest.writes if leaves(domain, each.value)]


def _read(domain: Domain, product: Nest) -> list[tuple[Nest, Access]]:
    """What it reads beside the factors."""
    return [(nest, each) for nest, each in inputs_of(domain) if nest is not product]


def _behind(domain: Domain, product: Nest, machine: Machine) -> float:
    """The seconds of all processors for what is computed of a product's results."""
    own = {dim for side in _divided_sides(domain, product) for dim in side}
    later = domain.nests[domain.nests.index(product) + 1 :]
    nests = [each for each in later if own <= {*domain.loops(each)} and rule_of(each) is not contraction]
    return sum(sum(arithmetic_of(work_of(each, ROW), machine)) for each in nests)


def _results(domain: Domain, product: Nest) -> int:
    """How many there are."""
    loops = domain.loops(product)
    return prod(loops[loop].extent or ROW for loop in product.parallels)


def _along(domain: Domain, accesses: Sequence[tuple[Nest, Access]], dims: Collection[Dim]) -> list[Access]:
    """Those of which there is an element for each of the product, whose dims these are."""
    return [
        access
        for nest, access in accesses
        if {*dims} <= {domain.loops(nest)[loop] for index in access.indices for loop in index.loops}
    ]


def _sides(nest: Nest) -> tuple[list[int], list[int]]:
    """The parallel loops of more than one element that each factor has alone, the one to divide first."""
    lanes = contraction.lane_loop(nest)
    beside = contraction.strip_loops(nest)
    others = set(nest.parallels) - {lanes, *beside} - contraction.batch_loops(nest)
    wide = [loop for loop in reversed(nest.parallels) if nest.extents[loop] != 1]
    return [lanes, *(loop for loop in wide if loop in beside)], [loop for loop in wide if loop in others]


def _choose_block(
    tiles: dict[Dim, int], free: dict[Dim, int], lanes: Dim, rows: Sequence[Dim], high: int, wide: int
) -> None:
    """``wide`` elements of the lanes' dim and ``high`` of the others, the innermost first."""
    if lanes not in free:
        tiles[lanes] = part_of(lanes.extent, wide)
    left = high if not lanes.whole else max(ROW_ELEMENTS // (lanes.extent or 1), 1)
    for dim in rows:
        tiles[dim] = part_of(dim.extent, left)
        left = max(left // power_above(tiles[dim] or dim.extent or 1), 1)
