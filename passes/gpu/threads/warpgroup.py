"""Products of warpgroups: wgmma on tiles in shared memory, and how these lie there.

A matrix descriptor says where a tile begins, in 16 bytes, and by how much its parts are apart::

    bits 0-13: the first row's address   16-29: from a piece of rows to the next one, of rows along the result
    62-63: the swizzle                   32-45: from eight rows to the next eight

(PTX ISA 9.0, "Matrix Descriptor Format", "Strides".) An instruction's registers are tied to the values that
it adds to, all steps along the depth in one text, so that nothing comes between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mlir import ir

from ....dialects.layouts import LANE_BITS, Layout
from ...base import PassError
from ...constants import is_zero, splat_of
from ..layouts.access import WIDE
from ..layouts.instructions import COLUMNS
from ..layouts.mma import HALF
from ..layouts.warpgroup import (
    DEPTH_BYTES,
    HELD,
    PATTERN,
    PRODUCT,
    ROWS,
    WARPS,
    Factor,
    factor_in,
    factor_of_ring,
    slots_of,
)
from .arrangement import Arrangement
from .emitter import Emitter
from .fragment import Fragment, positions_of
from .late import fence
from .passage import Passage
from .registry import rule
from .written_text import write_asm

_SWIZZLES = {128: 1, 64: 2, 32: 3}
_LINE = 128  # bytes that the swizzle's pattern counts by
_WARPGROUP_BITS = LANE_BITS + WARPS.bit_length() - 1
_RESULTS = {"s8": ("s32", "r")}
_TURNABLE = ("bf16", "f16")
_HALF_DEPTH = 8  # elements of 16 bits: half of an instruction's depth


def passage_for(op: ir.Operation, ring: ir.Value, source: Layout) -> Passage:
    """How tiles that threads have as ``source`` come to where an mlopt.warpgroup_mma reads them."""
    factor = factor_of_ring(ring)
    how = arrangement_of(factor)
    if not how.adds_up(source):
        raise PassError(op, "distribute: a factor's threads and registers share bits of its rows")
    return Passage(source, source, how, None)


def arrangement_of(factor: Factor) -> Arrangement:
    """The swizzled rows of one pattern that wgmma reads, long ones in pieces."""
    piece = factor.span // factor.element_bytes
    strides = [0] * len(factor.sizes)
    strides[factor.outer], strides[factor.inner] = piece, 1
    first = (_LINE // factor.span).bit_length() - 1
    chunks = factor.span // WIDE
    return Arrangement(
        factor.sizes,
        tuple(strides),
        factor.inner,
        factor.bytes // factor.element_bytes,
        factor.element_bytes,
        rows=factor.outer,
        bits=tuple(range(first, first + chunks.bit_length() - 1)),
        piece=piece,
    )


@rule(PRODUCT, HELD)
def emit_product(em: Emitter, op: ir.Operation) -> None:
    """Begin to add the product of two slots' tiles, or of what threads hold and a slot's, to the sums."""
    _Product(em, op).emit()


@rule("mlopt.warpgroup_wait")
def emit_wait(em: Emitter, op: ir.Operation) -> None:
    """All but the last products have been made: their factors are not read any more."""
    del em
    text = f"wgmma.wait_group.sync.aligned {ir.IntegerAttr(op.attributes['pending']).value};"
    write_asm([], text, "", [])


@rule("mlopt.warpgroup_result")
def emit_result(em: Emitter, op: ir.Operation) -> None:
    """All products have been made. Their registers pass through the wait, so that nobody has them before."""
    source, layout = em.fragment(op.operands[0]), em.layout(op.results[0])
    places = positions_of(layout, op.results[0])
    values = [source[place] for place in places]
    register = "f" if isinstance(values[0].type, ir.FloatType) else "r"
    made = _tied(em, values, "wgmma.wait_group.sync.aligned 0;", register, [])
    if em.sliced:
        fence(em)
    em.set_fragment(op.results[0], Fragment(layout, dict(zip(places, made, strict=True))))


@dataclass(frozen=True)
class _Matrix:
    """A factor's first descriptor, as a value, and how far others are from it, in 16 bytes."""

    factor: Factor
    how: Arrangement
    descriptor: ir.Value
    name: str  # of a register of the text

    @property
    def operands(self) -> list[tuple[str, ir.Value]]:
        """What the text has of it, with its constraints."""
        return [("l", self.descriptor)]

    @property
    def turns(self) -> list[str]:
        """The flag that says whether its rows run along the result's."""
        return [str(int(self.factor.turned))]

    def part(self, own: int, depth: int, first: int) -> tuple[list[str], str]:
        """The text for another part's descriptor, where its operands are from number ``first`` on."""
        place = [0] * len(self.factor.sizes)
        place[self.factor.own], place[self.factor.depth] = own, depth
        further = self.how.place(place) * self.factor.element_bytes // WIDE
        return [f"add.s64 {self.name}, ${first}, {further};"], self.name


