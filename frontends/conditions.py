"""What torch found to be true of symbolic sizes while it traced: a program is right where all of it is.

`ShapeEnv.guards` has what held for the sizes of the example. Beside that, torch takes a size that it does
not know for 2 or more, and answers that follow from this make no guard, although the call may have 0 or 1
(``Dim("rows")``). So answers to code other than torch's own are noted while it is traced (`noted_answers`),
and what squeezes a size is looked up.
"""

from __future__ import annotations

import os
import re
import sys
import traceback
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import sympy
import torch
from torch.fx import Graph
from torch.fx.experimental import symbolic_shapes
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from .source_lines import source_line

_TORCH = f"{Path(torch.__file__).parent}{os.sep}"
_MODULES = (_TORCH + "nn" + os.sep, _TORCH + "functional.py")  # torch's own code that is as a user's
# What functions of torch ask for: where a part of a dimension is;
_OF_PLACES = re.compile("slice|select|narrow|unfold|diagonal|split|chunk|shape_check")
# in which order elements are in memory, or which view is made of them, and what a broadcast stretches:
# whatever they hear, the values are the same.
_OF_LAYOUTS = re.compile(
    "contiguous|strides|channels_last|dense|memory_format"
    "|_reshape_view_helper_core_alg|_collapse_view|^_call_impl$|^__new__$"
)
_OF_STRETCHES = re.compile("broadcast|infer_size|expand")
aten = torch.ops.aten
_SQUEEZES = {aten.squeeze, aten.squeeze_}


@dataclass(frozen=True)
class Fact:
    """``expr`` is true; ``where`` is the line that asked, if it is not torch's own."""

    expr: sympy.Basic
    where: str = ""


@dataclass
class _Notes:
    facts: dict[Fact, None] = field(default_factory=dict)
    positive: bool = False


_notes: weakref.WeakKeyDictionary[ShapeEnv, _Notes] = weakref.WeakKeyDictionary()


@contextmanager
def noted_answers() -> Iterator[None]:
    """Note what torch answers where code other than its own asks for a size."""

    def noting(ask: Callable[..., Any]) -> Callable[..., Any]:
        def noted(env: ShapeEnv, expr: Any, *args: Any, **kwargs: Any) -> Any:
            answer = ask(env, expr, *args, **kwargs)
            frame, branches = _asker()
            own = frame.filename.startswith(_TORCH) and not frame.filename.startswith(_MODULES)
            if not own or _OF_PLACES.search(frame.name):
                _note(_notes.setdefault(env, _Notes()), expr, answer, frame, branches)
            return answer

        return noted

    uninteresting = symbolic_shapes.uninteresting_files
    with (
        mock.patch.object(ShapeEnv, "evaluate_expr", noting(ShapeEnv.evaluate_expr)),
        mock.patch.object(
            ShapeEnv, "guard_or_defer_runtime_assert", noting(ShapeEnv.guard_or_defer_runtime_assert)
        ),
        mock.patch.object(symbolic_shapes, "uninteresting_files", lambda: uninteresting() | {__file__}),
    ):
        yield


def _note(notes: _Notes, expr: Any, answer: Any, frame: traceback.FrameSummary, branches: bool) -> None:
    own = frame.filename.startswith(_TORCH)
    if expr in (sympy.true, sympy.false):  # sympy knows it of all sizes but 0
        notes.positive |= branches and not own
    elif answer in (sympy.true, sympy.false):
        fact = expr if answer else sympy.Not(expr)
        if not _is_immaterial(fact, frame.name):
            notes.facts[Fact(fact, "" if own else f"{frame.filename}:{frame.lineno}")] = None


def _asker() -> tuple[traceback.FrameSummary, bool]:
    """The frame behind a question, and whether it branches there: torch's C++ asks without a ``bool()``."""
    frame, branches = sys._getframe(1), False
    while frame.f_code.co_filename in symbolic_shapes.uninteresting_files() and frame.f_back is not None:
        branches |= frame.f_code.co_name == "__bool__"
        frame = frame.f_back
    return traceback.FrameSummary(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name), branches


def positive_sizes(graph: Graph) -> set[Any]:
    """The sizes that must not be 0 for what was answered to be right."""
    sizes = _sizes(graph)
    noted = next((_notes[size.node.shape_env] for size in sizes if size.node.shape_env in _notes), None)
    if noted is not None and noted.positive:
        return {size.node.expr for size in sizes}
    return {symbol for expr in _firsts(graph) for symbol in expr.free_symbols}


def _firsts(graph: Graph) -> Iterator[Any]:
    """The sizes of dimensions whose first or last element is a bound; torch takes it for granted."""
    for node in graph.nodes:
        if node.target not in (aten.select.int, aten.slice.Tensor):
            continue
        x, dim, *bounds = node.args
        size = x.meta["val"].shape[dim]
        ends = (0, -1) if node.target is aten.select.int else (1, -1)
        if isinstance(size, torch.SymInt) and any(
            bound in ends for bound in bounds[:2] if type(bound) is int
        ):
            yield size.node.expr


def facts(graph: Graph) -> list[Fact]:
    """All that the traced ``graph`` relies on, each once."""
    sizes = _sizes(graph)
    if not sizes:
        return []
    env = sizes[0].node.shape_env
    found: dict[Any, str] = {}
    for guard in env.guards:
        place = guard.sloc.framework_loc
        is_summary = isinstance(place, traceback.FrameSummary)
        if not is_summary:
            found.setdefault(env.replace(guard.expr), "")
        elif not _is_immaterial(guard.expr, place.name):
            own = place.filename.startswith(_TORCH)
            found.setdefault(env.replace(guard.expr), "" if own else f"{place.filename}:{place.lineno}")
    for fact in [*(_notes[env].facts if env in _notes else ()), *_squeezed(graph)]:
        found.setdefault(env.replace(fact.expr), fact.where)
    return [Fact(expr, where) for expr, where in found.items() if expr is not sympy.true]


def _sizes(graph: Graph) -> list[torch.SymInt]:
    """The sizes of the graph's arguments that are symbolic."""
    values = [node.meta.get("val") for node in graph.find_nodes(op="placeholder")]
    return [s for value in values for s in getattr(value, "shape", ()) if isinstance(s, torch.SymInt)]


def _is_immaterial(expr: Any, function: str) -> bool:
    """Whether the values do not depend on what ``function`` of torch asks.

    They do on what it found to be equal: torch writes one for the other from then on.
    """
    if isinstance(expr, sympy.Eq):
        return False
    stretches = isinstance(expr, sympy.Ne) and 1 in expr.args
    return bool(_OF_LAYOUTS.search(function) or (stretches and _OF_STRETCHES.search(function)))


def _squeezed(graph: Graph) -> Iterator[Fact]:
    """The sizes that a squeeze left, as they were not 1."""
    for node in graph.nodes:
        if getattr(node.target, "overloadpacket", None) not in _SQUEEZES:
            continue
        shape = node.args[0].meta["val"].shape
        dims = node.args[1] if len(node.args) > 1 else range(len(shape))
        for dim in [dims] if isinstance(dims, int) else dims:
            if len(shape) and isinstance(shape[dim], torch.SymInt):
                yield Fact(sympy.Ne(shape[dim].node.expr, 1), str(source_line(node) or ""))
