"""What upstream's passes are called: asked of the mlir-opt that ships with the bindings."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from mlir import _mlir_libs

_PASS = re.compile(r"^ {6}--([a-z][\w-]*)", re.MULTILINE)


def upstream_pass_names() -> list[str]:
    """All passes and pipelines that upstream registers; empty if mlir-opt is not there to ask."""
    tool = Path(_mlir_libs.__file__).parent.parent / "bin" / "mlir-opt"
    if not tool.is_file():
        return []
    text = subprocess.run([tool, "--help"], capture_output=True, text=True, check=False).stdout
    return _PASS.findall(text)
