"""Every other element, or every fourth, of consecutive tasks: picked from whole accesses, and exchanged.

Of two lanes the one has what the first load brings for both, the other what the second load does (the picture
is in `layouts/stepped.py`). So a warp's groups of tasks are not in the order of its lanes: of 32 the even
lanes have the first 16. What a warp stores is the same.

What is picked of 16 bytes are two words, of every fourth element one. Each of a thread's loads has the part
that its lane's number says of some group's; in as many steps as that number has bits, two lanes exchange what
the other one needs, and the thread has all parts of its own group.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from mlir import ir

from ....dialects.layouts import WARP
from ..layouts.consecutive import Shift
from ..layouts.stepped import Stepped
from .builder import Builder, Number
from .combine import shuffle
from .emitter import Buffer, Emitter
from .shifted import WORD

_BITS = 8  # of a byte
_LONG = 8  # bytes


def own_group(build: Builder, group: Number, lanes: int) -> Number:
    """The group whose tasks are a thread's, which is the ``group``th, if so many ``lanes`` exchange."""
    if lanes == 1:
        return group
    return loaded_group(build, group, lanes, build.rem(group, lanes))


def loaded_group(build: Builder, group: Number, lanes: int, load: Number) -> Number:
    """The group of which the ``group``th thread's load of that number brings a part."""
    lane = build.rem(group, WARP)
    first = build.add(build.sub(group, lane), build.div(lane, lanes))
    return build.add(first, build.mul(load, WARP // lanes))


def load_picked(
    em: Emitter, shift: Shift, part: Number, places: Sequence[Number], partial: bool
) -> list[list[ir.Value]]:
    """What is wanted of the accesses that a thread loads: the ``part``th of the groups at ``places`` each.

    ``partial``: whether the last group has fewer tasks: then accesses behind the last one in memory are that.
    """
    build, access, stepped = em.build, shift.access, shift.stepped
    assert stepped is not None, "what follows each other is no group of parts"
    buffer, size = em.buffers[access.buffer], access.element_bytes
    further = build.sub(build.mul(part, stepped.wide), stepped.first)
    last = prod(ir.MemRefType(access.buffer.type).shape) - stepped.wide
    em.wide, found = True, []
    for start in places:
        place = build.add(start, further)
        pointer = build.offset(buffer.pointer, buffer.element, build.least(place, last) if partial else place)
        found.append(_load(build, buffer, stepped, pointer, size))
    return found


def _load(build: Builder, buffer: Buffer, stepped: Stepped, pointer: ir.Value, size: int) -> list[ir.Value]:
    """What is wanted of an access.

    It comes as longs, which PTX that LLVM does not read takes apart: from words LLVM would make several loads
    of some dtypes, and ptxas a load for each word if every other one is wanted.
    """
    wide = stepped.wide * size
    longs = build.load(pointer, _integer(_LONG), wide // _LONG, wide, constant=True)
    kind = ir.VectorType.get([WORD // size], buffer.element)
    words = [word for long in longs for word in _halves(build, long)]
    elements = [each for word in words for each in build.elements(build.op("llvm.bitcast", [word], kind))]
    return elements[stepped.first :: stepped.step]


def _halves(build: Builder, long: ir.Value) -> list[ir.Value]:
    """The words of a long."""
    attributes = {
        "asm_string": ir.StringAttr.get("mov.b64 {$0, $1}, $2;"),
        "constraints": ir.StringAttr.get("=r,=r,l"),
    }
    both = build.op("llvm.inline_asm", [long], ir.Type.parse("!llvm.struct<(i32, i32)>"), attributes)
    places = ({"position": ir.DenseI64ArrayAttr.get([at])} for at in range(2))
    return [build.op("llvm.extractvalue", [both], _integer(WORD), place) for place in places]


def _integer(size: int) -> ir.Type:
    """That of so many bytes."""
    return ir.IntegerType.get_signless(_BITS * size)


def exchanged(em: Emitter, picked: Sequence[Sequence[ir.Value]]) -> list[ir.Value]:
    """What a thread's tasks read, from what the lanes have picked of each load."""
    if len(picked) == 1:
        return list(picked[0])
    kind = picked[0][0].type
    words = [_in_words(em.build, part) for part in picked]
    lanes, bit = len(words), 1
    while bit < lanes:
        has = _has_bit(em, bit)
        for one in range(lanes):
            if not one & bit:
                words[one], words[one | bit] = _traded(em.build, has, bit, words[one], words[one | bit])
        bit *= 2
    return _in_elements(em.build, [word for part in words for word in part], kind)


def _traded(
    build: Builder, has: ir.Value, bit: int, one: Sequence[ir.Value], other: Sequence[ir.Value]
) -> tuple[list[ir.Value], list[ir.Value]]:
    """Both, one of them from the lane whose number differs in ``bit``: ``one`` if the thread's ``has`` it."""

    def pick(holds: ir.Value, first: ir.Value, second: ir.Value) -> ir.Value:
        return build.op("arith.select", [holds, first, second], first.type)

    mine, theirs = list[ir.Value](), list[ir.Value]()
    for first, second in zip(one, other, strict=True):
        came = shuffle(build, pick(has, first, second), bit)
        mine.append(pick(has, came, first))
        theirs.append(pick(has, second, came))
    return mine, theirs


def _has_bit(em: Emitter, bit: int) -> ir.Value:
    """Whether the lane's number has a bit."""
    build, thread = em.build, em.thread_number

    def ask() -> ir.Value:
        masked = build.op("arith.andi", [thread, build.constant(thread.type, bit)])
        return build.equal(masked, build.constant(thread.type, bit))

    return em.at_entry(("lane's bit", bit), ask)


def _in_words(build: Builder, values: Sequence[ir.Value]) -> list[ir.Value]:
    """Some elements, in memory whole words, as these."""
    vector = build.vector(values)
    count = len(values) * values[0].type.width // (_BITS * WORD)
    kind = ir.VectorType.get([count], _integer(WORD))
    return build.elements(build.op("vector.bitcast", [vector], kind))


def _in_elements(build: Builder, words: Sequence[ir.Value], kind: ir.Type) -> list[ir.Value]:
    """Words as elements."""
    count = len(words) * _BITS * WORD // kind.width
    return build.elements(build.op("vector.bitcast", [build.vector(words)], ir.VectorType.get([count], kind)))
