"""What the ``mlopt.*`` attributes may hold: each type in words, and from and to Python."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from mlir import ir

from .layouts import Layout

T = TypeVar("T")


@dataclass(frozen=True)
class Kind(Generic[T]):
    """A type of attribute: in words, and from and to Python (reading something else gives None)."""

    words: str
    read: Callable[[ir.Attribute], T | None]
    build: Callable[[T], ir.Attribute]


def read_integer(attribute: ir.Attribute) -> int | None:
    """The number, or None if it is none."""
    return int(ir.IntegerAttr(attribute).value) if isinstance(attribute, ir.IntegerAttr) else None


def read_string(attribute: ir.Attribute) -> str | None:
    """The text, or None if it is none."""
    return str(ir.StringAttr(attribute).value) if isinstance(attribute, ir.StringAttr) else None


def read_strings(attribute: ir.Attribute) -> tuple[str, ...] | None:
    """The texts, or None if not all of it are."""
    if not isinstance(attribute, ir.ArrayAttr):
        return None
    parts = [read_string(part) for part in attribute]
    return None if None in parts else tuple(part for part in parts if part is not None)


def build_integer(value: int) -> ir.Attribute:
    """An i64."""
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)


def build_strings(values: tuple[str, ...]) -> ir.Attribute:
    """An array of strings."""
    return ir.ArrayAttr.get([ir.StringAttr.get(value) for value in values])


def _read_part(attribute: ir.Attribute) -> tuple[str, int] | None:
    if not isinstance(attribute, ir.DictAttr) or {named.name for named in attribute} != {"op", "number"}:
        return None
    name, number = read_string(attribute["op"]), read_integer(attribute["number"])
    return None if name is None or number is None else (name, number)


def _build_part(part: tuple[str, int]) -> ir.Attribute:
    return ir.DictAttr.get({"op": ir.StringAttr.get(part[0]), "number": build_integer(part[1])})


def _read_schedule(attribute: ir.Attribute) -> dict[str, tuple[int, ...]] | None:
    if not isinstance(attribute, ir.DictAttr):
        return None
    schedule: dict[str, tuple[int, ...]] = {}
    for named in attribute:
        if not isinstance(named.attr, ir.DenseI64ArrayAttr):
            return None
        schedule[named.name] = tuple(named.attr)
    return schedule


def _read_launches(attribute: ir.Attribute) -> tuple[dict[str, Any], ...] | None:
    if not isinstance(attribute, ir.ArrayAttr) or not all(isinstance(it, ir.DictAttr) for it in attribute):
        return None
    found = []
    for launch in attribute:
        sizes = {named.name: named.attr for named in launch if named.name != "kernel"}
        if "kernel" not in launch or not all(isinstance(it, ir.DenseI64ArrayAttr) for it in sizes.values()):
            return None
        kernel = ir.StringAttr(launch["kernel"]).value
        found.append({"kernel": kernel, **{name: list(size) for name, size in sizes.items()}})
    return tuple(found)


def _build_launches(launches: tuple[dict[str, Any], ...]) -> ir.Attribute:
    return ir.ArrayAttr.get(
        [
            ir.DictAttr.get(
                {
                    name: ir.StringAttr.get(value) if name == "kernel" else ir.DenseI64ArrayAttr.get(value)
                    for name, value in launch.items()
                }
            )
            for launch in launches
        ]
    )


def _read_layouts(attribute: ir.Attribute) -> tuple[str, ...] | None:
    one = read_string(attribute)
    texts = read_strings(attribute) if one is None else (one,)
    try:
        for text in texts or ():
            if text:
                Layout.parse(text)
    except ValueError:
        return None
    return texts


def _build_layouts(texts: tuple[str, ...]) -> ir.Attribute:
    return ir.StringAttr.get(texts[0]) if len(texts) == 1 else build_strings(texts)


def _build_schedule(schedule: dict[str, tuple[int, ...]]) -> ir.Attribute:
    return ir.DictAttr.get({key: ir.DenseI64ArrayAttr.get(value) for key, value in schedule.items()})


FLAG: Kind[bool] = Kind(
    "unit", lambda a: True if isinstance(a, ir.UnitAttr) else None, lambda _: ir.UnitAttr.get()
)
LAYOUTS_KIND: Kind[tuple[str, ...]] = Kind(
    'a layout, or an array of them with "" for what has none', _read_layouts, _build_layouts
)
INTEGER: Kind[int] = Kind("an integer", read_integer, build_integer)
STRING: Kind[str] = Kind("a string", read_string, ir.StringAttr.get)
STRINGS: Kind[tuple[str, ...]] = Kind("an array of strings", read_strings, build_strings)
SCHEDULE_KIND: Kind[dict[str, tuple[int, ...]]] = Kind(
    "a dictionary of array<i64: …>", _read_schedule, _build_schedule
)
PART_KIND: Kind[tuple[str, int]] = Kind("{op = string, number = integer}", _read_part, _build_part)
LAUNCHES_KIND: Kind[tuple[dict[str, Any], ...]] = Kind(
    "an array of dictionaries of array<i64: …> and a kernel's name", _read_launches, _build_launches
)
