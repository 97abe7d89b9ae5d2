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
    """A line of a file."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"

    def asm(self) -> str:
        """The inside of an MLIR ``loc(…)``."""
        return f"{json.dumps(self.file)}:{self.line}:0"


def source_line(node: Node) -> SourceLine | None:
    """The innermost line outside of torch itself, else the innermost line, if the node has any."""
    found = _FRAME.findall(node.meta.get("stack_trace") or "")
    frames = [SourceLine(file, int(line)) for file, line in found if not file.startswith("torch/")]
    outside = [frame for frame in frames if not frame.file.startswith(TORCH_FOLDER)]
    chosen = outside or frames
    return chosen[-1] if chosen else None
