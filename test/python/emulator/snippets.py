"""Kernels in PTX around a few instructions, and ways to run them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from mlopt import emulator
from mlopt.runtime.emulator.launch import Options
from mlopt.runtime.emulator.machine import SCHEDULES

each_schedule = pytest.mark.parametrize("schedule", SCHEDULES)

REGISTERS = """
  .reg .pred %p<16>;
  .reg .b16 %h<32>;
  .reg .b32 %r<64>;
  .reg .f32 %f<64>;
  .reg .b64 %rd<32>;
  .reg .f64 %fd<32>;
"""


def kernel(body: str, parameters: int = 2, shared: int = 0, target: str = "sm_90a", before: str = "") -> str:
    """A kernel ``k`` whose parameters are addresses, in %rd0, %rd1 …; %r0 is the thread's number.

    ``buffer`` is ``shared`` bytes of shared memory; %rd31 is 4 times the thread's number.
    """
    names = [f"k_param_{number}" for number in range(parameters)]
    listed = ", ".join(f".param .u64 {name}" for name in names)
    loads = "\n".join(f"  ld.param.u64 %rd{number}, [{name}];" for number, name in enumerate(names))
    space = f"  .shared .align 16 .b8 buffer[{shared}];\n" if shared else ""
    return f"""
.version 9.0
.target {target}
.address_size 64
{before}
.visible .entry k({listed})
{{{REGISTERS}{space}{loads}
  mov.u32 %r0, %tid.x;
  mul.wide.u32 %rd31, %r0, 4;
{body}
  ret;
}}
"""


def run(
    text: str | emulator.Kernels,
    arguments: Sequence[Any],
    block: int | tuple[int, ...] = 32,
    grid: int | tuple[int, ...] = 1,
    schedule: str = "together",
    **more: Any,
) -> emulator.Report:
    """Launch ``k``, of a text or of what has been loaded; findings do not raise."""
    kernels = emulator.load(text) if isinstance(text, str) else text
    options = Options(schedule=schedule, seed=7)
    return kernels.launch("k", grid, block, arguments, check=False, options=options, **more)


class Placed:
    """A module on a device, and arrays in its memory."""

    def __init__(self, text: str) -> None:
        self.device = emulator.Device()
        self.kernels = self.device.load(text)

    def put(self, array: np.ndarray) -> np.uint64:
        address = self.device.alloc(array.nbytes, "array")
        self.device.write(address, array)
        return np.uint64(address)

    def get(self, address: np.uint64, like: np.ndarray) -> np.ndarray:
        self.device.read(int(address), like)
        return like


def kinds(report: emulator.Report) -> list[str]:
    """The kinds of the findings, sorted."""
    return sorted({finding.kind for finding in report.findings})


_REGISTER = {"b16": "%h", "b32": "%r", "f32": "%f", "b64": "%rd", "f64": "%fd"}


def _holder(kind: str) -> tuple[str, str]:
    """The register file and the type of loads and stores for a type of an instruction."""
    bits = {"pred": 32, "f16x2": 32, "bf16x2": 32, "u16x2": 32, "s16x2": 32, "tf32": 32, "bf16": 16}.get(kind)
    if bits is None:
        bits = 16 if kind.endswith("x2") else int("".join(c for c in kind if c.isdigit()))
    if kind in ("f32", "f64"):
        return _REGISTER[kind], kind
    return _REGISTER[f"b{max(16, bits)}"], f"b{bits}"


def apply(
    instruction: str, result: str, sources: Sequence[tuple[str, np.ndarray]], more: str = ""
) -> np.ndarray:
    """What ``instruction`` gives for each element: ``d`` the result's raw bits, sources of the given types.

    The instruction is run as ``instruction dst, src0, src1 … more``.
    """
    count = len(sources[0][1])
    lines = ["  mov.u32 %r60, %ctaid.x;", "  mov.u32 %r61, %ntid.x;", "  mad.lo.s32 %r62, %r60, %r61, %r0;"]
    names = []
    for number, (kind, values) in enumerate(sources, start=1):
        file, memory = _holder(kind)
        if values.dtype.itemsize * 8 != int(memory[1:]):
            raise ValueError(f"{values.dtype} for {memory}")
        lines += [
            f"  mul.wide.u32 %rd20, %r62, {values.dtype.itemsize};",
            f"  add.s64 %rd20, %rd20, %rd{number};",
            f"  ld.global.{memory} {file}{number + 10}, [%rd20];",
        ]
        names.append(f"{file}{number + 10}")
        if kind == "pred":
            lines.append(f"  setp.ne.s32 %p{number}, {file}{number + 10}, 0;")
            names[-1] = f"%p{number}"
    file, memory = _holder(result)
    target = "%p0" if result == "pred" else f"{file}30"
    lines.append(f"  {instruction} {', '.join([target, *names])}{more};")
    if result == "pred":
        lines.append("  selp.b32 %r30, 1, 0, %p0;")
    size = int(memory[1:]) // 8
    lines += [
        f"  mul.wide.u32 %rd20, %r62, {size};",
        "  add.s64 %rd20, %rd20, %rd0;",
        f"  st.global.{memory} [%rd20], {file}30;",
    ]
    out = np.zeros(count, f"u{size}")
    text = kernel("\n".join(lines), parameters=1 + len(sources))
    block = min(count, 128)
    assert count % block == 0, "whole blocks"
    emulator.load(text).launch(
        "k", count // block, block, [out, *(np.ascontiguousarray(v) for _, v in sources)]
    )
    return out
