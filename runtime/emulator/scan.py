"""PTX text to tokens, and literals to numbers."""

from __future__ import annotations

import re
import struct
from typing import NamedTuple

from .ptx import Number

_BLANK = r"(?:\s++|//[^\n]*+|/\*.*?\*/)*+"
_TOKEN = re.compile(
    _BLANK
    + r"""(?:(?P<string>"(?:[^"\\]|\\.)*")
      | (?P<number>0[fF][0-9a-fA-F]{8}\b | 0[dD][0-9a-fA-F]{16}\b | 0[xX][0-9a-fA-F]+U? | 0[bB][01]+U?
          | (?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)? | \d+[eE][+-]?\d+ | \d+U?)
      | (?P<word>\.?[%$A-Za-z_][\w$]*(?:(?:\.|::)[\w$]+)*)
      | (?P<mark><<|>>|.)
      | (?P<end>\Z))""",
    re.VERBOSE | re.DOTALL,
)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


class Token(NamedTuple):
    """A word, number, string or mark, and where in the text it starts; at the end of that ``end``."""

    kind: str
    text: str
    start: int


def token_behind(text: str, place: int) -> Token:
    """The next token from a place on, without the white space and the comments before it."""
    found = _TOKEN.match(text, place)
    assert found is not None and found.lastgroup is not None, "a mark is any character"
    kind = found.lastgroup
    return Token(kind, found[kind], found.start(kind))


def in_one_line(text: str) -> str:
    """What a text says, without comments and with one space where it has white space."""
    return " ".join((_COMMENT.sub(" ", text) if "/" in text else text).split())


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
