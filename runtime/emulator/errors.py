"""What the emulator raises: PTX that it cannot read, and findings about a kernel that ran."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import MloptError
from .ptx import Instruction


class EmulatorError(MloptError):
    """PTX, a launch or an argument that the emulator cannot take."""


class UnsupportedInstructionError(EmulatorError):
    """An instruction, or a form of one, that no family of the emulator defines."""


def unsupported(instruction: Instruction, section: str, why: str = "") -> UnsupportedInstructionError:
    """The error for an instruction that cannot be run; ``section`` is its place in the PTX ISA."""
    return UnsupportedInstructionError(
        f"the emulator does not run {instruction.opcode!r}" + (f": {why}" if why else ""),
        where=f"PTX line {instruction.line}: {instruction.text}",
        details=f"PTX ISA 9.0, section {section}" if section else "not an instruction of the PTX ISA",
        remedy="correct it if ptxas refuses it, too; else compile the kernel for sm_80, or add it to"
        " runtime/emulator/families",
    )


class KernelError(EmulatorError):
    """A kernel ran with findings; ``findings`` has them all, ``report`` the whole report."""

    def __init__(self, findings: Sequence[Any], report: Any) -> None:
        first = findings[0]
        more = f" (and {len(findings) - 1} more)" if len(findings) > 1 else ""
        super().__init__(
            f"{first.kind} in kernel {first.kernel}{more}",
            where=first.place,
            details="\n".join(str(finding) for finding in findings[:6]),
            remedy="launch with check=False to get the report with all findings",
        )
        self.findings = list(findings)
        self.report = report
