"""How often each op of a kernel computes the same again, and how many tasks the kernel leaves.

A task computes all that its tiles of the results need. An op without one of the kernel's parallel dims is
computed once for each part of that dim::

    %e = exp(%v[n])               again for each row m that it is broadcast to
    %r = %x[m, n] + %e[n]

    %s = sum over k of %v[k]      again by each task, of which there are as many as mlopt-schedule makes
    %r = %x[m, n] * %s

    %s = %x[m, k] * 0.125         again for each strip of columns n that the registers hold, of a GPU's block
    %y = sum over k of %s[m, k] * %w[k, n]

    %r = relu(%x)[i]              again by each task whose window reaches it, stored and loaded there; without
    %y = sum over k of %r[i + k] * %w[k]         scratch for it, again at each position of the window
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, prod

from mlir import ir

from ..costs.machine import Machine
from ..domain import Dim, Domain
from ..raising.bodies import is_contraction
from ..scheduling import cpu, gpu
from ..scheduling.attention import attention_of
from ..scheduling.common import TASKS
from ..scheduling.gpu_tiles import blocks_of
from ..structured import ASSUMED, elements_of
from ..tiling import contraction
from ..tiling.access import Access, Nest
from ..tiling.analysis import loops_in
from ..tiling.registry import rule_of
from ..tiling.stages import loop_sizes, memory_order, memory_shape, part_sizes

MANY = 1 << 30  # stands for an extent that is not known
REGISTERS = (
    2  # rows or vectors of a product that share a factor: fewer than there are, as it is made by scalars
)
STAGED = 2  # instructions to store an element ahead of a window, padding in between, and to load it again
SELECTED = 2  # to choose between what is computed where a window reads and its padding: 1.3 to 2 in PTX
READ = 2  # to load an operand of it, which takes twice as long as to compute: 32 lanes a cycle, not 64


def tasks_of(domain: Domain) -> int:
    """How many tasks there can be at most."""
    return prod(MANY if dim.extent is None else dim.extent for dim in _split(domain))


def blocks_left(domain: Domain, machine: Machine) -> int:
    """How many tasks there are on ``machine``: of a product on a GPU the blocks of its schedule.

    What runs through more loops than the product does has no more blocks than it: the multiplication of an
    image by a gate, a product of a few columns, would be 8 blocks' work. Attention counts by its rows, with
    its scores or without them: its schedule has one block for many of them, and waits for the steps of that
    rather than for its share of the bandwidth (33 rows and 80 keys of 256 elements on an A100: 5.1 µs, where
    the roofline would have 6.1 for one block of 108).
    """
    most = tasks_of(domain)
    if not machine.chips or attention_of(domain) is not None:
        return most
    if not any(rule_of(nest) is contraction for nest in domain.nests):
        return most
    return min(most, blocks_of(domain, gpu.choose(domain, machine.name).tiles))


def repeats(domain: Domain, machine: Machine) -> Iterator[tuple[Nest, int]]:
    """Each nest with how often its work is done, in the tasks that ``machine``'s schedule makes."""
    split = _split(domain)
    missing = {nest: [dim for dim in split if dim not in domain.loops(nest)] for nest in domain.nests}
    if not any(missing.values()):
        yield from ((nest, 1) for nest in domain.nests)
        return
    parts = _parts(domain, machine)
    product = next((nest for nest in domain.nests if nest.reductions and is_contraction(nest.op)), None)
    factors = set() if product is None else _before(domain, product)
    for nest, without in missing.items():
        dims = [dim for dim in domain.loops(nest) if dim.extent != 1]
        if nest in factors and machine.chips:
            yield nest, prod(parts[dim] for dim in without)  # a block's threads share its factors
        elif nest in factors:
            yield nest, prod(ceil(_size(dim) / REGISTERS) for dim in without)
        elif all(dim.kind == "parallel" for dim in dims) and dims:
            # Columns are innermost: each element of an outer dim computes it, each task of an inner one.
            last = max(dim.id for dim in dims)
            yield nest, prod(_size(dim) if dim.id < last else parts[dim] for dim in without)
        else:
            # One value, or a total and what is added up: each task computes it, no strip of a task again.
            yield nest, prod(parts[dim] for dim in without)


@dataclass(frozen=True)
class Remade:
    """What is before a window: all tasks together make ``elements`` of ``value``, each with ``nests``.

    Beside the nests' own work that takes so many ``instructions`` an element.
    """

    value: ir.Value
    nests: Sequence[Nest]
    elements: int
    instructions: int


