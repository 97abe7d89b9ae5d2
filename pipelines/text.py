"""Pipeline text as a tree: ``builtin.module(mlopt-a,func.func(mlopt-b{size=8},cse))``.

The grammar is upstream's, plus line breaks and ``//`` comments between elements, so that a
pipeline kept in a file or a string can say why each pass is where it is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

_NAME = re.compile(r"[A-Za-z_][\w.-]*")
_BLANK = re.compile(r"(?:\s|//[^\n]*)*")


class PipelineSyntaxError(ValueError):
    """Pipeline text that cannot be read: what is wrong, and a mark under the place."""

    def __init__(self, message: str, text: str, position: int) -> None:
        start = text.rfind("\n", 0, position) + 1
        line = text[start:].split("\n", 1)[0]
        super().__init__(f"pipeline: {message}\n  {line}\n  {' ' * (position - start)}^")


@dataclass(frozen=True)
class PassNode:
    """One pass by name, with the text of its options (upstream's passes parse theirs themselves)."""

    name: str
    options: str = ""

    def __str__(self) -> str:
        return f"{self.name}{{{self.options}}}" if self.options else self.name


@dataclass(frozen=True)
class NestNode:
    """Passes that run on each operation called ``op_name`` directly below."""

    op_name: str
    elements: tuple[PassNode | NestNode, ...]

    def __str__(self) -> str:
        return f"{self.op_name}({','.join(str(element) for element in self.elements)})"


@lru_cache(256)
def parse_pipeline(text: str) -> NestNode:
    """Read a whole pipeline, anchored at an operation: ``builtin.module(…)``."""
    reader = _Reader(text)
    root = reader.element()
    if not isinstance(root, NestNode):
        raise PipelineSyntaxError(f"say what it runs on: builtin.module({text.strip()})", text, 0)
    reader.expect_end()
    return root


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    def element(self) -> PassNode | NestNode:
        self._skip_blank()
        match = _NAME.match(self.text, self.position)
        if match is None:
            raise self._error("expected the name of a pass or of an operation")
        self.position = match.end()
        self._skip_blank()
        if self._take("("):
            return NestNode(match[0], self._elements())
        if self._take("{"):
            return PassNode(match[0], self._options())
        return PassNode(match[0])

    def expect_end(self) -> None:
        self._skip_blank()
        if self.position < len(self.text):
            raise self._error("expected the end of the pipeline")

    def _elements(self) -> tuple[PassNode | NestNode, ...]:
        elements: list[PassNode | NestNode] = []
        self._skip_blank()
        if self._take(")"):
            return ()
        while True:
            elements.append(self.element())
            self._skip_blank()
            if self._take(")"):
                return tuple(elements)
            if not self._take(","):
                raise self._error("expected ',' or ')'")
            self._skip_blank()
            if self._take(")"):  # a comma after the last element
                return tuple(elements)

    def _options(self) -> str:
        start, depth, quote = self.position, 1, ""
        for position in range(start, len(self.text)):
            char = self.text[position]
            if quote:
                quote = "" if char == quote else quote
            elif char in "\"'":
                quote = char
            else:
                depth += (char == "{") - (char == "}")
            if depth == 0:
                self.position = position + 1
                return self.text[start:position].strip()
        self.position = start - 1
        raise self._error("this '{' is never closed")

    def _take(self, char: str) -> bool:
        if not self.text.startswith(char, self.position):
            return False
        self.position += 1
        return True

    def _skip_blank(self) -> None:
        match = _BLANK.match(self.text, self.position)
        if match is not None:
            self.position = match.end()

    def _error(self, message: str) -> PipelineSyntaxError:
        return PipelineSyntaxError(message, self.text, self.position)
