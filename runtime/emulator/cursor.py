"""A place among the tokens of a PTX text."""

from __future__ import annotations

from .errors import EmulatorError
from .ptx import Number
from .scan import Token, literal, scan


class Cursor:
    """Takes tokens one by one; errors name the line."""

    def __init__(self, text: str) -> None:
        self.tokens = list(scan(text))
        self.lines = text.splitlines()
        self.at = 0

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def error(self, what: str) -> EmulatorError:
        line = self.token.line
        source = self.lines[line - 1].strip() if line <= len(self.lines) else ""
        return EmulatorError(f"cannot read the PTX: {what}", where=f"PTX line {line}: {source}")

    def take(self) -> Token:
        token = self.token
        if token.kind == "end":
            raise self.error("the text ends too early")
        self.at += 1
        return token

    def accept(self, text: str) -> bool:
        if self.token.text == text:
            self.at += 1
            return True
        return False

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
