"""PTX text to tokens, and literals to numbers."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from typing import NamedTuple

from .ptx import Number

_TOKEN = re.compile(
    r"""(?P<skip>\s+|//[^\n]*|/\*.*?\*/)
      | (?P<string>"(?:[^"\\]|\\.)*")
      | (?P<number>0[fF][0-9a-fA-F]{8}\b | 0[dD][0-9a-fA-F]{16}\b | 0[xX][0-9a-fA-F]+U? | 0[bB][01]+U?
          | (?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)? | \d+[eE][+-]?\d+ | \d+U?)
      | (?P<word>\.?[%$A-Za-z_][\w$]*(?:(?:\.|::)[\w$]+)*)
      | (?P<mark><<|>>|.)""",
    re.VERBOSE | re.DOTALL,
)


class Token(NamedTuple):
    """A word, number, string or mark, and its line."""

    kind: str
    text: str
    line: int


def scan(text: str) -> Iterator[Token]:
    """The tokens of a PTX text, without white space and comments."""
    line = 1
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or ""
        found = match.group()
        if kind != "skip":
            yield Token(kind, found, line)
        line += found.count("\n")
    yield Token("end", "", line)


def literal(text: str) -> Number:
    """A PTX literal: integers in four bases, floats in decimal, and their bits (0f, 0d)."""
    lower = text.lower()
    for prefix, length, real, whole in (("0f", 10, "<f", "<I"), ("0d", 18, "<d", "<Q")):
        if lower.startswith(prefix) and len(text) == length:
            bits = int(text[2:], 16)
            return Number(struct.unpack(real, struct.pack(whole, bits))[0], bits)
    lower = lower.rstrip("u")
    if lower.startswith("0x"):
        return Number(int(lower, 16))
    if lower.startswith("0b"):
        return Number(int(lower, 2))
    if lower.isdigit():
        return Number(int(lower, 8 if lower.startswith("0") and len(lower) > 1 else 10))
    return Number(float(lower))
