"""What a front end hands over: the program's text and all that a caller must know to run it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import torch

Size = int | str
"""A size: a number, or a Python expression over ``aI_D``, size of dimension D of argument I."""


@dataclass(frozen=True)
class Input:
    """One tensor that the user passes, in the order of the function's first arguments.

    ``position`` is its place among the leaves of (args, kwargs). A dynamic size is ``None``
    in ``shape``; ``sizes`` then says what it must equal (another input's size, or itself), and ``lines``
    what lines of the user's want of it, as ``x.shape[0] == 2*y.shape[0]``, as far as they are known.

    The function takes it in contiguous memory; or, if it has ``strides``, in memory of these, and sees it
    permuted to ``order``, from the largest stride to the smallest.
    """

    name: str
    position: int
    dtype: torch.dtype
    shape: tuple[int | None, ...]
    sizes: tuple[Size, ...]
    ranges: dict[int, tuple[int, int | None]]
    lines: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    strides: tuple[int, ...] = ()
    order: tuple[int, ...] = ()


@dataclass(frozen=True)
class Weight:
    """A tensor of the module, in the order of the arguments after the inputs.

    ``name`` is its path in the module for parameters and buffers; ``tensor`` is the very
    object that the module held when it was captured.
    """

    name: str
    kind: Literal["parameter", "buffer", "constant"]
    tensor: torch.Tensor
    names: tuple[str, ...]
    """All paths of the same tensor (tied parameters), ``name`` first."""


@dataclass(frozen=True)
class Output:
    """One leaf of what the module returns.

    ``result``  the function's result number ``result``;
    ``constant`` ``value`` (None, a number, a string);
    ``size``    the int that the expression ``value`` gives.

    ``shape`` and ``strides`` are eager's. Where ``dense``, the function's result is written
    in the memory order of these strides (its shape is permuted to match), so a buffer of
    these strides can be passed to it as it is; else the result is contiguous and has to be
    copied to one with these strides.
    """

    kind: Literal["result", "constant", "size"]
    value: Any = None
    result: int = -1
    dtype: torch.dtype | None = None
    shape: tuple[Size, ...] = ()
    strides: tuple[Size, ...] = ()
    dense: bool = True
    alias: Literal["input", "weight", "output"] | None = None
    """Whose memory eager has it in, if it is not its own."""


@dataclass(frozen=True)
class Mutation:
    """Result ``result`` of the function has to be copied into an input or a weight after the call."""

    result: int
    kind: Literal["input", "weight"]
    index: int


@dataclass(frozen=True)
class Result:
    """One result of the function, contiguous; dynamic sizes are expressions."""

    dtype: torch.dtype
    sizes: tuple[Size, ...]


@dataclass(frozen=True)
class Condition:
    """A Python expression over the inputs' sizes, and the line that asked, if it is not torch's own."""

    text: str
    where: str


@dataclass(frozen=True)
class Program:
    """A captured module."""

    text: str
    """The torch dialect; arguments are ``inputs``, then ``weights``."""
    inputs: tuple[Input, ...]
    weights: tuple[Weight, ...]
    results: tuple[Result, ...]
    outputs: tuple[Output, ...]
    mutations: tuple[Mutation, ...]
    constants: dict[int, Any]
    """Leaves of (args, kwargs) that are no tensors: the program is right for these values only."""
    conditions: tuple[Condition, ...]
    """What the program takes for true of the inputs' sizes."""
    in_spec: Any
    out_spec: Any
    ops: tuple[tuple[str, str], ...]
    """Every op of the captured graph and its source line, for reports."""
    loops: bool | None = None
    """Whether it is for the target that runs loops over tensors; None: it is the same for all targets."""

    @property
    def weight_positions(self) -> list[int]:
        """Which of the function's arguments are weights."""
        return list(range(len(self.inputs), len(self.inputs) + len(self.weights)))
