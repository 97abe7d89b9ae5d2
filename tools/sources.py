"""Programs that are only looked at: their linalg text, and what ``tune=True`` has kept of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from ..errors import CompileError
from ..options import Options
from ..runtime import requests
from ..runtime.cache import Cached
from .programs import call_factory, read_mlir, split_source

EXPORTED = ".pt2"


@dataclass(frozen=True)
class Program:
    """A program as linalg text, each op with its source line; ``place``: where the cache would have it."""

    linalg: str
    place: Callable[[Options], Cached]

    def choices(self, options: Options) -> Mapping[str, int] | None:
        """The candidates that ``tune=True`` measured as faster, by kernel; None if it has kept nothing.

        They are those of this processor and number of threads, or of the GPU that is here, and of the options
        beside ``tune``.
        """
        try:
            built = self.place(replace(options, tune=True)).load()
        except CompileError:  # there is no such GPU
            return None
        found: Mapping[str, int] | None = None if built is None else built["metadata"].get("choices")
        return found


def read(source: str, func: str, options: Options) -> Program:
    """``FILE.mlir`` with its function ``func``, ``FILE.py:FUNCTION`` or ``FILE.pt2``; InputError if unread.

    What `mlopt.compile_mlir` keeps of a text, and `mlopt.jit` of a module, is what `Program.choices` finds.
    """
    factory = split_source(source)
    if factory is None and not source.endswith(EXPORTED):
        text = read_mlir(Path(source))
        return Program(text, lambda options: requests.linalg_place(text, options, func))
    from . import tracing  # imports torch

    if factory is None:
        program = tracing.load(Path(source), options.target)
    else:
        program = tracing.trace(*call_factory(*factory), options.target)
    shapes = [each.shape for each in program.inputs]
    place = partial(requests.torch_place, program.text, program.weight_positions, shapes=shapes)
    return Program(requests.import_program(program.text, program.weight_positions, options), place)
