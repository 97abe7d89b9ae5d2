"""Modules as MLIR text, for a machine without torch-mlir: written by ``--prepare``, read by ``--from``.

With a target they are compiled, too: then nothing of MLIR but its CUDA runtime has to be on that machine.
"""

from __future__ import annotations

import json
import pickle
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from ...compiler import compile_mlir
from ...options import Options
from ...runtime import requests
from ...runtime.opening import open_call
from ...torch_module import tensor_call
from .timed import TIMED
from .workload import Source

MANIFEST = "prepared.json"
_HOST = "x86-64-v3"  # what the host part is compiled for: any machine that has a GPU of today


def prepare(folder: Path, names: Sequence[str], tiny: bool, target: str = "") -> None:
    """Write each row's module as linalg text, ``NAME.mlir``, and which commit of mlopt made it.

    With a ``target`` also what it is compiled to, ``NAME.built``.
    """
    # It reads modules by torch's export, which the GPU's machine need not have.
    from ...tools.tracing import trace

    folder.mkdir(parents=True, exist_ok=True)
    options = Options.resolve()
    for name in names:
        timed = TIMED[name]
        with torch.no_grad():
            program = trace(
                timed.function, timed.inputs(Source(timed.dtype, empty=True), tiny), target or "cuda"
            )
        linalg = requests.import_program(program.text, program.weight_positions, options)
        keep(folder, name, linalg, target)
    facts = {"commit": commit(), "tiny": tiny, "rows": list(names)}
    (folder / MANIFEST).write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


def keep(folder: Path, name: str, text: str, target: str) -> None:
    """Write one program's text; with a ``target`` what it is compiled to, and print what a GPU's code is."""
    (folder / f"{name}.mlir").write_text(text, encoding="utf-8")
    if target:
        built = requests.build(text, Options.resolve(target=target, cpu=_HOST, cache=False))
        (folder / f"{name}.built").write_bytes(pickle.dumps({**built, "stages": {}}))
        print(f"{name}: {code_of(built)}")


def code_of(built: dict[str, Any]) -> str:
    """How many kernels a program has for a GPU, their most registers, and whether any of them spills."""
    device = built["metadata"].get("device")
    if device is None or not device["code"]:
        return "no machine code for a GPU"
    codes = device["code"].values()
    spilled = sum(each["spill_stores"] + each["spill_loads"] for each in codes)
    registers = max(each["registers"] for each in codes)
    return f"{len(codes)} kernels of {registers} registers at most, {spilled or 'no'} bytes of spills"


def was_compiled(folder: Path, name: str) -> bool:
    """Whether a program is there as compiled before."""
    return (folder / f"{name}.built").is_file()


def opened(folder: Path, name: str, **options: Any) -> Callable[..., Any]:
    """The function of tensors that a program is: from its text, or opened as it was compiled before."""
    if not was_compiled(folder, name):
        return compile_mlir((folder / f"{name}.mlir").read_text(encoding="utf-8"), **options)
    built = pickle.loads((folder / f"{name}.built").read_bytes())
    return open_call(built, Options.resolve(**options), name, tensor_call)


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
