"""What torch found to be true of symbolic sizes while it traced: a program is right where all of it is.

`ShapeEnv.guards` has what held for the sizes of the example. Beside that, torch takes a size that it does
not know for 2 or more, and answers that follow from this make no guard, although the call may have 0 or 1
(``Dim("rows")``). So answers to code other than torch's own are noted while it is traced (`noted_answers`),
and what squeezes a size is looked up, and what reads parts (`bounds`). Where that code asks for a layout,
all of torch's own questions for layouts matter, too.
"""

from __future__ import annotations

import contextlib
import functools
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

from .bounds import bounds, from_zero
from .source_lines import source_line

_TORCH = f"{Path(torch.__file__).parent}{os.sep}"
_TRACER = str(Path(__file__).with_name("torch.py"))  # which calls torch.export
_OURS = (f"{Path(__file__).parent}{os.sep}", f"{Path(__file__).parents[1] / 'runtime'}{os.sep}")
_PLUMBING = {contextlib.__file__, functools.__file__}
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
    layouts: str = ""
    """The line that asked for a layout, if code other than torch's did."""
    equal: dict[sympy.Basic, str] = field(default_factory=dict)
    """What was found to be equal, and the user's line that wanted it, by itself or through torch."""


_notes: weakref.WeakKeyDictionary[ShapeEnv, _Notes] = weakref.WeakKeyDictionary()


