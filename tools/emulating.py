"""What ``mlopt emulate`` and ``mlopt profile`` do: run kernels on the emulator, and print what they did."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .. import emulator
from ..compiler import jit
from ..errors import CompileError, CompileTimeout, InputError
from ..runtime.cuda.chips import find_chip
from ..runtime.cuda.ptxas import assemble, find_ptxas
from ..runtime.emulator.counters import Counters
from ..runtime.emulator.launch import Report
from . import programs, running

DTYPES = {
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
    "bf16": np.uint16,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "u8": np.uint8,
    "u16": np.uint16,
    "u32": np.uint32,
    "u64": np.uint64,
}
FORMS = "a number, FILE.npy, DTYPE[SIZES] (random), zeros:DTYPE[SIZES]; DTYPE one of " + ", ".join(DTYPES)


@dataclass(frozen=True)
class Launched:
    """A launch's report, and its arguments as the kernel has left them."""

    report: Report
    arguments: Sequence[Any]


def launch(
    file: Path,
    written: Sequence[str],
    kernel: str | None,
    grid: str,
    block: str,
    shared: int,
    *,
    chip: str,
    schedule: str,
    seed: int,
) -> Launched:
    """Launch a kernel of a PTX file; findings are in the report."""
    text = read_ptx(file)
    kernels = emulator.Device(chip).load(text)
    name = only_kernel(kernels, kernel)
    chance = np.random.default_rng(seed)
    arguments = [argument(each, chance) for each in written]
    target = chip or kernels.loaded.module.target
    options = emulator.Options(schedule=schedule, seed=seed, registers=registers(text, name, target))
    report = kernels.launch(name, sizes(grid), sizes(block), arguments, shared, check=False, options=options)
    return Launched(report, arguments)


def as_dict(report: Report) -> dict[str, Any]:
    """A report for JSON."""
    counters = report.counters.as_dict() if report.counters is not None else {}
    findings = [{**asdict(finding), "location": str(finding.location or "")} for finding in report.findings]
    return {
        "kernel": report.kernel,
        "grid": report.grid,
        "block": report.block,
        "findings": findings,
        **counters,
    }


def read_ptx(path: Path) -> str:
    """The text of a PTX file."""
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}", remedy="pass a PTX file") from None


def argument(text: str, chance: np.random.Generator) -> Any:
    """A kernel's argument from the command line; `FORMS` says how it is written."""
    if text.endswith(".npy"):
        try:
            return np.ascontiguousarray(np.load(text))
        except (OSError, ValueError) as error:
            raise InputError(f"{text} cannot be read: {error}", remedy="pass a .npy file") from None
    made = re.fullmatch(r"(zeros:)?(\w+)\[([\d, ]*)\]", text)
    if made is not None and made[2] in DTYPES:
        shape = tuple(int(size) for size in made[3].split(",") if size.strip())
        return np.zeros(shape, DTYPES[made[2]]) if made[1] else _random(made[2], shape, chance)
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    raise InputError(f"{text!r} is not an argument", remedy=f"pass {FORMS}")


def _random(name: str, shape: tuple[int, ...], chance: np.random.Generator) -> Any:
    dtype = np.dtype(DTYPES[name])
    if name == "bf16":
        return (chance.standard_normal(shape).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    if dtype.kind == "f":
        return chance.standard_normal(shape).astype(dtype)
    return chance.integers(0, 100, shape).astype(dtype)


def sizes(text: str) -> tuple[int, ...]:
    """A grid or block: ``8`` or ``8,4,2``."""
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"{text!r} is not a size", remedy="write it as 8, or 8,4,2") from None


def registers(ptx: str, kernel: str, target: str) -> int:
    """The registers of a thread by ptxas; 0 where ptxas is not at hand, or cannot do with the file.

    CompileTimeout if it takes too long.
    """
    try:
        chip = find_chip(target)
        ptxas = find_ptxas(chip)
        code = assemble(ptx, chip, ptxas).kernels.get(kernel) if ptxas is not None else None
    except CompileTimeout:
        raise
    except (LookupError, CompileError):
        return 0
    return code.registers if code is not None else 0


def only_kernel(kernels: emulator.Kernels, name: str | None) -> str:
    """The kernel that is meant: ``name``, or the module's only one."""
    if name is not None:
        return name
    if len(kernels.names) != 1:
        names = ", ".join(kernels.names)
        raise InputError(
            f"the file has {len(kernels.names)} kernels", remedy=f"pass --kernel, one of {names}"
        )
    return kernels.names[0]


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Rows as text, in columns as wide as they need to be."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)


