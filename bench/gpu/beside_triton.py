"""What the tables beside Triton's kernels share: its PTX assembled as ours is, and how a table ends."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...runtime.cuda.chips import Chip
from ...runtime.cuda.ptxas import KernelCode, assemble, disassemble_cubin, find_ptxas
from .machine_code import Code, parse

HERE = Path(__file__).parent
TRITON = Path(".venv-triton/bin/python")


def made_by_triton(
    python: str, script: str, chip: Chip, asked: Sequence[Mapping[str, Any]] = ()
) -> dict[str, Any]:
    """What a script here prints of kernels that it is asked for, or of its own; OSError if there are none."""
    command = [python, str(HERE / script), chip.name]
    done = subprocess.run(command, input=json.dumps(asked), check=False, capture_output=True, text=True)
    if done.returncode:
        raise OSError(f"{python} makes no Triton kernels: {done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def assembled(ptx: str, chip: Chip) -> tuple[Code, KernelCode]:
    """The machine code of the one kernel of ``ptx``, and what ptxas says of it."""
    ptxas = find_ptxas(chip)
    assert ptxas is not None, "arguments have been checked"
    made = assemble(ptx, chip, ptxas)
    ((name, report),) = made.kernels.items()
    return parse(disassemble_cubin(made.cubin))[name], report


def with_reasons(head: Sequence[str], lines: Sequence[str], reasons: Mapping[tuple[str, str], str]) -> str:
    """A table of ``lines`` in Markdown; below, why the rows named in ``reasons`` are above in something."""
    below = "\n".join(f"- {name}, {what}: {why}" for (name, what), why in reasons.items())
    return "\n\n".join([*head, "\n".join(lines), *([below] if below else [])])