@dataclass(frozen=True)
class _Held:
    """A factor that threads hold: its words, by row and depth of the thread's first element of them."""

    words: dict[tuple[int, int], ir.Value]

    @property
    def operands(self) -> list[tuple[str, ir.Value]]:
        """What the text has of it, with its constraints."""
        return [("r", word) for word in self.words.values()]

    @property
    def turns(self) -> list[str]:
        """No flag: there is one order of registers."""
        return []

    def part(self, own: int, depth: int, first: int) -> tuple[list[str], str]:
        """The four registers of an instruction: two rows, and the same half an instruction's depth behind."""
        order = list(self.words)
        places = [(row, deep) for deep in (depth, depth + _HALF_DEPTH) for row in (own, own + HALF)]
        return [], "{" + ", ".join(f"${first + order.index(place)}" for place in places) + "}"


class _Product:
    """One mlopt.warpgroup_mma, while its instructions are written."""

    def __init__(self, em: Emitter, op: ir.Operation) -> None:
        self.em, self.op = em, op
        self.name = ir.StringAttr(op.attributes["instruction"]).value
        shape, self.kind = self.name.split(".")
        self.columns = int(shape.removeprefix(f"m{ROWS}n").split("k")[0])
        self.rows, self.across = ir.DenseI64ArrayAttr(op.attributes["result"])
        self.layout = em.layout(op.results[0])
        self.sums = list(op.operands)[-1]
        self.begins = is_zero(splat_of(self.sums))

    def emit(self) -> None:
        """The instructions of all blocks of 64 rows, as a group."""
        em = self.em
        places = positions_of(self.layout, self.op.results[0])
        rows = sorted({place[self.rows] // ROWS * ROWS for place in places})
        blocks = [
            self._place(row + high, column + beside)
            for row in rows
            for column in range(0, self.columns, COLUMNS)
            for high in (0, HALF)
            for beside in (0, 1)
        ]
        left = self._held() if self.op.name == HELD else self._matrix(0, self.rows, "a")
        right = self._matrix(1, self.across, "b")
        result, register = _RESULTS.get(self.kind, ("f32", "f"))
        text = self._text(rows, len(blocks), left, right, result)
        start = em.fragment(self.sums)
        sums = [start[place] for place in blocks]
        operands = [*left.operands, *right.operands]
        made = _tied(em, sums, text, register, operands, begins=self.begins)
        write_asm([], "wgmma.commit_group.sync.aligned;", "", [])
        em.set_fragment(self.op.results[0], Fragment(self.layout, dict(zip(blocks, made, strict=True))))

    def _text(
        self, rows: Sequence[int], count: int, left: _Matrix | _Held, right: _Matrix, result: str
    ) -> str:
        """The steps along the depth of each 64 rows; the factors' operands come behind ``count`` registers.

        The fence is here, behind the moves that tie registers, and once: a second one would wait.
        """
        each = count // len(rows)
        scales = [] if self.kind in _RESULTS else ["1", "1"]
        flags = [*scales, *(left.turns + right.turns if self.kind in _TURNABLE else ())]
        shape, factor = self.name.split(".")[0], right.factor
        lines = [".reg .b64 a, b;", ".reg .pred p;", "setp.eq.u32 p, 0, 0;", "wgmma.fence.sync.aligned;"]
        if self.begins:
            lines = [".reg .pred q;", "setp.ne.u32 q, 0, 0;", *lines]
        for number, row in enumerate(rows):
            registers = ", ".join(f"${at}" for at in range(number * each, (number + 1) * each))
            for deep in range(0, factor.sizes[factor.depth], DEPTH_BYTES // factor.element_bytes):
                before, one = left.part(row, deep, count)
                beside, other = right.part(0, deep, count + len(left.operands))
                adds = "q" if self.begins and not deep else "p"
                lines += [
                    *before,
                    *beside,
                    f"wgmma.mma_async.sync.aligned.{shape}.{result}.{self.kind}.{self.kind} "
                    f"{{{registers}}}, {', '.join([one, other, adds, *flags])};",
                ]
        return "{ " + " ".join(lines) + " }"

    def _held(self) -> _Held:
        """The words of what threads hold, two neighbours along the depth each."""
        build, tile = self.em.build, self.op.operands[0]
        own, depth, _ = ir.DenseI64ArrayAttr(self.op.attributes["left"])
        values, word = self.em.fragment(tile), ir.IntegerType.get_signless(32)
        words = {}
        for place in positions_of(self.em.layout(tile), tile):
            if place[depth] % 2 == 0:
                beside = tuple(at + (dim == depth) for dim, at in enumerate(place))
                pair = build.vector([values[place], values[beside]])
                cast = build.op("vector.bitcast", [pair], ir.VectorType.get([1], word))
                (words[place[own], place[depth]],) = build.elements(cast)
        return _Held(words)

    def _place(self, row: int, column: int) -> tuple[int, ...]:
        place = [0] * self.layout.rank
        place[self.rows], place[self.across] = row, column
        return tuple(place)

    def _matrix(self, number: int, dim: int, name: str) -> _Matrix:
        """A factor in a slot, from the warpgroup's first row or column on."""
        em, build, factor = self.em, self.em.build, factor_in(self.op, number)
        how = arrangement_of(factor)
        value, slot = slots_of(self.op)[number]
        word, long = ir.IntegerType.get_signless(32), ir.IntegerType.get_signless(64)
        pointer = em.rings[value].slot(em, em.number(slot))
        address = build.op("llvm.ptrtoint", [pointer], word)
        steps = [step[dim] if bit >= _WARPGROUP_BITS else 0 for bit, step in enumerate(self.layout.bits)]
        if any(steps):
            place = [[step if at == factor.own else 0 for at in range(len(factor.sizes))] for step in steps]
            moved = tuple((how.place(each) * factor.element_bytes,) for each in place)
            own = em.thread(Layout(1, (), moved), 0)
            address = build.op("arith.addi", [address, build.word(own)])
        units = build.op("arith.shrui", [address, build.constant(word, WIDE.bit_length() - 1)])
        wide = build.op("arith.extui", [units], long)
        fields = build.op("arith.ori", [wide, build.constant(long, _fields(factor))])
        return _Matrix(factor, how, fields, name)


def _fields(factor: Factor) -> int:
    """A descriptor's bits beside its address, as a signed number."""
    pattern = factor.span * PATTERN
    piece = factor.span * factor.sizes[factor.outer]
    leading = piece if factor.turned else WIDE  # without a meaning where rows run along the depth
    bits = _SWIZZLES[factor.span] << 62 | pattern // WIDE << 32 | leading // WIDE << 16
    return bits - (1 << 64) if bits >> 63 else bits


def _tied(
    em: Emitter,
    values: Sequence[ir.Value],
    text: str,
    register: str,
    operands: Sequence[tuple[str, ir.Value]],
    *,
    begins: bool = False,
) -> list[ir.Value]:
    """What becomes of values whose registers an instruction reads and writes.

    Other operands come first, each with its constraint. ``begins``: the registers are written only, whatever
    the values.
    """
    kind = values[0].type
    count = len(values)
    tied = [] if begins else list(values)
    kinds = [constraint for constraint, _ in operands]
    constraints = [f"={register}"] * count + kinds + [str(at) for at in range(len(tied))]
    struct = ir.Type.parse(f"!llvm.struct<({', '.join([str(kind)] * count)})>")
    others = [value for _, value in operands]
    made = write_asm([struct], text, ",".join(constraints), [*others, *tied]).results[0]
    return [
        em.build.op("llvm.extractvalue", [made], kind, {"position": ir.DenseI64ArrayAttr.get([at])})
        for at in range(count)
    ]
