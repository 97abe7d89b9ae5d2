"""A user's own passes in the stages: where each goes, and what is said when one fails.

``"my-pass{size=4} after mlopt-schedule"`` puts a pass behind another one; ``before`` and ``after`` take the
name of a stage, too. Without a place a pass runs on linalg, before the stage "kernels".
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from importlib.metadata import entry_points

from ..errors import CompileError, PassBugError, user_line
from ..passes.registry import (
    ENTRY_POINT_GROUP,
    PluginError,
    UnknownPassError,
    add_installed,
    did_you_mean,
    find_pass,
    foreign_passes,
    is_foreign,
    is_ours,
    load_plugin,
    registered_for_now,
)
from .diagnostics import Diagnostic, PipelineError, noted_pass
from .stages import Stage
from .text import NestNode, PassNode, PipelineSyntaxError, parse_pipeline
from .upstream import upstream_pass_names

_PLACE = re.compile(r"(?P<passes>.*?)(?:\s+(?P<side>before|after)\s+(?P<place>[\w-]+))?\s*", re.DOTALL)
_NAME = re.compile(r"[A-Za-z][\w.-]*")
_BY_DEFAULT = "kernels"
_ANYWHERE = ("any", "builtin.module")
_KEPT_FRAMES = 2
_Elements = list[PassNode | NestNode]


@contextmanager
def user_passes(
    stages: Sequence[Stage], passes: Sequence[str], plugins: Sequence[str]
) -> Iterator[tuple[Stage, ...]]:
    """``stages`` with ``passes`` in them, while the files ``plugins`` are loaded.

    Passes of other packages are found by their entry points (group ``mlopt.passes``). What is wrong with
    the passes, or in one of them inside of the context, is a `CompileError`.
    """
    with _registered(plugins, installed=bool(passes)):
        asked: set[str] = set()
        for each in passes:
            stages, names = _with(tuple(stages), each)
            asked.update(names)
        try:
            yield tuple(stages)
        except PipelineError as error:
            name = error.pass_name.split("{")[0]
            if not (name in asked or is_foreign(name)):
                raise
            where = next((_place(each) for each in error.diagnostics if each.line), "")
            details = "\n".join(each.message for each in error.diagnostics)
            raise CompileError(error.message, where=where, details=details, remedy=_REMEDY) from None
        except MemoryError:  # the worker's limit, whoever reaches it
            raise
        except (Exception, SystemExit) as error:
            name = noted_pass(error)
            if not is_foreign(name.split("{")[0]):
                raise
            raise _bug(name, error) from None


@contextmanager
def _registered(plugins: Sequence[str], installed: bool) -> Iterator[None]:
    """What the environment, the files ``plugins`` and other packages bring, under names of their own."""
    with ExitStack() as stack:
        try:
            stack.enter_context(registered_for_now())
            if installed:
                add_installed({each.name: each.value for each in entry_points(group=ENTRY_POINT_GROUP)})
        except PluginError as error:
            raise CompileError(str(error), where=user_line(error.__cause__)) from None
        for path in plugins:
            _load(path)
        brought = foreign_passes()
        if taken := sorted({*brought} & {*(upstream_pass_names() if brought else ())}):
            what = f"{brought[taken[0]]} calls a pass '{taken[0]}', as MLIR does"
            raise CompileError(what, remedy="give it another name")
        yield


_REMEDY = "mend the pass, or what it was given: mlopt-opt --load-pass-plugin runs it alone"


def _bug(name: str, error: BaseException) -> PassBugError:
    """What the user gets if a pass of theirs raises anything but a `PassError`."""
    what = f"pass {name} raised {type(error).__name__}: {error}"
    details = "".join(traceback.format_tb(error.__traceback__, limit=-_KEPT_FRAMES))
    return PassBugError(what, where=user_line(error), details=details, remedy=_REMEDY)


def _load(path: str) -> None:
    try:
        load_plugin(path)
    except Exception as error:
        what = f"the pass plug-in {path} cannot be loaded: {type(error).__name__}: {error}"
        raise CompileError(what, where=user_line(error)) from None


def _place(diagnostic: Diagnostic) -> str:
    """In a file, or in text that was passed."""
    named = diagnostic.file not in ("", "-")
    return diagnostic.place if named else f"line {diagnostic.line}, column {diagnostic.column}"


def _with(stages: tuple[Stage, ...], text: str) -> tuple[tuple[Stage, ...], set[str]]:
    """The stages with the passes that ``text`` names, and their names."""
    match = _PLACE.fullmatch(text)
    place = match["place"] if match else None
    if match is None or not match["passes"].strip():
        raise CompileError(
            f"passes={text!r} names no pass", remedy='write "my-pass" or "my-pass after a-stage"'
        )
    try:
        new = [_nested(node) for node in parse_pipeline(f"builtin.module({match['passes']})").elements]
    except (PipelineSyntaxError, UnknownPassError) as error:
        raise CompileError(f"passes={text!r}: {error}") from None
    if not stages:
        raise CompileError(f"passes={text!r}: no stage is left to run them in")
    names = set(_NAME.findall(match["passes"]))
    if place is None:
        places = [number for number, stage in enumerate(stages) if stage.name == _BY_DEFAULT]
        return _inserted(stages, places[0] if places else 0, 0, new), names
    for number, stage in enumerate(stages):
        if stage.name == place:
            position = 0 if match["side"] == "before" else len(_elements(stage))
            return _inserted(stages, number, position, new), names
    return _beside(stages, place, match["side"] == "after", new), names


def _beside(stages: tuple[Stage, ...], place: str, after: bool, new: _Elements) -> tuple[Stage, ...]:
    found = [
        (number, position + after)
        for number, stage in enumerate(stages)
        for position, element in enumerate(_elements(stage))
        if isinstance(element, PassNode) and element.name == place
    ]
    if len(found) == 1:
        return _inserted(stages, *found[0], new)
    names = [stage.name for stage in stages]
    passes = [each.name for stage in stages for each in _elements(stage) if isinstance(each, PassNode)]
    known = [*names, *(name for name in passes if passes.count(name) == 1)]
    what = f"runs {len(found)} times" if found else "is no stage that runs here, and no pass of one"
    raise CompileError(
        f"passes= names the place '{place}', which {what}{'' if found else did_you_mean(place, known)}",
        remedy=f"use a stage ({', '.join(names)}), or a pass that runs once",
    )


def _inserted(stages: tuple[Stage, ...], number: int, position: int, new: _Elements) -> tuple[Stage, ...]:
    elements = _elements(stages[number])
    elements[position:position] = new
    # A pass of the user's may look at all layers, and at all kernels.
    passes = ",".join(map(str, elements))
    changed = replace(stages[number], passes=passes, layers_once=False, on_parts="")
    return (*stages[:number], changed, *stages[number + 1 :])


def _elements(stage: Stage) -> _Elements:
    return list(parse_pipeline(stage.pipeline).elements)


def _nested(node: PassNode | NestNode) -> PassNode | NestNode:
    """A pass on functions, say, written without ``func.func(…)``."""
    if isinstance(node, NestNode) or not is_ours(node.name):
        return node
    op_name = find_pass(node.name).op_name
    return node if op_name in _ANYWHERE else NestNode(op_name, (node,))
