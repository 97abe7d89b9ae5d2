"""The options of a pass: text to typed dataclass fields, and back.

``mlopt-b{size=8 tile=4,64 fast name="a b"}`` sets the fields ``size``, ``tile``, ``fast``
and ``name``; a dash in an option stands for the underscore of the field.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from typing import Any, get_args, get_origin, get_type_hints

from .base import Pass
from .registry import did_you_mean

_OPTION = re.compile(
    r"""\s*(?P<key>[A-Za-z][\w.-]*)(?:=(?P<value>"[^"]*"|'[^']*'|\{[^{}]*\}|[^\s{}"']*))?(?=\s|$)"""
)
_SCALARS = (bool, int, float, str)
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


class OptionError(ValueError):
    """An option that the pass does not have, or a value that does not fit its type."""


def parse_options(cls: type[Pass], text: str) -> Pass:
    """The pass ``cls`` with the options that ``text`` (what stands between the braces) sets."""
    types = _option_types(cls)
    values: dict[str, Any] = {}
    for key, value in split_options(text, cls.name):
        if key not in types:
            known = f"; it has {', '.join(types)}" if types else "; it has no options"
            hint = did_you_mean(key, types) or known
            raise OptionError(f"{cls.name}: no option '{key}'{hint}")
        field = key.replace("-", "_")
        if field in values:
            raise OptionError(f"{cls.name}: option '{key}' is given twice")
        values[field] = _convert(cls.name, key, value, types[key])
    try:
        return cls(**values)
    except (TypeError, ValueError) as error:  # no default, no `run`, values that do not go together
        raise OptionError(f"{cls.name}: {error}") from None


def split_options(text: str, pass_name: str) -> list[tuple[str, str | None]]:
    """``'a=1 b'`` as ``[('a', '1'), ('b', None)]``; quotes and braces around a value are dropped."""
    pairs: list[tuple[str, str | None]] = []
    position, end = 0, len(text.rstrip())
    while position < end:
        match = _OPTION.match(text, position)
        if match is None:
            rest = text[position:].strip()
            raise OptionError(f"{pass_name}: cannot read its options from '{rest}'; write key=value pairs")
        value = match["value"]
        if value and value[0] in "\"'{":
            value = value[1:-1]
        pairs.append((match["key"], value))
        position = match.end()
    return pairs


def format_pass(instance: Pass) -> str:
    """The text that `parse_options` turns into ``instance`` again: its name, and options that differ."""
    changed = [
        f"{field.name.replace('_', '-')}={_format(getattr(instance, field.name))}"
        for field in dataclasses.fields(instance)
        if getattr(instance, field.name) != field.default
    ]
    return instance.name + (f"{{{' '.join(changed)}}}" if changed else "")


@functools.cache
def _option_types(cls: type[Pass]) -> dict[str, Any]:
    hints = get_type_hints(cls)
    return {field.name.replace("_", "-"): hints[field.name] for field in dataclasses.fields(cls)}


def _convert(pass_name: str, key: str, value: str | None, expected: Any) -> object:
    if expected not in _SCALARS and get_origin(expected) is not tuple:
        raise OptionError(
            f"{pass_name}: option '{key}' is declared as {expected}; "
            "write bool, int, float, str or tuple[int, ...]"
        )
    try:
        return _convert_value(value, expected)
    except ValueError:
        given = "nothing" if value is None else f"'{value}'"
        kind = "list of integers" if get_origin(expected) is tuple else expected.__name__
        raise OptionError(f"{pass_name}: option '{key}' takes a value of type {kind}, not {given}") from None


def _convert_value(value: str | None, expected: Any) -> object:
    if expected is bool:
        return True if value is None else _boolean(value)
    if value is None:
        raise ValueError
    if get_origin(expected) is tuple:
        element = get_args(expected)[0]
        return tuple(element(part) for part in value.split(",") if part.strip())
    return expected(value)


def _boolean(value: str) -> bool:
    if value.lower() not in _BOOLEANS:
        raise ValueError
    return _BOOLEANS[value.lower()]


def _format(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ",".join(str(part) for part in value)
    if isinstance(value, str) and not re.fullmatch(r"[^\s{}\"',()]+", value):
        return f'"{value}"'
    return str(value)
