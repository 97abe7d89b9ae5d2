"""The warps of a block, and the registers that a thread should have, from the tiles of a GPU kernel."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, gcd, prod

from mlir import ir

from ..costs.cost import SPECIAL
from ..domain import Dim, Domain
from ..gpu.layouts.warps import REGISTER_STEP, REGISTERS
from ..operations import nested_ops
from ..powers import power_above, power_below
from ..tiling import elementwise, fill, reduction, scan
from ..tiling.access import Access, Nest
from ..tiling.registry import WHOLE, rule_of
from .common import ROW, innermost_dims
from .gpu_tiles import bytes_of, elements_of, inputs_of, largest_tile, leaves, reduced_in_tiles, widest_bytes

WARP = 32
FEWEST_WARPS, MOST_WARPS = 4, 32
THREAD_ELEMENTS = 32  # that a thread holds of the largest tile
ROW_THREAD_ELEMENTS = 16  # the same of what is reduced: in f32 a multiprocessor holds all its warps then
WIDE = 16  # bytes an access
WORD = 4  # bytes a register
CONTRACTION_REGISTERS, OTHER_REGISTERS = 128, 64  # that a thread may have
SCAN_REGISTERS = 40  # of a thread that scans in steps: 8 elements, the totals of warps, and places
MOST_RESULTS = 8  # of the others: more have so many addresses and constants that some would spill
FEWEST_REGISTERS = 32
FEW = 8  # times as many elements as rows: then what is computed once a row does not count
PLACES = 8  # registers with addresses and the like
_SHORT = ("div", "exp", "sqrt", "rsqrt")  # functions of a dozen instructions at most


def registers_of(domain: Domain, tiles: dict[Dim, int], threads: int) -> int:
    """The registers that a thread of an element-wise kernel needs: for its loads first, then to compute.

    Elements are counted twice then, as what is computed and what comes next of it. With more registers ptxas
    works on more elements at once, while fewer blocks wait for memory. Of other kernels, and of single
    elements, whose bodies have any size, they are as many as there are.
    """
    covered = largest_tile(domain, tiles)
    if covered <= threads or any(rule_of(nest) is not elementwise for nest in domain.nests):
        return OTHER_REGISTERS
    loaded, computed = _registers_of_elements(domain, tiles, threads)
    held = max(loaded, 2 * computed)
    if results_of(domain) > 1:
        held = max(held, _most_at_once(domain, -(-covered // threads)))
    return min(max(held, FEWEST_REGISTERS - PLACES) + PLACES, OTHER_REGISTERS)


def should_wait_for_loads(domain: Domain, tiles: dict[Dim, int], threads: int) -> bool:
    """Whether a thread of an element-wise kernel is to compute nothing before all of its loads have come.

    Where much is computed with one input before another is used, and registers are few, ptxas would load
    that one when it is used.
    """
    if any(rule_of(nest) is not elementwise for nest in domain.nests) or not is_dear(domain):
        return False
    if len(inputs_of(domain)) < 2 or largest_tile(domain, tiles) <= threads:
        return False
    loaded, computed = _registers_of_elements(domain, tiles, threads)
    return loaded + 3 * computed > registers_of(domain, tiles, threads) - PLACES


def _registers_of_elements(domain: Domain, tiles: dict[Dim, int], threads: int) -> tuple[int, int]:
    """Those of all that a thread loads, and of one value of each of its elements."""
    loaded = words_of(domain, inputs_of(domain), tiles, threads)
    return loaded, -(-largest_tile(domain, tiles) // threads) * max(widest_bytes(domain) // WORD, 1)


def _most_at_once(domain: Domain, elements: int) -> int:
    """The registers that ``elements`` of what is made and still needed take where that is most.

    What several results are made of waits for the last of them: a register an element, or two.
    """
    waiting, most = {access.value: _words(access) for _, access in inputs_of(domain)}, 0
    for number, nest in enumerate(domain.nests):
        later = {access.value for each in domain.nests[number + 1 :] for access in each.reads if access}
        waiting = {value: words for value, words in waiting.items() if value in later}
        waiting |= {access.value: _words(access) for access in nest.writes}
        most = max(most, sum(waiting.values()))
    return most * elements


def _words(access: Access) -> int:
    return max(bytes_of(access) // WORD, 1)


def registers_for_rows(domain: Domain, tiles: dict[Dim, int], threads: int, alike: bool = False) -> int:
    """The registers that a thread of a kernel that reduces needs: for what it loads, and the largest tile.

    Elements are counted once, since they wait in their registers for what is reduced. What all blocks load
    ``alike`` is left out: behind a reduction it comes from the caches; a row that is counted for each loop
    along it leaves room for that. Long functions take all that there are; elements of 64 bits are counted
    twice, as what is computed and what comes next of it (the softmax of 1024 f64: 46 registers, not 60, and
    as many instructions), but scans and more than two reductions of them, which take all; of more than would
    fit, as of rows in several directions, as many as products have, and so do pairs of these, of which a
    thread has a part of the row for each of its own. What is loaded beside columns waits while their totals
    are exchanged. Of scans half as much again, for the totals of parts: with 40 ptxas spills 56 bytes of two
    scans of 64x64 f16, and 68 of 32 elements of a row of f32. Warps with several rows each
    (`gpu_shares.warps_with_weights`) have the weights as f32 beside these: with 56 a load of the norm of a
    sum comes late.
    """
    inputs, covered = inputs_of(domain), largest_tile(domain, tiles)
    scans = sum(rule_of(nest) is scan for nest in domain.nests)
    is_read_once = not any(rule_of(nest) is reduction for nest in domain.nests)
    most = ROW_THREAD_ELEMENTS if is_read_once else THREAD_ELEMENTS
    if scans and covered > threads * most:  # in steps (mlopt-gpu-chunk-rows)
        return SCAN_REGISTERS if widest_bytes(domain) <= WORD else OTHER_REGISTERS
    reductions = sum(rule_of(nest) is reduction for nest in domain.nests)
    pairs = widest_bytes(domain) > WORD and are_pairs(domain, tiles)
    if pairs or _widest_held(domain, tiles) > WORD or is_dear(domain):
        words = words_of(domain, inputs, tiles, threads)
        if pairs or words + PLACES > OTHER_REGISTERS:
            return CONTRACTION_REGISTERS
        if scans or reductions > 2 or is_dear(domain):
            return OTHER_REGISTERS
        words = words_of(domain, _rows_once(domain, inputs, tiles), tiles, threads)
        return min(max(2 * (words + PLACES), FEWEST_REGISTERS), OTHER_REGISTERS)
    own = inputs if alike else own_inputs(domain)
    if len(own) == len(inputs):
        own = _rows_once(domain, own, tiles)
    loaded, held = words_of(domain, own, tiles, threads), -(-covered // threads)
    if held > ROW_THREAD_ELEMENTS and len(own) < len(inputs) and rows_are_of_warps(domain):
        return OTHER_REGISTERS
    if scans:
        held = 3 * scans * held // 2
    if any(dim.extent is None for dim in reduced_in_tiles(domain)):
        # Totals, and steps whose number is not known; more where several elements make one, or are unpacked.
        alone = len(own) == 1 and loaded == held and reductions == 1
        loaded += held + (PLACES if alone else 2 * PLACES)
    if alike:
        loaded += _registers_for_totals(domain, own)
    return min(max(loaded, held, FEWEST_REGISTERS - PLACES) + PLACES, OTHER_REGISTERS)


def _widest_held(domain: Domain, tiles: dict[Dim, int]) -> int:
    """The size of the widest element of which a thread has as many as of others, not one a row."""
    least = largest_tile(domain, tiles) / FEW
    accesses = [
        (nest, each) for nest in domain.nests for each in (*nest.reads, *nest.writes) if each is not None
    ]
    return max(
        (
            bytes_of(access)
            for nest, access in accesses
            if prod(tiles[dim] or dim.extent or ROW for dim in _dims_of(domain, nest, access)) > least
        ),
        default=1,
    )


def are_pairs(domain: Domain, tiles: dict[Dim, int]) -> bool:
    """Whether a task's tile is larger than all that it has of its own, as where its elements are compared."""
    own = own_inputs(domain)
    own += [(nest, each) for nest in domain.nests for each in nest.writes if leaves(domain, each.value)]
    held = [prod(tiles[dim] or dim.extent or ROW for dim in _dims_of(domain, *each)) for each in own]
    return largest_tile(domain, tiles) > max(held, default=1)