@contextmanager
def noted_answers() -> Iterator[Callable[[], dict[ShapeEnv, dict[sympy.Basic, str]]]]:
    """Note what torch answers where code other than its own asks for a size or a layout.

    What this gives says at any time what was found to be equal, and by which of the user's lines.
    """
    envs: dict[ShapeEnv, None] = {}

    def noting(ask: Callable[..., Any]) -> Callable[..., Any]:
        def noted(env: ShapeEnv, expr: Any, *args: Any, **kwargs: Any) -> Any:
            answer = ask(env, expr, *args, **kwargs)
            envs[env] = None
            if isinstance(expr, sympy.Eq) and answer:
                _notes.setdefault(env, _Notes()).equal.setdefault(expr, _users_line())
            frame, branches = _asker()
            if not _is_own(frame) or _OF_PLACES.search(frame.name):
                _note(_notes.setdefault(env, _Notes()), expr, answer, frame, branches)
            return answer

        return noted

    def noting_layouts(ask: Callable[..., Any]) -> Callable[..., Any]:
        def noted(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            frame, _ = _asker()
            sizes = () if _is_own(frame) else (*tensor.shape, *stride(tensor))
            for size in sizes:
                if isinstance(size, torch.SymInt):
                    _notes.setdefault(size.node.shape_env, _Notes()).layouts = _line(frame)
            return ask(tensor, *args, **kwargs)

        return noted

    stride = torch.Tensor.stride
    uninteresting = symbolic_shapes.uninteresting_files
    with (
        mock.patch.object(ShapeEnv, "evaluate_expr", noting(ShapeEnv.evaluate_expr)),
        mock.patch.object(
            ShapeEnv, "guard_or_defer_runtime_assert", noting(ShapeEnv.guard_or_defer_runtime_assert)
        ),
        mock.patch.object(torch.Tensor, "stride", noting_layouts(stride)),
        mock.patch.object(torch.Tensor, "dim_order", noting_layouts(torch.Tensor.dim_order)),
        mock.patch.object(torch.Tensor, "is_contiguous", noting_layouts(torch.Tensor.is_contiguous)),
        mock.patch.object(symbolic_shapes, "uninteresting_files", lambda: uninteresting() | {__file__}),
    ):
        yield lambda: {env: equal_in(env) for env in envs}


def equal_in(env: ShapeEnv) -> dict[sympy.Basic, str]:
    """What was found to be equal, and the user's line that wanted it ("": none is known)."""
    return _notes.get(env, _Notes()).equal


def _note(notes: _Notes, expr: Any, answer: Any, frame: traceback.FrameSummary, branches: bool) -> None:
    own = frame.filename.startswith(_TORCH)
    if expr in (sympy.true, sympy.false):  # sympy knows it of all sizes but 0
        notes.positive |= branches and not own
    elif answer in (sympy.true, sympy.false):
        fact = expr if answer else sympy.Not(expr)
        if not _is_immaterial(fact, frame):
            notes.facts[Fact(fact, _line(frame))] = None


def _asker() -> tuple[traceback.FrameSummary, bool]:
    """The frame behind a question, and whether it branches there: torch's C++ asks without a ``bool()``."""
    frame, branches = sys._getframe(1), False
    files = symbolic_shapes.uninteresting_files()
    while frame.f_code.co_filename in files and frame.f_back is not None:
        if frame.f_code.co_filename == "<string>" and not frame.f_code.co_name.startswith("__"):
            break  # of a user's text; torch means methods of dataclasses
        branches |= frame.f_code.co_name == "__bool__"
        frame = frame.f_back
    return traceback.FrameSummary(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name), branches


def _users_line() -> str:
    """The innermost line of what is traced that is not torch's; nothing if all are."""
    frame = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename != _TRACER:
        name = frame.f_code.co_filename
        if not name.startswith((_TORCH, *_OURS, "<")) and name not in _PLUMBING:
            return f"{name}:{frame.f_lineno}"
        frame = frame.f_back  # type: ignore[assignment]
    return ""


def _is_own(frame: traceback.FrameSummary) -> bool:
    """Whether it is torch's own code, and none that is as a user's."""
    return frame.filename.startswith(_TORCH) and not frame.filename.startswith(_MODULES)


def _line(frame: traceback.FrameSummary) -> str:
    return "" if frame.filename.startswith(_TORCH) else f"{frame.filename}:{frame.lineno}"


def positive_sizes(graph: Graph) -> set[Any]:
    """The sizes that must not be 0 for what was answered to be right."""
    sizes = _sizes(graph)
    positive = bool(sizes) and _notes.get(sizes[0].node.shape_env, _Notes()).positive
    return {size.node.expr for size in sizes} if positive else set()


def size_env(graph: Graph) -> ShapeEnv | None:
    """Where torch keeps what it knows of the sizes of ``graph``; None if it has no symbolic ones."""
    sizes = _sizes(graph)
    return sizes[0].node.shape_env if sizes else None


def facts(graph: Graph) -> list[Fact]:
    """All that the traced ``graph`` relies on, each once."""
    sizes, env = _sizes(graph), size_env(graph)
    if env is None:
        return []
    notes = _notes.get(env, _Notes())
    found: dict[Any, str] = {}
    for guard in env.guards:
        place = guard.sloc.framework_loc
        if not isinstance(place, traceback.FrameSummary):
            found.setdefault(env.replace(guard.expr), "")
        elif notes.layouts or not _is_immaterial(guard.expr, place):
            found.setdefault(env.replace(guard.expr), _line(place))
    for fact in [*notes.facts, *_squeezed(graph)]:
        found.setdefault(env.replace(fact.expr), fact.where)
    for expr, node in bounds(graph):
        found.setdefault(expr, str(source_line(node) or ""))
    if notes.layouts:  # torch's answers are those of sizes from 2 on
        for size in sizes:
            found.setdefault(sympy.Ge(from_zero(size.node.expr), 2), notes.layouts)
    return [Fact(expr, where) for expr, where in found.items() if expr is not sympy.true]


def _sizes(graph: Graph) -> list[torch.SymInt]:
    """The sizes of the graph's arguments that are symbolic."""
    values = [node.meta.get("val") for node in graph.find_nodes(op="placeholder")]
    return [s for value in values for s in getattr(value, "shape", ()) if isinstance(s, torch.SymInt)]


def _is_immaterial(expr: Any, frame: traceback.FrameSummary) -> bool:
    """Whether the values do not depend on what a function of torch asks, where no other asks for a layout.

    They do on what it found to be equal: torch writes one for the other from then on.
    """
    if isinstance(expr, sympy.Eq) or not frame.filename.startswith(_TORCH):
        return False
    stretches = isinstance(expr, sympy.Ne) and 1 in expr.args
    return bool(_OF_LAYOUTS.search(frame.name) or (stretches and _OF_STRETCHES.search(frame.name)))


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
