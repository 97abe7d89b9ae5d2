"""Compilation from the middle: the IR of a stage, as it was saved or as a person has edited it.

What a caller must know of a program is read off the IR while host functions still take tensors. So the
text of each later stage ends with a comment that says it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from mlir import ir

from ..errors import CompileError
from ..passes.registry import did_you_mean
from . import metadata
from .accept import ENTRY, accept, parse
from .diagnostics import PipelineError
from .stages import Stage

_MARK = "// mlopt-program: "
_LINE = re.compile(rf"^{_MARK}(.*)$", re.MULTILINE)
_SAID_BY_IR = ("kernels", "tile")
_BEFORE_KERNELS = "linalg"


def program_line(stage: str, known: Mapping[str, Any]) -> str:
    """What the text of a stage ends with: nothing while the IR says it all."""
    return "" if stage in (_BEFORE_KERNELS, *_SAID_BY_IR) else f"{_MARK}{json.dumps(known)}\n"


def resume(
    text: str, stages: Sequence[Stage], name: str
) -> tuple[ir.Module, dict[str, Any], tuple[Stage, ...]]:
    """The module ``text``, which came out of the stage ``name``, what is known of it, and the stages left.

    Raises `CompileError` if it is no such module.
    """
    position = _position(stages, name)
    if name == _BEFORE_KERNELS:
        return accept(text), {}, tuple(stages[position + 1 :])
    module = parse(text)
    try:
        stages[position].check(module.operation)
    except PipelineError as error:
        details = "\n".join(f"line {each.line}: {each.message}" for each in error.diagnostics)
        what = f'the text does not come from the stage "{name}"'
        raise CompileError(what, details=details, remedy="pass the stage that it was saved at") from None
    return module, _known(module, text, name), tuple(stages[position + 1 :])


def _known(module: ir.Module, text: str, name: str) -> dict[str, Any]:
    if name in _SAID_BY_IR:
        functions = metadata.host_functions(module)
        if not functions.get(ENTRY, {}).get("results"):
            what = f'the stage "{name}" leaves a function @{ENTRY} with memrefs to write its results to'
            raise CompileError(what, remedy="start from the text of that stage")
        known = {"functions": functions, "fusion": metadata.fusion_notes(module)}
        return {**known, "kernels": metadata.kernels(module)} if name == "tile" else known
    found = _LINE.findall(text)
    try:
        known = json.loads(found[-1])
    except (IndexError, ValueError):
        raise CompileError(
            f'the text of the stage "{name}" lacks the line that says what the program takes and returns',
            where=f"the last line of compiled.asm[{name!r}], which begins with {_MARK.strip()}",
            remedy="keep that line; text from other tools can be resumed at the stages "
            + " and ".join((_BEFORE_KERNELS, *_SAID_BY_IR)),
        ) from None
    return dict(known)


def _position(stages: Sequence[Stage], name: str) -> int:
    names = [stage.name for stage in stages]
    if name not in names:
        raise CompileError(
            f"there is no stage {name!r}{did_you_mean(name, names)}", remedy=f"use one of: {', '.join(names)}"
        )
    return names.index(name)
