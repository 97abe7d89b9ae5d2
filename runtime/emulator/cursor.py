"""A place among the tokens of a PTX text."""

from __future__ import annotations

from .errors import EmulatorError
from .ptx import Number
from .scan import Token, literal, token_behind


class Cursor:
    """Takes tokens one by one; errors name the line."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.token = token_behind(text, 0)
        self._counted = (0, 1)  # a place, and its line

    def go(self, place: int) -> None:
        """The next token is the one behind this place."""
        self.token = token_behind(self.text, place)

    def ahead(self) -> Token:
        """The token behind the next one."""
        kind, text, start = self.token
        if kind == "end":
            raise self.error("the text ends too early")
        return token_behind(self.text, start + len(text))

    @property
    def line(self) -> int:
        """The line of the next token."""
        place, line = self._counted
        line += self.text.count("\n", place, self.token.start)
        self._counted = self.token.start, line
        return line

    def error(self, what: str) -> EmulatorError:
        line, lines = self.line, self.text.splitlines()
        source = lines[line - 1].strip() if line <= len(lines) else ""
        return EmulatorError(f"cannot read the PTX: {what}", where=f"PTX line {line}: {source}")

    def take(self) -> Token:
        token = self.token
        self.token = self.ahead()
        return token

    def accept(self, text: str) -> bool:
        if self.token.text != text:
            return False
        self.token = self.ahead()
        return True

    def expect(self, text: str) -> None:
        if not self.accept(text):
            raise self.error(f"expected {text!r}, found {self.token.text!r}")

    def word(self) -> str:
        if self.token.kind != "word":
            raise self.error(f"expected a name, found {self.token.text!r}")
        return self.take().text

    def integer(self) -> int:
        value = self.number()
        if not isinstance(value.value, int):
            raise self.error("expected an integer")
        return value.value

    def number(self) -> Number:
        if self.accept("-"):
            inner = self.number()
            return Number(-inner.value, inner.bits)
        if self.accept("("):
            inner = self.number()
            self.expect(")")
            return inner
        if self.token.kind != "number":
            raise self.error(f"expected a number, found {self.token.text!r}")
        return literal(self.take().text)

    def skip_to(self, text: str) -> None:
        while not self.accept(text):
            self.take()

    def offset(self) -> int:
        total = 0
        while self.token.text in ("+", "-"):
            sign = -1 if self.take().text == "-" else 1
            total += sign * self.integer()
        return total
