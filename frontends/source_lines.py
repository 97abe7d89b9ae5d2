"""Where in the user's code a node of an FX graph comes from."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

import torch
from torch.fx import Node

_FRAME = re.compile(r'File "([^"]+)", line (\d+),')
TORCH_FOLDER = f"{Path(torch.__file__).parent}/"


@dataclass(frozen=True)
class SourceLine:
    """A line of a file, or a module of the user's by its path, of which there is no line."""

    file: str
    line: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file

    def asm(self) -> str:
        """The inside of an MLIR ``loc(…)``."""
        return f"{json.dumps(self.file)}:{self.line}:0"


def source_line(node: Node) -> SourceLine | None:
    """The innermost line outside of torch, else the innermost module, else torch's own line, if any."""
    found = _FRAME.findall(node.meta.get("stack_trace") or "")
    frames = [SourceLine(file, int(line)) for file, line in found if not file.startswith("torch/")]
    outside = [frame for frame in frames if not frame.file.startswith(TORCH_FOLDER)]
    if outside:
        return outside[-1]
    return _module_of(node) or (frames[-1] if frames else None)


def _module_of(node: Node) -> SourceLine | None:
    """``Sequential.2: Conv1d``: where in the outermost module the innermost one is, and its class."""
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    if not stack:
        return None
    (_, outer), (path, inner) = stack[0], stack[-1]
    name, kind = (_class_name(each) for each in (outer, inner))
    below = path.removeprefix(stack[0][0]).removeprefix(".")
    return SourceLine(f"{name}.{below}: {kind}" if below else name)


def _class_name(kind: type | str) -> str:
    """torch.export names classes, torch.compile has them."""
    return (kind if isinstance(kind, str) else kind.__name__).rpartition(".")[2]