def rows_are_of_warps(domain: Domain) -> bool:
    """Whether a warp holds a row, so that none is shared by several."""
    return 1 < prod(dim.extent or ROW for dim in domain.dims if dim.whole) <= WARP * ROW_THREAD_ELEMENTS


def _registers_for_totals(domain: Domain, inputs: Sequence[tuple[Nest, Access]]) -> int:
    """The registers that what is loaded beside columns takes while their totals are exchanged."""
    inner = innermost_dims(domain)
    downwards = [
        nest
        for nest in domain.nests
        if rule_of(nest) is reduction and not inner & {domain.loops(nest)[loop] for loop in nest.reductions}
    ]
    rows = {domain.loops(nest)[loop] for nest in downwards for loop in nest.reductions}
    rows |= {dim for dim in domain.dims if dim.whole}
    beside = [each for each in inputs if not rows & _dims_of(domain, *each)]
    return (len(downwards) + len(beside)) * WIDE // WORD + PLACES if downwards and beside else 0


def own_inputs(domain: Domain) -> list[tuple[Nest, Access]]:
    """The inputs that not all blocks load alike, as they do weights."""
    return [
        (nest, access)
        for nest, access in inputs_of(domain)
        if any(dim.kind == "parallel" and not dim.whole for dim in _dims_of(domain, nest, access))
    ]


