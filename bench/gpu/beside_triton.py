"""What the tables beside Triton's kernels share: its PTX assembled as ours is, and how a table ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...runtime.cuda.chips import Chip
from ...runtime.cuda.ptxas import KernelCode, assemble, disassemble_cubin, find_ptxas
from .machine_code import Code, parse


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
