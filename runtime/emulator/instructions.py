"""Instructions and their operands in a PTX text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .declarations import Declarations
from .ptx import Arguments, Instruction, Location, Memory, Name, Not, Number, Operand, Pair, Vector
from .scan import Token


class Instructions(Declarations):
    """Reads one instruction after the other; names are those of the scopes that are open."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.location: Location | None = None
        self.scopes: list[dict[str, str]] = []

    def instruction(self, scope: int) -> Instruction:
        start, line = self.at, self.token.line
        guard: Name | Not | None = None
        if self.accept("@"):
            negated = self.accept("!")
            name = Name(self.resolve(self.word()))
            guard = Not(name) if negated else name
        head = self.word().split(".")
        operands: list[Operand] = []
        while not self.accept(";"):
            operands.append(self.operand())
            if self.token.text != ";":
                if self.token.text == "(" and head[0] == "call":
                    continue
                self.expect(",")
        text = _render(self.tokens[start : self.at - 1])
        return Instruction(head[0], tuple(head[1:]), tuple(operands), guard, line, text, scope, self.location)

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


def _render(tokens: list[Token]) -> str:
    text = " ".join(token.text for token in tokens)
    return re.sub(r"(?<=[\[{(@!+]) | (?=[\]}),+])", "", text)
