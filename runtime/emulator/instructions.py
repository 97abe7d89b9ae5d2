"""Instructions and their operands in a PTX text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache

from .declarations import Declarations
from .errors import EmulatorError
from .ptx import Arguments, Instruction, Location, Memory, Name, Not, Number, Operand, Pair, Vector
from .scan import in_one_line

# What compilers write nearly always, as a whole: a guard, a name, operands without parentheses, a semicolon.
_PLAIN = re.compile(
    r"""(?:@(!?)([%$A-Za-z_][\w$]*)\s+)?([a-z]\w*(?:(?:\.|::)\w+)*)(?:\s+([^;"/@():]*))?;""",
)
_COMMA = re.compile(r",(?![^{\[]*[}\]])")  # outside of brackets
_KEPT = 1 << 16  # operands


class Instructions(Declarations):
    """Reads one instruction after the other; names are those of the scopes that are open."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.location: Location | None = None
        self.scopes: list[dict[str, str]] = []  # of each, the names that stand for others

    def instruction(self, scope: int) -> Instruction:
        """An instruction of any form, token by token."""
        start, line = self.token.start, self.line
        guard: Name | Not | None = None
        if self.accept("@"):
            negated = self.accept("!")
            name = Name(self.resolve(self.word()))
            guard = Not(name) if negated else name
        opcode, mods = _parts(self.word())
        operands: list[Operand] = []
        while self.token.text != ";":
            operands.append(self.operand())
            if self.token.text != ";":
                if self.token.text == "(" and opcode == "call":
                    continue
                self.expect(",")
        text = in_one_line(self.text[start : self.token.start])
        self.take()
        return Instruction(opcode, mods, tuple(operands), guard, line, text, scope, self.location)

    def plain(self, scope: int) -> Instruction | None:
        """The same in a fifth of the time for what `_PLAIN` describes; None for anything else."""
        found = None if any(self.scopes) else _PLAIN.match(self.text, self.token.start)
        if found is None:
            return None
        negated, guarding, head, rest = found.groups()
        operands = []
        for each in _COMMA.split(rest) if rest else ():
            operand = _operand(each.strip())
            if operand is None:
                return None
            operands.append(operand)
        guard = None if guarding is None else Not(Name(guarding)) if negated else Name(guarding)
        opcode, mods = _parts(head)
        text, line = " ".join(found[0][:-1].split()), self.line
        self.go(found.end())
        return Instruction(opcode, mods, tuple(operands), guard, line, text, scope, self.location)

    def resolve(self, name: str) -> str:
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return name

    def operand(self) -> Operand:
        first = self.primary()
        if self.accept("|"):
            return Pair(first, self.primary())
        return first

    def primary(self) -> Operand:
        if self.accept("{"):
            return Vector(tuple(self.listed("}")))
        if self.accept("("):
            return Arguments(tuple(self.listed(")")))
        if self.accept("["):
            base, *more = self.listed("]")
            if not isinstance(base, Name | Number):
                raise self.error("an address is a register, a variable or a number")
            return Memory(base, tuple(more))
        if self.accept("!"):
            return Not(Name(self.resolve(self.word())))
        if self.token.kind == "word":
            return Name(self.resolve(self.word()), self.offset())
        return self.number()

    def listed(self, end: str) -> Iterator[Operand]:
        while not self.accept(end):
            yield self.operand()
            self.accept(",")


@cache
def _parts(head: str) -> tuple[str, tuple[str, ...]]:
    """The opcode and the modifiers of an instruction's name."""
    opcode, *mods = head.split(".")
    return opcode, tuple(mods)


@lru_cache(_KEPT)
def _operand(text: str) -> Operand | None:
    """What a text is as an operand, if all names in it stand for themselves; None if it is none."""
    if text[:1] == "%" and text[1:].isalnum():
        return Name(text)
    reader = Instructions(text)
    try:
        found = reader.operand()
    except EmulatorError:
        return None
    return found if reader.token.kind == "end" else None
