"""What a PTX module is made of: types, variables, instructions, functions."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


class Type(NamedTuple):
    """A fundamental type: ``kind`` is b, u, s, f or p; ``dtype`` how numpy computes with it.

    Formats that numpy lacks (bf16, tf32, packed ones) have the unsigned integer of their width.
    """

    name: str
    bits: int
    kind: str
    dtype: np.dtype[Any]

    @property
    def raw(self) -> np.dtype[Any]:
        """The unsigned integer in which a register of this width is kept."""
        return RAW[self.bits]

    @property
    def bytes(self) -> int:
        """The size in memory."""
        return max(1, self.bits // 8)


RAW: dict[int, np.dtype[Any]] = {
    1: np.dtype(np.bool_),
    8: np.dtype(np.uint8),
    16: np.dtype(np.uint16),
    32: np.dtype(np.uint32),
    64: np.dtype(np.uint64),
}


def _types() -> dict[str, Type]:
    table = {"pred": Type("pred", 1, "p", RAW[1])}
    for bits in (8, 16, 32, 64):
        table[f"b{bits}"] = Type(f"b{bits}", bits, "b", RAW[bits])
        table[f"u{bits}"] = Type(f"u{bits}", bits, "u", RAW[bits])
        table[f"s{bits}"] = Type(f"s{bits}", bits, "s", np.dtype(f"i{bits // 8}"))
    for name, bits in (("f16", 16), ("f32", 32), ("f64", 64)):
        table[name] = Type(name, bits, "f", np.dtype(f"f{bits // 8}"))
    for name, bits in (("bf16", 16), ("tf32", 32), ("f16x2", 32), ("bf16x2", 32), ("f32x2", 64)):
        table[name] = Type(name, bits, "f", RAW[bits])
    for name in ("e4m3x2", "e5m2x2"):
        table[name] = Type(name, 16, "f", RAW[16])
    for name in ("u16x2", "s16x2"):
        table[name] = Type(name, 32, name[0], RAW[32])
    table["b128"] = Type("b128", 128, "b", RAW[64])
    return table


TYPES = _types()


@dataclass(frozen=True, slots=True)
class Name:
    """A register, a variable, a label or a function, with a constant added to its address."""

    text: str
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Number:
    """An integer literal, or a float's; ``bits`` are those that a literal of the form 0f or 0d spells."""

    value: int | float
    bits: int | None = None


@dataclass(frozen=True, slots=True)
class Not:
    """A negated predicate."""

    name: Name


@dataclass(frozen=True, slots=True)
class Memory:
    """An address in brackets; ``more`` has what follows the first comma."""

    base: Name | Number
    more: tuple[Operand, ...] = ()


@dataclass(frozen=True, slots=True)
class Vector:
    """Operands in braces."""

    items: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """``a|p``: two destinations."""

    first: Operand
    second: Operand


@dataclass(frozen=True, slots=True)
class Arguments:
    """Operands in parentheses, of a call."""

    items: tuple[Operand, ...]


Operand = Name | Number | Not | Memory | Vector | Pair | Arguments


class Location(NamedTuple):
    """A source line, from ``.loc``."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(slots=True)
class Instruction:
    """One instruction: ``add.rn.f32`` has ``opcode`` add and ``mods`` (rn, f32)."""

    opcode: str
    mods: tuple[str, ...]
    operands: tuple[Operand, ...]
    guard: Name | Not | None
    line: int
    text: str
    scope: int
    location: Location | None

    def has(self, *mods: str) -> bool:
        """Whether any of these modifiers is there."""
        own = self.mods
        for mod in mods:  # noqa: SIM110 (an any() takes three times as long)
            if mod in own:
                return True
        return False

    @property
    def types(self) -> tuple[Type, ...]:
        """The types among the modifiers, in order."""
        return types_in(self.mods)


@cache
def types_in(mods: tuple[str, ...]) -> tuple[Type, ...]:
    """The types among the modifiers of an instruction, in order."""
    return tuple(TYPES[mod] for mod in mods if mod in TYPES)


@dataclass(slots=True)
class Variable:
    """A variable or parameter; ``size`` in bytes, 0 for an array of unknown length."""

    name: str
    space: str
    type: Type
    align: int
    size: int
    values: tuple[Any, ...] = ()
    external: bool = False


@dataclass(slots=True)
class Function:
    """An entry or a device function; ``body`` is false for a declaration."""

    name: str
    entry: bool
    params: list[Variable]
    returns: list[Variable]
    line: int
    directives: dict[str, tuple[int, ...]] = field(default_factory=dict)
    registers: dict[str, Type] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    code: list[Instruction] = field(default_factory=list)
    labels: dict[tuple[int, str], int] = field(default_factory=dict)
    targets: dict[tuple[int, str], tuple[str, ...]] = field(default_factory=dict)
    parents: list[int] = field(default_factory=lambda: [-1])
    body: bool = False

    def label(self, scope: int, name: str) -> int | None:
        """Where a label points, seen from the braces number ``scope``."""
        while scope >= 0:
            if (scope, name) in self.labels:
                return self.labels[scope, name]
            scope = self.parents[scope]
        return None

    def branch_targets(self, scope: int, name: str) -> tuple[str, ...] | None:
        """The labels of a ``.branchtargets`` list."""
        while scope >= 0:
            if (scope, name) in self.targets:
                return self.targets[scope, name]
            scope = self.parents[scope]
        return None


@dataclass(slots=True)
class Module:
    """A PTX module."""

    version: tuple[int, int] = (0, 0)
    target: str = ""
    functions: dict[str, Function] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
