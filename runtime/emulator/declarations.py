"""Declarations of variables and parameters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .cursor import Cursor
from .ptx import TYPES, Name, Type, Variable

SPACES = (".global", ".const", ".shared", ".local", ".param", ".tex")


class Declarations(Cursor):
    """Reads what follows a state space."""

    def variables(self, space: str, external: bool = False) -> list[Variable]:
        """The declarators after a state space; does not take the semicolon."""
        align, kind, lanes = 0, None, 1
        while self.token.text.startswith("."):
            word = self.word()
            if word == ".align":
                align = self.integer()
            elif word in (".v2", ".v4", ".v8"):
                lanes = int(word[2:])
            elif word == ".attribute":
                self.skip_to(")")
            elif word == ".ptr":
                if self.token.text in SPACES:
                    self.word()
                if self.accept(".align"):
                    self.integer()
            elif word[1:] in TYPES:
                kind = TYPES[word[1:]]
            else:
                raise self.error(f"{word!r} is not a type")
        if kind is None:
            raise self.error("expected a type")
        found = [self.declarator(space[1:], kind, lanes, align, external)]
        while space != ".param" and self.accept(","):
            found.append(self.declarator(space[1:], kind, lanes, align, external))
        return found

    def declarator(self, space: str, kind: Type, lanes: int, align: int, external: bool) -> Variable:
        name = self.word()
        count, known = lanes, True
        while self.accept("["):
            if self.accept("]"):
                known = False
                continue
            count *= self.integer()
            self.expect("]")
        values: tuple[Any, ...] = ()
        if self.accept("="):
            values = tuple(self.initializers())
            if not known:
                count, known = len(values), True
        size = kind.bytes * count if known else 0
        return Variable(name, space, kind, max(align, kind.bytes * lanes), size, values, external)

    def initializers(self) -> Iterator[Any]:
        if self.accept("{"):
            while not self.accept("}"):
                yield from self.initializers()
                self.accept(",")
        elif self.token.kind == "word":
            word = self.word()
            if word == "generic":
                self.expect("(")
                word = self.word()
                self.expect(")")
            yield Name(word, self.offset())
        else:
            yield self.number()