def most_registers_for_rows(registers: int, threads: int) -> int:
    """The registers that ptxas is to make do with, for `registers_for_rows` of them; 0: those that are left.

    One block of 1024 threads leaves 64 to each, two 32: between them no count of blocks tells. It needs its
    places twice, to compute beside a row that waits: with 40 the softmax of 32768 bf16 spills, with 48 it
    has as many instructions as with 64.
    """
    most = ceil((registers + PLACES) / REGISTER_STEP) * REGISTER_STEP
    return most if most < OTHER_REGISTERS and most + REGISTER_STEP <= REGISTERS // threads else 0


def _rows_once(
    domain: Domain, inputs: Sequence[tuple[Nest, Access]], tiles: dict[Dim, int]
) -> list[tuple[Nest, Access]]:
    """Of reads of the same places one, whichever whole loop is along them."""
    found: dict[tuple[object, ...], tuple[Nest, Access]] = {}
    for nest, access in inputs:
        where = [(index.rest, index.start, index.stride) for index in access.indices]
        dims = _dims_of(domain, nest, access)
        along = frozenset(dim.extent if _is_held(dim, tiles) else dim for dim in dims)
        found.setdefault((access.value, along, *where), (nest, access))
    return list(found.values())


def _is_held(dim: Dim, tiles: dict[Dim, int]) -> bool:
    """Whether a block has all of a dim at once, as the rows that it owns, or those of a step that has all."""
    return tiles[dim] == WHOLE or (dim.kind == "reduction" and tiles[dim] == dim.extent)


