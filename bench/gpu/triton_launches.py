"""Launches of Triton kernels, compiled ahead of time: PTX, and how many threads."""

from __future__ import annotations

from dataclasses import dataclass

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@dataclass(frozen=True)
class Launch:
    """A kernel, the types of its arguments, its constants, the programs launched and the warps of each.

    ``elements``: that the kernel reads or writes, where they are not the operation's.
    """

    kernel: triton.JITFunction
    types: str
    constants: dict[str, int]
    programs: int
    warps: int = 4
    elements: int = 0


def flat(kernel: triton.JITFunction, types: str, each: int, count: int, **constants: int) -> Launch:
    """One program for each 128 · ``each`` of ``count`` elements."""
    return Launch(kernel, types, {**constants, "BLOCK": 128 * each}, count // (128 * each))


def by_rows(
    kernel: triton.JITFunction,
    types: str,
    height: int,
    columns: int,
    warps: int = 4,
    rows: int = 1,
    **constants: int,
) -> Launch:
    """``rows`` rows a program."""
    constants = {"COLUMNS": columns, "ROWS": rows, **constants}
    constants = {name: number for name, number in constants.items() if name in kernel.arg_names}
    return Launch(kernel, types, constants, height // rows, warps)


def ptx(launch: Launch, chip: int, checked: bool) -> str:
    """The PTX of one launch's kernel, with its assertions or without; all pointers are divisible by 16."""
    types = launch.types.split()
    signature = dict(zip(launch.kernel.arg_names, types, strict=False))
    signature |= dict.fromkeys(launch.constants, "constexpr")
    aligned = {(at,): [["tt.divisibility", 16]] for at, kind in enumerate(types) if kind[0] == "*"}
    source = ASTSource(launch.kernel, signature, launch.constants, aligned)
    options = {
        "num_warps": launch.warps,
        "enable_fp_fusion": False,
        "debug": checked,
        "sanitize_overflow": False,
    }
    return str(triton.compile(source, target=GPUTarget("cuda", chip, 32), options=options).asm["ptx"])
