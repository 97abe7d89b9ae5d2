"""Captured programs in the compile cache, under the module's form: a hit saves torch.export and its imports.

An entry has programs, each with the rehearsal of the module that it was captured from. It is the program of a
module of that form which does the same (`mlopt.frontends.rehearsal`), for any target if `Program.loops` is
None. A module is rehearsed before it is captured and after that: one whose calls differ from each other is
not kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ..frontends.module_form import form_of, named_tensors
from ..frontends.program import Program
from ..frontends.rehearsal import Rehearsal, follow, record
from ..options import Options
from .cache import Cached
from .kept_programs import packed, unpacked

_KIND = "rehearsed program"
MOST_ALIKE = 4  # programs that are kept of modules of one form


class RehearsedProgram:
    """The place of a module's program in the cache, for inputs like these; ``label`` names it for people."""

    def __init__(
        self,
        module: torch.nn.Module,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        options: Options,
        label: str,
    ) -> None:
        self._call = module, args, kwargs
        self._in_spec = pytree.tree_structure((args, dict(kwargs)))
        form = form_of(module, args, kwargs) if options.cache else None
        self._cached = None
        if form is not None:
            self._cached = Cached(_KIND, {"form": form}, options.of_capture(), f"{label} (rehearsed)")
        self._loops = options.target == "cpu"
        self._known: list[tuple[Rehearsal, bool | None, bytes]] = []
        self._before: tuple[Rehearsal, Any] | None = None
        self.is_new = False
        """Whether nothing is known of such modules; set by `load`."""

    def load(self) -> Program | None:
        """The program with the module's own weights, or None."""
        if self._cached is None:
            return None
        found = self._cached.load()
        self.is_new = found is None
        if found is not None:
            pairs = zip(found["rehearsals"], found["loops"], strict=True)
            self._known = [(*pair, found[_program(at)]) for at, pair in enumerate(pairs)]
        for rehearsal, loops, program in self._known:
            out_spec = follow(rehearsal, *self._call) if loops in (None, self._loops) else None
            if out_spec is not None:
                return unpacked(program, named_tensors(self._call[0]), self._in_spec, out_spec)
        self._before = record(*self._call)
        return None

    def store(self, program: Program) -> None:
        """Keep ``program``, if the module does now what it did before this was captured."""
        if self._cached is None:
            return
        programs = self._known
        if self._before is not None and record(*self._call) == self._before:
            rehearsal, out_spec = self._before
            data = packed(program, named_tensors(self._call[0]), self._in_spec, out_spec)
            if data is not None:
                programs = [(rehearsal, program.loops, data), *programs][:MOST_ALIKE]
        rehearsals = {
            "rehearsals": [rehearsal for rehearsal, _, _ in programs],
            "loops": [loops for _, loops, _ in programs],
        }
        self._cached.store(rehearsals | {_program(at): data for at, (*_, data) in enumerate(programs)})


def _program(number: int) -> str:
    return f"program {number}"
