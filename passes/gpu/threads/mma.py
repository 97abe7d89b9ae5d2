"""Products on tensor cores: mma.sync on the registers of a warp's fragments, a step of their depth each."""

from __future__ import annotations

from collections.abc import Sequence

from mlir import ir

from ....dialects.layouts import Position
from ..layouts.instructions import COLUMNS, ROWS, TF32, Instruction, instruction_of
from ..layouts.mma import beside_of, half_of
from ..layouts.roles import Roles, Side, loop_size, roles_of
from ..layouts.tiles import contract_loops
from .builder import Builder
from .emitter import Emitter, build_bits
from .fragment import Fragment, positions_of

_WORD = 32
_SUMS = 4  # of a lane, of an instruction
TwoWords = tuple[ir.Value, ir.Value]
Offsets = dict[Side | int | None, int]  # by what they go along


def emit_mma(em: Emitter, op: ir.Operation) -> None:
    """The product's fragment: each block of 16 x 8 is added to once for each step of the depth."""
    _Product(em, op).emit()


class _Product:
    """One vector.contract, while its instructions are written."""

    def __init__(self, em: Emitter, op: ir.Operation) -> None:
        instruction, roles = instruction_of(op), roles_of(op)
        assert instruction is not None and isinstance(roles, Roles), "the layouts have asked"
        self.em, self.op = em, op
        self.instruction, self.roles = instruction, roles
        self.kind = ir.VectorType(op.results[0].type).element_type
        self.made = ir.Type.parse(f"!llvm.struct<({', '.join([str(self.kind)] * _SUMS)})>")
        self.attributes = _attributes(instruction, self.kind)
        self.parts = [{"position": ir.DenseI64ArrayAttr.get([number])} for number in range(_SUMS)]
        self.loops, self.depth = contract_loops(op), loop_size(op, roles.depth)
        self.factors = [em.fragment(operand) for operand in list(op.operands)[:2]]
        self.layout = em.layout(op.results[0])
        self.half = half_of(self.layout, self.roles.rows, self.loops[2])
        self.beside = beside_of(self.layout, self.roles.columns, self.loops[2])
        start = em.fragment(op.operands[2])
        self.values = {position: start[position] for position in positions_of(self.layout, op.results[0])}
        self.words: dict[tuple[int, int, int], TwoWords] = {}  # by factor, place on its side, and depth
        self.sums: dict[tuple[int, int], ir.Value] = {}  # by rows and columns, also of those that nobody has

    def emit(self) -> None:
        """The instructions, and the sums that the lane's positions have."""
        rows = sorted({at - at % ROWS for at in self._places(self.roles.rows)})
        wide = COLUMNS * self.beside
        places = self._places(self.roles.columns)
        columns = sorted({at - at % wide + at % self.beside for at in places})
        for step in range(0, self.depth, self.instruction.depth):
            for column in columns:
                for row in rows:
                    self._block(row, column, step)
        for (row, column), made in reversed(self.sums.items()):
            if (position := self._result(row, column)) in self.values:
                self.values[position] = made
        self.em.set_fragment(self.op.results[0], Fragment(self.layout, self.values))

    def _block(self, row: int, column: int, step: int) -> None:
        """One instruction."""
        far = 4 * self.instruction.packed
        high, deeper = (row, row + self.half), (step, step + far)
        above, below = (self._words(0, self.roles.rows, at, deeper) for at in high)
        left = [above[0], below[0], above[1], below[1]]
        right = self._words(1, self.roles.columns, column, deeper)
        places = [(at, beside) for at in high for beside in (column, column + self.beside)]
        total = [self.sums[place] if place in self.sums else self._start(place) for place in places]
        factors, made = [*left, *right, *total], [self.made]
        together = ir.Operation.create("llvm.inline_asm", made, factors, self.attributes).results[0]
        for place, where in zip(places, self.parts, strict=True):
            self.sums[place] = self.em.build.op("llvm.extractvalue", [together], self.kind, where)

    def _start(self, place: tuple[int, int]) -> ir.Value:
        """What is added to; zero beyond the result."""
        position = self._result(*place)
        return self.values[position] if position in self.values else self.em.build.constant(self.kind, 0)

    def _words(self, number: int, side: Side, at: int, deeper: tuple[int, int]) -> TwoWords:
        """Two registers of a factor at a place on its side: neighbours along the depth each."""
        key = number, at, deeper[0]
        if key not in self.words and self.instruction.kind == TF32:
            self._round(number, side, at)
        if key not in self.words:
            self.words[key] = self._word(number, side, at, deeper[0]), self._word(number, side, at, deeper[1])
        return self.words[key]

    def _word(self, number: int, side: Side, at: int, deep: int) -> ir.Value:
        """One register of a factor: as it was loaded, or packed."""
        places = [{side: at, self.roles.depth: deep + step} for step in range(self.instruction.packed)]
        if self.depth % self.instruction.depth == 0 and not self.factors[number].uniform:
            loaded = self.factors[number].word([self._position(number, place) for place in places])
            if loaded is not None:
                return loaded
        return self._packed([self._element(number, place) for place in places])

    def _round(self, number: int, side: Side, at: int) -> None:
        """Every register of a factor of f32 at a place on its side, rounded: all go into the same results."""
        steps = range(0, self.depth, self.instruction.depth)
        depths = [deep for step in steps for deep in (step, step + 4)]
        values = [self._element(number, {side: at, self.roles.depth: deep}) for deep in depths]
        words = _rounded(self.em.build, values)
        for which, step in enumerate(steps):
            self.words[number, at, step] = words[2 * which], words[2 * which + 1]

    def _packed(self, values: Sequence[ir.Value]) -> ir.Value:
        build = self.em.build
        vector = build.vector(values)
        word = ir.IntegerType.get_signless(_WORD)
        return build.elements(build.op("vector.bitcast", [vector], ir.VectorType.get([1], word)))[0]

    def _element(self, number: int, at: Offsets) -> ir.Value:
        """An element of a factor; zero beyond its depth."""
        operand = self.op.operands[number]
        fragment, build = self.factors[number], self.em.build
        nothing = build.constant(self.em.element(operand.type), 0)
        size, deep = self.depth, at[self.roles.depth]
        position = self._position(number, at)
        if deep >= size or (not fragment.uniform and position not in fragment.values):
            return nothing
        value = fragment[position]
        if size % self.instruction.depth == 0:
            return value
        return self._within(value, nothing, deep, size)

    def _within(self, value: ir.Value, nothing: ir.Value, deep: int, size: int) -> ir.Value:
        """The value where the lane's place along the depth is within ``size``."""
        em, build = self.em, self.em.build
        packed = self.instruction.packed
        if deep + 3 * packed < size:
            return value
        lane = em.at_entry(
            ("depth", packed),
            lambda: build.mul(build_bits(em, 0, 2), packed),
        )
        inside = em.once(("deep", packed, deep, size), lambda: build.less(build.add(lane, deep), size))
        return build.op("arith.select", [build.truth(inside), value, nothing], value.type)

    def _places(self, side: Side) -> set[int]:
        """The registers' places along the result's rows, or columns."""
        dims = [self.loops[2].index(loop) for loop in side.loops]
        return {side.place([position[dim] for dim in dims]) for position in self.values}

    def _result(self, row: int, column: int) -> Position:
        return self._position(2, {self.roles.rows: row, self.roles.columns: column})

    def _position(self, number: int, at: Offsets) -> Position:
        found: dict[int | None, int] = {}
        for along, offset in at.items():
            if isinstance(along, Side):
                found.update(along.offsets(offset).items())
            else:
                found[along] = offset
        return tuple(found.get(loop, 0) for loop in self.loops[number])