def remade(domain: Domain, machine: Machine) -> Iterator[Remade]:
    """What tasks make of values that windows read."""
    if not domain.stages:
        return
    if machine.chips:
        yield from _at_reads(domain, _parts(domain, machine))
    else:
        yield from _ahead(domain, _tiles(domain, machine))


def _ahead(domain: Domain, tiles: Mapping[Dim, int]) -> Iterator[Remade]:
    """Each task makes all that its window reaches, in scratch."""
    tasks = prod(ceil(_size(dim) / tiles[dim]) if tiles[dim] else 1 for dim in _split(domain))
    for value, stage in domain.stages.items():
        sizes = loop_sizes(domain, stage, tiles)
        parts = part_sizes(stage.reader, stage.access, sizes)
        order = memory_order(stage.reader, stage.access, sizes)
        rows = memory_shape(stage.access, parts, order, 0)  # whole vectors are computed
        yield Remade(value, stage.domain.nests, tasks * prod(rows), STAGED)


def _at_reads(domain: Domain, parts: Mapping[Dim, int]) -> Iterator[Remade]:
    """Each read of a window is computed."""
    for value, stage in domain.stages.items():
        made = {write.value for nest in stage.domain.nests for write in nest.writes}
        reads = {
            access.value
            for nest in stage.domain.nests
            for access in nest.reads
            if access is not None and access.value not in made and len(access.indices) == value.type.rank
        }
        instructions = READ * max(len(reads) - 1, 0) + (0 if stage.access.padding is None else SELECTED)
        read = _positions(domain, stage.reader, stage.access, parts)
        yield Remade(value, stage.domain.nests, read, instructions)


def window_repeats(domain: Domain, values: Collection[ir.Value], machine: Machine) -> int:
    """How often the tasks of a kernel with a window read each element of ``values``, about; 1 at least.

    A 3 by 3 window reads it 9 times, again for each block of output channels.
    """
    parts = _parts(domain, machine)
    times = 1
    for nest in domain.nests:
        for access in nest.reads:
            if access is not None and access.value in values:
                count = _positions(domain, nest, access, parts)
                times = max(times, ceil(count / elements_or_one(access.value)))
    return times


def elements_or_one(value: ir.Value) -> int:
    """The elements of a tensor, 1 at least."""
    return max(elements_of(value), 1)


def _positions(domain: Domain, nest: Nest, access: Access, parts: Mapping[Dim, int]) -> int:
    """How many elements all tasks read by an access, one that they read several times as often."""
    sizes = [_size(dim) for dim in domain.loops(nest)]
    own = [loop for loop in range(len(sizes)) if _is_used(access, loop)]
    others = [domain.loops(nest)[loop] for loop in nest.parallels if loop not in own]
    return prod(sizes[loop] for loop in own) * prod(parts[dim] for dim in others)


def _is_used(access: Access, loop: int) -> bool:
    """Whether the places of an access depend on a loop."""
    return any(
        loop in index.loops or (index.rest is not None and loop in loops_in(index.rest))
        for index in access.indices
    )


def _parts(domain: Domain, machine: Machine) -> dict[Dim, int]:
    """How many tasks share each dim, as mlopt-schedule chooses its tiles."""
    tiles = _tiles(domain, machine)
    return {dim: ceil(_size(dim) / tiles[dim]) if tiles[dim] else 1 for dim in domain.dims}


def _tiles(domain: Domain, machine: Machine) -> Mapping[Dim, int]:
    return gpu.choose(domain, machine.name).tiles if machine.chips else cpu.choose_tiles(domain, TASKS)


def _split(domain: Domain) -> list[Dim]:
    """The dims that tasks can share between them."""
    return [dim for dim in domain.dims if dim.kind == "parallel" and not dim.whole and dim.extent != 1]


def _size(dim: Dim) -> int:
    return ASSUMED if dim.extent is None else dim.extent


def _before(domain: Domain, product: Nest) -> set[Nest]:
    """The nests that make what ``product`` reads, directly or not."""
    found: set[Nest] = set()
    todo = [product]
    while todo:
        for access in todo.pop().reads:
            made = None if access is None else domain.writer(access.value)
            if made is not None and made[0] not in found:
                found.add(made[0])
                todo.append(made[0])
    return found
