"""The ops that reductions combine by: as a thread does them, and how values cross lanes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce

from mlir import ir

from ...combining import LOGADDEXP, are_exact, neutral_of, op_of
from .builder import Builder

_FULL = -1
_LAST_LANE = 31
_EQUAL = 1  # arith.cmpf's oeq
_WORD = 32


def combine(build: Builder, kind: str, left: ir.Value, right: ir.Value) -> ir.Value:
    """One step."""
    if kind == LOGADDEXP:
        return _log_add_exp(build, left, right)
    element = left.type.element_type if isinstance(left.type, ir.VectorType) else left.type
    return build.op(op_of(kind, element), [left, right])


def in_words(build: Builder, kind: str, values: Sequence[Sequence[ir.Value]]) -> list[list[ir.Value]] | None:
    """What there is of as many neighbours as a word holds, as short vectors; None if one fills a word.

    ``values``: for each element of a result what is to be combined to it. In words they cross lanes by as
    many shuffles as if they were one.
    """
    element, count = values[0][0].type, len(values[0])
    # Two half floats are combined by one instruction, where that gives one of them.
    halves = isinstance(element, ir.F16Type | ir.BF16Type) and are_exact(kind, element)
    if not halves and not (isinstance(element, ir.IntegerType) and element.width in (8, 16)):
        return None
    each = _WORD // element.width
    if len(values) % each or any(len(some) != count for some in values):
        return None
    groups = [values[at : at + each] for at in range(0, len(values), each)]
    return [[build.vector(beside) for beside in zip(*group, strict=True)] for group in groups]


def _log_add_exp(build: Builder, left: ir.Value, right: ir.Value) -> ir.Value:
    """The logarithm of the sum of two exponentials, neither of which is computed; infinities stay."""
    high, low = build.op("arith.maximumf", [left, right]), build.op("arith.minimumf", [left, right])
    predicate = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), _EQUAL)
    same = build.op("arith.cmpf", [high, low], ir.IntegerType.get_signless(1), {"predicate": predicate})
    apart = build.op("arith.subf", [low, high])
    apart = build.op("arith.select", [same, build.constant(apart.type, 0.0), apart], apart.type)
    return build.op("arith.addf", [high, build.op("math.log1p", [build.op("math.exp", [apart])])])


def neutral(build: Builder, kind: str, element: ir.Type) -> ir.Value:
    """The element that changes nothing, as a value."""
    return build.constant(element, neutral_of(kind, element))


def tree(build: Builder, kind: str, values: list[ir.Value]) -> ir.Value:
    """All of them, neighbours first: short chains, and the same order whoever computes it."""
    while len(values) > 1:
        pairs = [combine(build, kind, *values[at : at + 2]) for at in range(0, len(values) - 1, 2)]
        values = pairs + values[2 * len(pairs) :]
    return values[0]


def chain(build: Builder, kind: str, values: Sequence[ir.Value]) -> ir.Value:
    """All of them, one after the other: one of them is enough at a time, for few registers."""
    return reduce(partial(combine, build, kind), values)


def shuffle(build: Builder, value: ir.Value, lanes: int) -> ir.Value:
    """The value of the lane whose number differs in the bits ``lanes``."""
    return _moved(build, value, "bfly", lanes, _LAST_LANE)


def from_beside(build: Builder, value: ir.Value, side: int) -> ir.Value:
    """The value of the lane before (``side`` is -1), or behind; of the first, or last, lane its own."""
    return _moved(build, value, "up", 1, 0) if side < 0 else _moved(build, value, "down", 1, _LAST_LANE)


def _moved(build: Builder, value: ir.Value, how: str, lanes: int, bound: int) -> ir.Value:
    kind = value.type
    words = to_words(build, value)
    word = ir.IntegerType.get_signless(32)
    attributes = {"kind": ir.Attribute.parse(f"#nvvm<shfl_kind {how}>")}
    numbers = [build.constant(word, number) for number in (_FULL, lanes, bound)]
    moved = [
        build.op("nvvm.shfl.sync", [numbers[0], one, *numbers[1:]], one.type, attributes) for one in words
    ]
    return from_words(build, moved, kind)


def to_words(build: Builder, value: ir.Value) -> list[ir.Value]:
    """A scalar, or a vector that a word holds, as values of 32 bits."""
    kind, word = value.type, ir.IntegerType.get_signless(_WORD)
    if isinstance(kind, ir.VectorType):
        return [build.op("llvm.bitcast", [value], word)]
    width = kind.width
    if width == 32:
        return [value]
    integer = ir.IntegerType.get_signless(width)
    if kind != integer:
        value = build.op("arith.bitcast", [value], integer)
    if width < 32:
        return [build.op("arith.extui", [value], word)]
    high = build.op("arith.shrui", [value, build.constant(integer, 32)])
    return [build.op("arith.trunci", [part], word) for part in (value, high)]


def from_words(build: Builder, words: list[ir.Value], kind: ir.Type) -> ir.Value:
    """What `to_words` took apart."""
    if isinstance(kind, ir.VectorType):
        return build.op("llvm.bitcast", [words[0]], kind)
    width = kind.width
    if width == 32:
        return words[0]
    integer = ir.IntegerType.get_signless(width)
    if width < 32:
        value = build.op("arith.trunci", [words[0]], integer)
    else:
        low, high = (build.op("arith.extui", [part], integer) for part in words)
        high = build.op("arith.shli", [high, build.constant(integer, 32)])
        value = build.op("arith.ori", [low, high])
    return value if kind == integer else build.op("arith.bitcast", [value], kind)
