"""The tasks of a block that takes turns: a loop over them, with the next task's reads under way."""

from __future__ import annotations

from collections.abc import Sequence

from mlir import ir

from ..layouts.access import bytes_of
from ..turns.reads import depends_on, parts_of
from .builder import Number, Truth
from .emitter import Emitter
from .fragment import Fragment, positions_of
from .grid import Loops

WORD = 4  # bytes of a register


def emit_turns(
    em: Emitter, forall: ir.Operation, block: Number, work: Sequence[ir.Operation], turns: tuple[int, int]
) -> None:
    """What the tasks share, then the first one's reads, then a loop with a task, and the next one's reads.

    Totals of what they share are made once, behind the first reads: these are on their way meanwhile.
    """
    along, most = turns
    build, loops = em.build, Loops.of(forall)
    counts = [loops.count(build, loop, em.number) for loop in range(loops.rank)]
    tasks, blocks = counts[along], build.least(counts[along], most)
    places = loops.places(build, block, [*counts[:along], blocks, *counts[along + 1 :]])
    arguments = list(forall.regions[0].blocks[0].arguments)

    def set_place(loop: int, place: Number) -> None:
        em.set_scalar(arguments[loop], build.mul(place, loops.steps[loop]))

    for loop in range(loops.rank):
        set_place(loop, places[loop])
    parts = parts_of(work, depends_on(forall, along))
    reads = [op for op in parts.ahead if op.name == "vector.transfer_read"]
    em.emit(parts.shared)

    def read(place: Number) -> list[ir.Value]:
        set_place(along, place)
        em.emit(parts.ahead)
        return [word for op in reads for word in _pack(em, _registers(em, op))]

    if parts.totals:
        # Else LLVM would ask whether there is a turn behind the totals, and make the first reads there.
        _assume(build.less(places[along], tasks))
    first = read(places[along])
    em.emit(parts.totals)
    kinds = [word.type for word in first]
    bounds = [build.number(number) for number in (places[along], tasks, blocks)]
    loop = ir.Operation.create("scf.for", kinds, [*bounds, *first], regions=1)
    body = loop.regions[0].blocks.append(build.index, *kinds)
    with ir.InsertionPoint(body), em.region(), em.shared.loop():
        place, *words = body.arguments
        following = build.add(place, blocks)
        nothing = [build.zero(kind) for kind in kinds]
        later = em.choose(build.less(following, tasks), kinds, lambda: read(following), lambda: nothing)
        set_place(along, place)
        em.emit([op for op in parts.ahead if op not in reads])
        _bind(em, reads, [value for word in words for value in _unpack(em, word)])
        em.emit(parts.others)
        ir.Operation.create("scf.yield", [], later)


def _assume(condition: Truth) -> None:
    """Tell LLVM what holds."""
    if not isinstance(condition, bool):
        bundles = {"op_bundle_sizes": ir.DenseI32ArrayAttr.get([])}
        ir.Operation.create("llvm.intr.assume", [], [condition], bundles)


def _registers(em: Emitter, read: ir.Operation) -> list[ir.Value]:
    fragment = em.fragment(read.results[0])
    return [fragment[position] for position in positions_of(em.layout(read.results[0]), read.results[0])]


def _pack(em: Emitter, values: Sequence[ir.Value]) -> list[ir.Value]:
    """The registers that a tile of small elements is loaded to: apart, each element would take one."""
    count = WORD // bytes_of(values[0].type)
    if count < 2 or len(values) % count:
        return list(values)
    return [em.build.vector(values[at : at + count]) for at in range(0, len(values), count)]


def _unpack(em: Emitter, word: ir.Value) -> list[ir.Value]:
    return em.build.elements(word) if isinstance(word.type, ir.VectorType) else [word]


def _bind(em: Emitter, reads: Sequence[ir.Operation], registers: Sequence[ir.Value]) -> None:
    """Let tiles be what was read before the task's turn."""
    rest = iter(registers)
    for op in reads:
        layout = em.layout(op.results[0])
        values = {position: next(rest) for position in positions_of(layout, op.results[0])}
        em.set_fragment(op.results[0], Fragment(layout, values))