def summary(report: Report) -> str:
    """The counters of a launch."""
    assert report.counters is not None
    return aligned([*_rows(report.counters)])


def _rows(counters: Counters) -> Iterator[tuple[str, str]]:
    yield (
        "warp instructions",
        ", ".join(f"{kind} {count:,}" for kind, count in _sorted(counters.instructions)),
    )
    yield "bytes asked for", ", ".join(f"{space} {count:,}" for space, count in _sorted(counters.bytes))
    if counters.global_requests:
        yield (
            "global memory",
            f"{counters.global_requests:,} requests, {counters.sectors_per_request:.2f} sectors each;"
            f" {counters.l2_bytes:,} bytes by sectors; at least {counters.dram_read:,} read"
            f" and {counters.dram_written:,} written",
        )
    if counters.shared_wavefronts:
        yield (
            "shared memory",
            f"{counters.shared_memory:,} bytes, {counters.shared_wavefronts:,} passes,"
            f" {counters.bank_conflicts:,} of them by bank conflicts",
        )
    if counters.flops:
        yield "operations", ", ".join(f"{unit} {count:,}" for unit, count in _sorted(counters.flops))
    yield (
        "occupancy",
        f"{counters.occupancy:.0%}: {counters.blocks_per_processor} blocks, limited by {counters.limited_by}",
    )
    bounds = ", ".join(f"{name} {seconds * 1e6:.2f}" for name, seconds in counters.roofline.items())
    yield "roofline", f"{counters.time * 1e6:.2f} µs ({bounds})"


def _sorted(counts: dict[str, int]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: -item[1])


def profile(source: str, func: str, target: str, size: int, seed: int) -> list[Report]:
    """Compile FILE.mlir or FILE.py:FUNCTION for an emulated GPU, and call it once: a report each launch."""
    programs.check_func(source, func)
    path, _, name = source.rpartition(":")
    if path.endswith(".py"):
        module, examples = programs.call_factory(Path(path), name)
        compiled = jit(module, *examples, target=target, device="emulator")
        with emulator.record() as reports:
            compiled(*examples)
        return reports
    program = running.load(programs.read_mlir(Path(source)), func, target=target, device="emulator")
    arguments = running.arguments(program, [], size, seed)
    with emulator.record() as reports:
        program.call(*arguments)
    return reports


def kernels_table(reports: Sequence[Report]) -> str:
    """A row for each launch."""
    columns = ("kernel", "grid", "block", "shared", "warp instr.", "sectors/req", "conflicts", "mma")
    rows = [(*columns, "occupancy", "roofline µs", "by")]
    for report in reports:
        counters = report.counters
        assert counters is not None
        bound = max(counters.roofline, key=lambda name: counters.roofline[name], default="")
        grid, block = ("×".join(map(str, extent)) for extent in (report.grid, report.block))
        rows.append(
            (
                report.kernel,
                grid,
                block,
                f"{counters.shared_memory:,}",
                f"{sum(counters.instructions.values()):,}",
                f"{counters.sectors_per_request:.2f}",
                f"{counters.bank_conflicts:,}",
                f"{counters.mma:,}",
                f"{counters.occupancy:.0%}",
                f"{counters.time * 1e6:.2f}",
                bound,
            )
        )
    return aligned(rows)


def hottest(report: Report, count: int) -> str:
    """The PTX lines that cost most: sectors and passes through shared memory, then instructions."""
    rows = [("line", "warps", "sectors/req", "conflicts", "source", "instruction")]
    assert report.counters is not None
    cost = sorted(report.counters.lines, key=lambda line: -(line.sectors + line.wavefronts + line.warps))
    for line in sorted(cost[:count], key=lambda line: line.line):
        rate = f"{line.sectors / line.requests:.1f}" if line.sectors else ""
        conflicts = f"{line.conflicts:,}" if line.wavefronts else ""
        rows.append((str(line.line), f"{line.warps:,}", rate, conflicts, line.source, line.text))
    return aligned(rows)


def save(arguments: Sequence[Any], folder: Path) -> list[Path]:
    """Write the arrays among the arguments, as the kernel has left them."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for number, value in enumerate(arguments):
        if isinstance(value, np.ndarray):
            paths.append(folder / f"argument_{number}.npy")
            np.save(paths[-1], value)
    return paths
