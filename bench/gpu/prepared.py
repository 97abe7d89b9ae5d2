"""Modules as MLIR text, for a machine without torch-mlir: written by ``--prepare``, read by ``--from``."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from ...options import Options
from ...runtime import requests
from ...tools.tracing import trace
from .timed import TIMED, Source

MANIFEST = "prepared.json"


def prepare(folder: Path, names: Sequence[str], tiny: bool) -> None:
    """Write each row's module as linalg text, ``NAME.mlir``, and which commit of mlopt made it."""
    folder.mkdir(parents=True, exist_ok=True)
    options = Options.resolve()
    for name in names:
        timed = TIMED[name]
        with torch.no_grad():
            program = trace(timed.function, timed.inputs(Source(timed.dtype, empty=True), tiny))
        linalg = requests.import_program(program.text, program.weight_positions, options)
        (folder / f"{name}.mlir").write_text(linalg, encoding="utf-8")
    facts = {"commit": commit(), "tiny": tiny, "rows": list(names)}
    (folder / MANIFEST).write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


def manifest(folder: Path) -> dict[str, Any]:
    """What `prepare` wrote about the texts in ``folder``."""
    found: dict[str, Any] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    return found


def commit() -> str:
    """The commit of this checkout, with a mark if it has been changed; "unknown" without git."""
    root = Path(__file__).resolve().parents[2]
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return "unknown"
    return done.stdout.strip() or "unknown"
