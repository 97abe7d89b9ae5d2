"""Captured programs in the compile cache, under the module's form: a hit saves torch.export and its imports.

An entry has the program and the rehearsal of the module that it was captured from. It is the program of a
module of that form which does the same (`mlopt.frontends.rehearsal`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ..frontends.module_form import form_of, named_tensors
from ..frontends.program import Program
from ..frontends.rehearsal import follow, record
from ..options import Options
from .cache import Cached
from .kept_programs import packed, unpacked

_KIND = "rehearsed program"


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
        self._cached = (
            None if form is None else Cached(_KIND, {"form": form}, options, f"{label} (rehearsed)")
        )
        self.is_new = False
        """Whether nothing is known of such modules; set by `load`."""

    def load(self) -> Program | None:
        """The program with the module's own weights, or None."""
        if self._cached is None:
            return None
        found = self._cached.load()
        self.is_new = found is None
        if found is None or found["rehearsal"] is None:
            return None
        out_spec = follow(found["rehearsal"], *self._call)
        if out_spec is None:
            return None
        return unpacked(found["program"], named_tensors(self._call[0]), self._in_spec, out_spec)

    def store(self, program: Program) -> None:
        """Keep ``program``, or that such modules have no rehearsal."""
        if self._cached is None:
            return
        recorded = record(*self._call)
        if recorded is not None:
            rehearsal, out_spec = recorded
            data = packed(program, named_tensors(self._call[0]), self._in_spec, out_spec)
            if data is not None:
                self._cached.store({"rehearsal": rehearsal, "program": data})
                return
        self._cached.store({"rehearsal": None})
