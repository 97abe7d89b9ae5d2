"""What ``mlopt run`` does: make arguments for a compiled .mlir file, call it, and time it."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError
from ..options import Options
from ..runtime import requests
from ..runtime.arrays import array_call
from ..runtime.opening import open_executable
from ..runtime.signature import DTYPES, Buffer

_SHOWN = 4

Array = Any  # a numpy array, or a torch tensor where numpy lacks the dtype


@dataclass(frozen=True)
class Program:
    """A compiled function: how to call it, what it takes, how long compiling took."""

    call: Callable[..., Sequence[Array]]
    args: tuple[Buffer, ...]
    seconds: float


@dataclass(frozen=True)
class Outcome:
    """The results of the last call, and the seconds of the first and of a typical one."""

    results: Sequence[Array]
    first: float
    median: float


def load(text: str, func: str, **options: Any) -> Program:
    """Compile MLIR text into a program."""
    start = time.perf_counter()
    resolved = Options.resolve(**{name: value for name, value in options.items() if value is not None})
    built = requests.build(text, resolved, func)
    executable = open_executable(built, resolved)
    signature = executable.main.signature
    args = tuple(arg for arg in signature.args if arg.kind != "prepared")
    if any(buffer.dtype == "bf16" for buffer in (*args, *signature.results)):
        from ..torch_module import tensor_call  # numpy has no bfloat16

        return Program(tensor_call(executable), args, time.perf_counter() - start)
    return Program(array_call(executable), args, time.perf_counter() - start)


def arguments(program: Program, files: Sequence[Path], size: int, seed: int) -> list[Array]:
    """An array for each argument: from ``files`` as far as they go, then random."""
    if len(files) > len(program.args):
        raise InputError(f"{len(files)} input files for {len(program.args)} arguments")
    generator = np.random.default_rng(seed)
    loaded = [_load(path) for path in files]
    rest = program.args[len(files) :]
    made = [*loaded, *(_random(arg, size, generator) for arg in rest)]
    return [
        _as_bfloat16(value) if arg.dtype == "bf16" else value
        for value, arg in zip(made, program.args, strict=True)
    ]


def measure(program: Program, values: Sequence[Array], repeat: int) -> Outcome:
    """Call the program once, and ``repeat`` times more."""
    results, first = _timed(program, values)
    times = []
    for _ in range(repeat):
        results, seconds = _timed(program, values)
        times.append(seconds)
    return Outcome(results, first, statistics.median(times))


def describe(array: Array) -> tuple[str, str, str]:
    """Dtype, shape and the first values, as text."""
    flat = _as_numpy(array).reshape(-1)
    shown = ", ".join(f"{value:.6g}" for value in flat[:_SHOWN].tolist())
    dtype = str(array.dtype).removeprefix("torch.")
    return dtype, "×".join(map(str, array.shape)) or "scalar", shown + (", …" if flat.size > _SHOWN else "")


def save(results: Sequence[Array], folder: Path) -> Iterator[Path]:
    """Write each result to ``result_N.npy`` (bfloat16 as float32)."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, result in enumerate(results):
        path = folder / f"result_{number}.npy"
        np.save(path, _as_numpy(result))
        yield path


def _timed(program: Program, values: Sequence[Array]) -> tuple[Sequence[Array], float]:
    start = time.perf_counter()
    results = program.call(*values)
    return results, time.perf_counter() - start


def _load(path: Path) -> Array:
    try:
        return np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise InputError(
            f"{path} cannot be read: {error}", remedy="pass a .npy file, as numpy.save writes it"
        ) from None


def _random(arg: Buffer, size: int, generator: np.random.Generator) -> Array:
    """Normal floats; small non-negative integers, which are likely to be indices in bounds."""
    shape = tuple(size if extent is None else extent for extent in arg.shape)
    if arg.dtype == "bool":
        return generator.integers(0, 2, shape).astype(bool)
    if arg.dtype == "bf16":
        return generator.standard_normal(shape).astype(np.float32)
    name = DTYPES[arg.dtype][1]
    if "int" in name:
        return generator.integers(0, 4, shape).astype(name)
    return generator.standard_normal(shape).astype(name)


def _as_bfloat16(value: Array) -> Array:
    import torch

    return torch.from_numpy(np.ascontiguousarray(value)).to(torch.bfloat16)


def _as_numpy(array: Array) -> np.ndarray[Any, Any]:
    return array if isinstance(array, np.ndarray) else array.float().numpy()
