"""A cost: what is moved and computed, as numbers that know nothing of MLIR."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from ..divisions import DIVISIONS

# Ops that no processor has one fast instruction for, by what they are called in descriptions of machines.
SPECIAL = {
    "arith.divf": "div",
    **dict.fromkeys(DIVISIONS, "idiv"),
    "arith.remf": "rem",
    "math.sqrt": "sqrt",
    "math.rsqrt": "rsqrt",
    "math.cbrt": "pow",
    "math.powf": "pow",
    "math.fpowi": "pow",
    "math.ipowi": "pow",
    "math.exp": "exp",
    "math.exp2": "exp",
    "math.expm1": "expm1",
    "math.log": "log",
    "math.log2": "log",
    "math.log10": "log",
    "math.log1p": "log1p",
    "math.sin": "sin",
    "math.cos": "sin",
    "math.sincos": "sin",
    "math.tan": "tan",
    "math.sinh": "tanh",
    "math.cosh": "tanh",
    "math.tanh": "tanh",
    "math.asin": "atan",
    "math.acos": "atan",
    "math.atan": "atan",
    "math.atan2": "atan",
    "math.asinh": "log1p",
    "math.acosh": "log1p",
    "math.atanh": "log1p",
    "math.erf": "erf",
    "math.erfc": "erf",
}
FUNCTIONS = tuple(dict.fromkeys(SPECIAL.values()))


@dataclass(frozen=True)
class Cost:
    """What one call of a kernel moves and computes.

    ``elementwise`` are FLOPs by the dtype that is computed in ("f64", "f32", "f16", "bf16", "int"), but for
    those of contractions: ``contracted``, by what tensor cores call the factors that they multiply ("f16",
    "bf16", "i8", "tf32"), or by the dtype that others are computed in ("f64", "f32", "int"). ``special``
    counts the calls of each of `FUNCTIONS`, which are in neither.
    """

    bytes: int
    contracted: Mapping[str, int] = field(default_factory=dict)
    elementwise: Mapping[str, int] = field(default_factory=dict)
    special: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def flops(self) -> int:
        """One for each operation, a special function included."""
        return sum(sum(part.values()) for part in (self.contracted, self.elementwise, self.special))

    @property
    def intensity(self) -> float | None:
        """FLOPs a byte, None if no byte is moved."""
        return self.flops / self.bytes if self.bytes else None

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.bytes + other.bytes,
            _added(self.contracted, other.contracted),
            _added(self.elementwise, other.elementwise),
            _added(self.special, other.special),
        )

    def repeated(self, times: float) -> Cost:
        """The same arithmetic so many times; bytes are not moved again."""
        parts = (self.contracted, self.elementwise, self.special)
        again = ({name: round(each * times) for name, each in part.items()} for part in parts)
        return Cost(self.bytes, *again)

    def as_dict(self) -> dict[str, Any]:
        """Plain data, that `Cost` takes as keyword arguments."""
        return asdict(self)


def _added(one: Mapping[str, int], other: Mapping[str, int]) -> Mapping[str, int]:
    if not one or not other:
        return one or other
    return {name: one.get(name, 0) + other.get(name, 0) for name in {**one, **other}}
