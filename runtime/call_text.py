"""The text that the hot calls of `mlopt.jit` and of torch.compile share: from the frame to the launch.

kept = bound(x1)                           # where weights are bound
stream = threads()                         # and on a GPU:
if stream not in kept.streams:
share(kept, stream)
frames = kept.frames
try:
frame = frames.pop()
except IndexError:
frame = kept.new_frame()
pack(frame.array, 0, p0, p1, r0.data_ptr(), frame.workspace_address, threads())
status = (profiled if profiler._is_profiler_enabled else function)(frame.address)
frames.append(frame)
if status:
raise_status(status)
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ..frontends.program import Size
from .executable import Bound, EntryPoint
from .recycled import LARGE
from .torch_place import lane_of, place_of

_INT64 = 8


@dataclass(frozen=True)
class CallText:
    """Writes lines of the call of ``entry``; constants that they refer to are put into ``names``."""

    entry: EntryPoint
    names: dict[str, Any]

    def __post_init__(self) -> None:
        place = place_of(self.entry)
        self.names.update(
            empty=place.empty,
            empty_large=place.empty_large,
            threads=lane_of(self.entry),
            share=place.share,
            function=self.entry.replays.launch if self.entry.replays else self.entry.function,
            profiled=self.entry.replays.profiled if self.entry.replays else self.entry.profiled,
            profiler=torch.autograd.profiler,
            raise_status=self.entry.raise_status,
            fit_workspace=self.entry.fit_workspace,
        )

    def allocate(
        self, number: int, shape: Sequence[Size], strides: Sequence[Size], dtype: torch.dtype
    ) -> str:
        """Make result ``number``, ``r0, …``: an uninitialized tensor without gaps."""
        self.names[f"result_dtype{number}"] = dtype
        known = [size for size in shape if not isinstance(size, str)]
        small = len(known) == len(shape) and math.prod(known) * dtype.itemsize < LARGE
        layout = (
            constant(self.names, f"result_shape{number}", shape),
            constant(self.names, f"result_strides{number}", strides),
        )
        function = "empty" if small else "empty_large"
        return f"r{number} = {function}({layout[0]}, {layout[1]}, result_dtype{number})"

    def take_frame(
        self, given: int, bound: Callable[..., Bound] | None = None, bound_from: Iterable[str] = ()
    ) -> list[str]:
        """Name ``frame``; each call passes the first ``given`` arguments, ``bound`` has the others.

        ``bound_from`` are the names of what ``bound`` is called with.
        """
        lines = ["try:", "    frame = frames.pop()", "except IndexError:"]
        if bound is None:
            none = Bound(self.entry, given, [])
            self.names.update(kept=none, frames=none.frames, new_frame=none.new_frame)
            return [*lines, "    frame = new_frame()"] if self.entry.replays is None else []
        self.names["bound"] = bound
        on_stream = ["stream = threads()", "if stream not in kept.streams:", "    share(kept, stream)"]
        kept = [
            f"kept = bound({comma(bound_from)})",
            *(on_stream if self.entry.stream is not None else []),
        ]
        if self.entry.replays is not None:
            return kept
        return [
            *kept,
            "frames = kept.frames",
            *lines,
            "    frame = kept.new_frame()",
        ]

    def run(self, inputs: Sequence[str], tensors: Sequence[str], numbers: Sequence[str] = ()) -> list[str]:
        """Fill the frame and call; ``inputs`` are the arguments that are not bound, results are ``r0, …``.

        ``tensors`` are those of the inputs ("None" for others), ``numbers`` the values of those that are one.
        """
        entry = self.entry
        if entry.replays is not None:
            return self._replay(inputs, tensors, numbers)
        rest = [
            *(f"r{number}.data_ptr()" for number in range(len(entry.signature.results))),
            entry.workspace_expression,
            "threads()",
            *entry.more_slots,
            *self._dynamic_sizes(),
        ]
        if len(inputs) == entry.first_result:
            lines = [self._pack("pack", 0, [*inputs, *rest])]
        else:
            lines = [self._pack("pack_inputs", 0, inputs)] if inputs else []
            lines.append(self._pack("pack_rest", entry.first_result, rest))
        if entry.fits_workspace:
            lines.append("workspace = fit_workspace(frame)")
        return [
            *lines,
            "status = (profiled if profiler._is_profiler_enabled else function)(frame.address)",
            "frames.append(frame)",
            "if status:",
            "    raise_status(status)",
        ]

    def _replay(self, inputs: Sequence[str], tensors: Sequence[str], numbers: Sequence[str]) -> list[str]:
        """The call where a CUDA graph may take its place."""
        results = [f"r{number}" for number in range(len(self.entry.signature.results))]
        addresses = ["0" if x == "None" else p for p, x in zip(inputs, tensors, strict=True)]
        addresses += [f"{result}.data_ptr()" for result in results]
        parts = (addresses, [*tensors, *results], [*self._dynamic_sizes(), *numbers])
        given = comma(f"({comma(part)}{',' if len(part) == 1 else ''})" for part in parts)
        return [
            f"status = (profiled if profiler._is_profiler_enabled else function)(kept, {given})",
            "if status:",
            "    raise_status(status)",
        ]

    def _pack(self, name: str, slot: int, values: Sequence[str]) -> str:
        self.names[name] = struct.Struct(f"{len(values)}q").pack_into
        return f"{name}(frame.array, {slot * _INT64}, {comma(values)})"

    def _dynamic_sizes(self) -> list[str]:
        """In the order of the entry point's contract: of the arguments, then of the results."""
        args, results = self.entry.signature.args, self.entry.signature.results
        sizes = [
            f"a{i}_{d}" for i, arg in enumerate(args) for d, size in enumerate(arg.shape) if size is None
        ]
        return sizes + [f"({size})" for result in results for size in result.sizes]


def constant(names: dict[str, Any], name: str, sizes: Sequence[Size]) -> str:
    """An expression for a tuple of sizes; ``name`` stands for it in ``names`` if it never changes."""
    if any(isinstance(size, str) for size in sizes):
        return f"({''.join(f'{size}, ' for size in sizes)})"
    names[name] = tuple(sizes)
    return name


def comma(parts: Iterable[str]) -> str:
    """``parts``, separated."""
    return ", ".join(parts)
