"""What a compiled function takes and gives: plain data, read from the compile worker's metadata."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# mlopt's name of a dtype -> (bytes, numpy's name). torch's names are numpy's.
DTYPES = {
    "f64": (8, "float64"),
    "f32": (4, "float32"),
    "f16": (2, "float16"),
    "bf16": (2, "bfloat16"),
    "f8e4m3fn": (1, "float8_e4m3fn"),
    "f8e5m2": (1, "float8_e5m2"),
    "i64": (8, "int64"),
    "i32": (4, "int32"),
    "i16": (2, "int16"),
    "i8": (1, "int8"),
    "ui8": (1, "uint8"),
    "bool": (1, "bool"),
}


_BUILTINS = {function.__name__: function for function in (abs, float, int, max, min, round)}


@dataclass(frozen=True)
class Buffer:
    """An argument or a result. ``None`` in the shape is a size that is known at the call only.

    ``kind`` is "input", "weight", "prepared" or "result"; ``sizes`` are a result's dynamic
    sizes, as Python expressions over ``aI_D`` (the size of dim D of argument I). ``used`` is
    false for an argument whose values do not matter.
    """

    kind: str
    dtype: str
    shape: tuple[int | None, ...]
    scalar: bool = False
    sizes: tuple[str, ...] = ()
    used: bool = True

    @staticmethod
    def from_metadata(data: Mapping[str, Any], kind: str = "result") -> Buffer:
        """``data`` as pipelines/metadata.py writes it."""
        return Buffer(
            data.get("kind", kind),
            data["dtype"],
            tuple(data["shape"]),
            bool(data.get("scalar", False)),
            tuple(data.get("sizes", ())),
            bool(data.get("used", True)),
        )

    @property
    def itemsize(self) -> int:
        return DTYPES[self.dtype][0]


@dataclass(frozen=True)
class Signature:
    """The arguments and results of one function of an object, and its workspace in bytes.

    ``workspace`` is None where it depends on the sizes.
    """

    args: tuple[Buffer, ...]
    results: tuple[Buffer, ...]
    workspace: int | None = 0

    @staticmethod
    def from_metadata(data: Mapping[str, Any]) -> Signature:
        """``data`` as pipelines/metadata.py writes it."""
        return Signature(
            tuple(Buffer.from_metadata(arg) for arg in data["args"]),
            tuple(Buffer.from_metadata(result) for result in data["results"]),
            data["workspace"],
        )

    def result_shapes(self, arg_shapes: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
        """The results' shapes for arguments of these shapes."""
        names = {f"a{i}_{d}": size for i, shape in enumerate(arg_shapes) for d, size in enumerate(shape)}
        shapes = []
        for result in self.results:
            sizes = iter(result.sizes)
            shapes.append(tuple(evaluate(next(sizes), names) if s is None else s for s in result.shape))
        return shapes


def evaluate(size: int | str, names: Mapping[str, int]) -> int:
    """A size from its expression over ``aI_D``; the expressions are the compiler's own."""
    if isinstance(size, int):
        return size
    return int(eval(size, {"__builtins__": _BUILTINS, "math": math}, dict(names)))


def contiguous_strides(sizes: Sequence[int | str]) -> tuple[int | str, ...]:
    """The strides that torch gives a fresh tensor of these sizes or expressions: 0 counts as 1."""
    strides: list[int | str] = []
    factors: list[str] = []
    number = 1
    for size in reversed(sizes):
        strides.append("*".join([*factors, str(number)]) if factors else number)
        if isinstance(size, int):
            number *= max(size, 1)
        else:
            factors.append(f"max({size}, 1)")
    return tuple(reversed(strides))