def words_of(
    domain: Domain, inputs: Sequence[tuple[Nest, Access]], tiles: dict[Dim, int], threads: int
) -> int:
    """The registers of a thread that tiles of these inputs fill."""
    words = 0
    for nest, access in inputs:
        loops = {loop for index in access.indices for loop in index.loops}
        words += -(-elements_of(domain, nest, loops, tiles) * bytes_of(access) // (WORD * threads))
    return words


def _dims_of(domain: Domain, nest: Nest, access: Access) -> set[Dim]:
    return {domain.loops(nest)[loop] for index in access.indices for loop in index.loops}


def is_dear(domain: Domain) -> bool:
    """Whether so much is computed with an element that few of them a thread are enough, for fewer registers.

    What is computed once a row, as a softmax's logarithm, is nothing beside its elements.
    By Little's law 16 bytes a thread are: a multiprocessor that holds all of its 2048 threads has 32 KB on
    their way, and of an H200's 4.8 TB/s its share is 36 KB a microsecond, while a load takes 0.7 of one.
    """
    steps = [prod(dim.extent or ROW for dim in domain.loops(nest)) for nest in domain.nests]
    bodies = [
        nest.body
        for nest, count in zip(domain.nests, steps, strict=True)
        if rule_of(nest) is elementwise and nest.body is not None and count * FEW > max(steps)
    ]
    names = {op.name for body in bodies for op in nested_ops(body)}
    return any(name in SPECIAL and SPECIAL[name] not in _SHORT for name in names)


def warps_for(elements: int, each: int) -> int:
    """The warps whose threads hold at most ``each`` of as many, where so many warps may be."""
    warps = FEWEST_WARPS
    while warps < MOST_WARPS and elements > warps * WARP * each:
        warps *= 2
    return warps


def elements_for_rows(domain: Domain, tiles: dict[Dim, int]) -> int:
    """How many elements of the largest tile a thread of a kernel that reduces holds at most.

    Fewer if more than two results are as large, all of which wait in registers for what is reduced: of six of
    16 elements, of two inputs of bools, ptxas spills 88 bytes with 64 registers, of four none with 32.
    """
    covered = largest_tile(domain, tiles)
    results = [
        prod(tiles[dim] or dim.extent or ROW for dim in _dims_of(domain, nest, access)) >= covered
        for nest in domain.nests
        for access in nest.writes
        if leaves(domain, access.value)
    ]
    return min(power_below(2 * ROW_THREAD_ELEMENTS // max(sum(results), 1)), ROW_THREAD_ELEMENTS)


def reduces(domain: Domain) -> bool:
    """Whether a kernel reduces or scans tiles, and else works on elements."""
    rules = {rule_of(nest) for nest in domain.nests}
    return bool(rules & {reduction, scan}) and rules <= {elementwise, fill, reduction, scan}


def warps_of_rows(domain: Domain, tiles: dict[Dim, int]) -> int:
    """A warp for each row of a block that reduces rows along memory which warps hold; or those of any block.

    For blocks with a multiprocessor to themselves: of two rows of a warp the second waits for the first.
    """
    whole, inner = [dim for dim in domain.dims if dim.whole], innermost_dims(domain)
    is_known = all(dim.extent is not None for dim in (*whole, *inner))
    is_along = all(dim.whole or dim.kind == "reduction" for dim in inner)
    if not any(rule_of(nest) is reduction for nest in domain.nests) or not (is_known and is_along):
        return FEWEST_WARPS
    if not rows_are_of_warps(domain):
        return FEWEST_WARPS
    rows = largest_tile(domain, tiles) // prod(dim.extent or 1 for dim in whole)
    return max(min(power_below(rows), warps_with_accesses(domain, tiles), MOST_WARPS), FEWEST_WARPS)


def warps_with_accesses(domain: Domain, tiles: dict[Dim, int]) -> int:
    """The warps whose threads have a wide access of their own: others would repeat what these read.

    Rows that do not begin at multiples of 16 bytes have accesses as wide as where they begin. Single elements
    are tasks of lanes, and tiles that are larger than all that is read and written, as pairs of elements are,
    are for half of all warps: their threads have registers for what ptxas makes of them.
    """
    most, held, covered = 1, 1, largest_tile(domain, tiles)
    for nest in domain.nests:
        loops = domain.loops(nest)
        for access in (*nest.reads, *nest.writes):
            if access is None or not isinstance(access.value.type, ir.ShapedType):
                continue
            if leaves(domain, access.value) or domain.writer(access.value) is None:
                dims = {loops[loop] for index in access.indices for loop in index.loops}
                elements = prod(tiles[dim] or dim.extent or ROW for dim in dims)
                most, held = max(most, ceil(elements / _at_once(access))), max(held, elements)
    if covered <= 1:
        return MOST_WARPS
    return power_above(ceil(most / WARP)) if covered <= held else MOST_WARPS // 2


def _at_once(access: Access) -> int:
    """The elements of the widest access to all rows of a tensor."""
    shape, size = ir.ShapedType(access.value.type).shape, bytes_of(access)
    row = shape[-1] * size if shape and shape[-1] > 0 else WIDE
    return max(gcd(row, WIDE) // size, 1)


def results_of(domain: Domain) -> int:
    """How many tensors a task writes that others read."""
    written = [access.value for nest in domain.nests for access in nest.writes]
    return sum(leaves(domain, value) for value in written)