def _rounded(build: Builder, factors: Sequence[ir.Value]) -> list[ir.Value]:
    """The nearest numbers of 11 bits: half of the last one is added, and the instruction cuts off the others.

    ``factors``, an even number of f32, go into the same results. From the first pair on that has a NaN, of
    which the sum might be none, nothing is added, and the last factor becomes a NaN that is still one when
    bits are cut off: all of those results are NaN then. Three instructions for two factors, and one for all
    of them, where cvt.rna has four for two.
    """
    count = len(factors)
    lines = [".reg .pred numbers; setp.eq.u32 numbers, 0, 0;"]
    for one in range(0, count, 2):
        lines.append(f"setp.num.and.f32 numbers, ${count + one}, ${count + one + 1}, numbers;")
        for at in (one, one + 1):
            lines.append(f"mov.b32 ${at}, ${count + at}; @numbers add.s32 ${at}, ${at}, 4096;")
    lines.append(f"@!numbers mov.b32 ${count - 1}, 0x7fffffff;")
    attributes = {
        "asm_string": ir.StringAttr.get(f"{{ {' '.join(lines)} }}"),
        "constraints": ir.StringAttr.get(",".join(["=&r"] * count + ["f"] * count)),
    }
    word = ir.IntegerType.get_signless(_WORD)
    made = ir.Type.parse(f"!llvm.struct<({', '.join(['i32'] * count)})>")
    words = ir.Operation.create("llvm.inline_asm", [made], factors, attributes).results[0]
    places = ({"position": ir.DenseI64ArrayAttr.get([at])} for at in range(count))
    return [build.op("llvm.extractvalue", [words], word, place) for place in places]


def _attributes(instruction: Instruction, total: ir.Type) -> dict[str, ir.Attribute]:
    """As text with side effects, since all lanes of a warp must be there.

    LLVM would sink nvvm.mma.sync into the branch of the lanes that store its result.
    """
    is_float = isinstance(total, ir.FloatType)
    sums, kind = ("f32" if is_float else "s32"), instruction.kind
    register = "f" if is_float else "r"
    text = (
        f"mma.sync.aligned.m{ROWS}n{COLUMNS}k{instruction.depth}.row.col.{sums}.{kind}.{kind}.{sums} "
        "{$0, $1, $2, $3}, {$4, $5, $6, $7}, {$8, $9}, {$10, $11, $12, $13};"
    )
    constraints = ",".join([*[f"={register}"] * 4, *["r"] * 6, *[register] * 4])
    return {
        "asm_string": ir.StringAttr.get(text),
        "constraints": ir.StringAttr.get(constraints),
        "has_side_effects": ir.UnitAttr.get(),
    }
