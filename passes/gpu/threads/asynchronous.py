"""Tiles that are copied to shared memory ahead of their use: cp.async, 16 bytes at once, and waits for them.

Where a thread has not 16 bytes of neighbours that begin at a multiple of 16, as in a kernel's unaligned twin,
a copy is loads and stores: right, but the thread waits for what it loads. So it is where f32 is rounded to
TF32 on the way, as no cp.async does: warpgroups would cut its last bits off.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from mlir import ir
from mlir.dialects import arith, nvvm

from ....dialects.attributes import LAYOUT
from ....dialects.layouts import Layout, Position
from ..layouts.access import COPIES, WIDE, access_of, bytes_of
from ..layouts.warpgroup import HELD, PATTERN_BYTES, PRODUCT, is_rounded
from .builder import Number
from .emitter import Emitter
from .flat import Flat, Renamed, flat_of
from .fragment import Fragment, positions_of
from .memory import Place, place_of
from .passage import Passage, find_passage
from .read import load_positions
from .registry import rule
from .shared import ALIGNMENT, Region
from .warpgroup import passage_for

_GLOBAL = "!llvm.ptr<1>"


@dataclass(frozen=True)
class Ring:
    """Places for a few tiles in shared memory, which take turns; tiles of several dims may lie ``flat``.

    ``rounds``: f32 becomes the nearest TF32 on the way.
    """

    region: Region
    passage: Passage
    flat: Flat | None = None
    rounds: bool = False

    def slot(self, em: Emitter, number: Number) -> ir.Value:
        """The address of a slot."""
        byte = ir.IntegerType.get_signless(8)
        return em.build.offset(em.shared.pointer(self.region), byte, em.build.mul(number, self.passage.bytes))

    def names(self, layout: Layout, tile: ir.Value) -> dict[Position, Position]:
        """What the passage calls the positions that a thread has of a tile."""
        positions = positions_of(layout, tile)
        return {each: each if self.flat is None else self.flat.position(each) for each in positions}


@rule("mlopt.shared_ring")
def emit_ring(em: Emitter, op: ir.Operation) -> None:
    """Bytes for all slots, until they are released."""
    users = [use.owner for use in op.results[0].uses]
    copy = next(user for user in users if user.name in COPIES)  # all are alike
    access = access_of(copy.operands[0].owner.operation)
    source = _layout(access.op)
    kind = ir.MemRefType(op.results[0].type)
    slots, *sizes = kind.shape
    product = next((user for user in users if user.name in (PRODUCT, HELD)), None)
    flat, rounds = None, product is not None and is_rounded(op.results[0])
    if product is not None:
        passage, alignment = passage_for(product, op.results[0], source), PATTERN_BYTES
    else:
        target = _layout(next(user for user in users if user.name == "mlopt.shared_tile"))
        room, alignment = em.shared.room // slots, ALIGNMENT
        inner, size = access.contiguous(), bytes_of(kind.element_type)
        flat = flat_of(tuple(sizes), inner, source, target)
        if flat is None:
            passage = find_passage(source, target, tuple(sizes), size, room, inner)
        else:
            passage = find_passage(flat.layout(source), flat.layout(target), flat.rows, size, room, 1)
    region = em.shared.alloc(slots * passage.bytes, alignment)
    em.shared.writes(region)
    em.rings[op.results[0]] = Ring(region, passage, flat, rounds)


@rule("mlopt.async_copy")
def emit_copy(em: Emitter, op: ir.Operation) -> None:
    """Begin to copy a tile to a slot, if the loop has that step."""
    tile, value, slot, at, end = list(op.operands)[:5]
    read, ring = tile.owner.operation, em.rings[value]
    base, passage, source = ring.slot(em, em.number(slot)), ring.passage, _layout(read)
    place = place_of(em, access_of(read), source)
    names = ring.names(source, tile)

    def copy() -> list[ir.Value]:
        if _can_bypass(place, ring):
            own = {name: position for position, name in names.items()}
            for acts, positions in passage.stores(em, own):
                pairs = [(own[each], each) for each in positions]
                em.choose(acts, [], partial(_bypass, place, passage, base, pairs))
        else:
            acts = em.only(source.copies)
            loaded = load_positions(place, list(names), acts)
            values = {each: _rounded(loaded[each]) if ring.rounds else loaded[each] for each in names}
            passage.store(em, Fragment(passage.source, {names[each]: values[each] for each in names}), base)
        return []

    em.choose(em.build.less(em.number(at), em.number(end)), [], copy)


@rule("mlopt.async_commit")
def emit_commit(_: Emitter, __: ir.Operation) -> None:
    """What has been begun since the last commit is waited for together."""
    ir.Operation.create("nvvm.cp.async.commit.group")


@rule("mlopt.async_wait")
def emit_wait(em: Emitter, op: ir.Operation) -> None:
    """All copies but those of the last commits have arrived, those of all threads."""
    pending = ir.IntegerAttr(op.attributes["pending"]).value
    count = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), pending)
    ir.Operation.create("nvvm.cp.async.wait.group", attributes={"n": count})
    if "proxy" in op.attributes:
        fence_proxies()
    em.shared.barrier()


def fence_proxies() -> None:
    """What a thread did in shared memory comes before what wgmma and TMA do there behind the next barrier."""
    kind, space = "#nvvm.proxy_kind<async.shared>", "#nvvm.shared_space<cta>"
    fence = {"kind": ir.Attribute.parse(kind), "space": ir.Attribute.parse(space)}
    ir.Operation.create("nvvm.fence.proxy", attributes=fence)


@rule("mlopt.shared_tile")
def emit_tile(em: Emitter, op: ir.Operation) -> None:
    """What the thread wants of the tile in a slot."""
    value, slot = op.operands
    ring, result = em.rings[value], op.results[0]
    passage, layout = ring.passage, _layout(op)
    names = ring.names(layout, result)
    values = passage.load(em, ring.slot(em, em.number(slot)), list(names.values()), em.element(result.type))
    em.set_fragment(result, Fragment(layout, Renamed(values, names)))


@rule("mlopt.release")
def emit_release(em: Emitter, op: ir.Operation) -> None:
    """Others may have the bytes, once nobody reads them any more."""
    region = em.rings[op.operands[0]].region
    em.shared.reads(region)
    em.shared.free(region)


def _layout(op: ir.Operation) -> Layout:
    (text,) = LAYOUT.get(op) or ("",)
    return Layout.parse(text)


def _rounded(value: ir.Value) -> ir.Value:
    """The nearest TF32, ties to even, as boxes have it; a NaN is one without its last bits, too."""
    word = nvvm.convert_float_to_tf32(ir.IntegerType.get_signless(32), value, rnd=nvvm.FPRoundingMode.RN)
    return arith.bitcast(value.type, word)


def _can_bypass(place: Place, ring: Ring) -> bool:
    """Whether bytes can go from memory to shared memory without a thread's registers."""
    if ring.rounds:
        return False
    size, passage = place.access.element_bytes, ring.passage
    wide = place.width * size == WIDE and passage.how.width(passage.source) * size == WIDE
    along = passage.how.inner
    inner = along if ring.flat is None else ring.flat.inner if along == 1 else None
    alike = inner == place.inner and not place.may_straddle()
    return wide and alike and not place.buffer.is_shared


def _bypass(
    place: Place, passage: Passage, base: ir.Value, pairs: list[tuple[Position, Position]]
) -> list[ir.Value]:
    """Copies of 16 bytes, by their places in the tile and in shared memory; zeros beyond what there is."""
    em, element = place.em, place.buffer.element
    build, target = em.build, passage.pointers(em, passage.source, base, element)
    count = ir.IntegerType.get_signless(32)
    for position, to in pairs:
        inside = place.inside(position, place.width, writes=False)
        source = build.op("llvm.addrspacecast", [place.pointer(position)], ir.Type.parse(_GLOBAL))
        operands = [target(to), source]
        if inside is not True:
            sizes = [build.constant(count, WIDE), build.constant(count, 0)]
            operands.append(build.op("arith.select", [build.truth(inside), *sizes], count))
        attributes = {
            "size": ir.IntegerAttr.get(count, WIDE),
            "modifier": ir.Attribute.parse("#nvvm<load_cache_modifier cg>"),
        }
        ir.Operation.create("nvvm.cp.async.shared.global", [], operands, attributes)
    return []
