"""Schedules that are measured (``tune=True``): each kernel with each of a few, timed inside its program.

The program is compiled with each of the candidates that mlopt-schedule knows, and called with made-up
arguments, all of these programs turn by turn, so that what else the machine does hits all alike. The hooks
around kernels (mlopt-hooks) give each kernel's own time, its neighbours running before and after it as they
will. Then each kernel gets the candidate that was fastest, the cost model's choice where it is as good.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from . import profiling
from .executable import AlignedBytes, Executable, default_threads
from .signature import DTYPES, Buffer

_ROUNDS = 30
_FEWEST_ROUNDS = 5  # and no more once the calls of all rounds took so long:
_SECONDS = 3.0
_GAIN = 0.97  # what another candidate may take of the time of the cost model's choice
_RANDOM_ELEMENTS = 1 << 20  # larger arguments repeat them

Shapes = Sequence[Sequence[int]]


def tuned(
    schedules: Sequence[Mapping[str, str]],
    compile_with: Callable[[str], dict[str, Any]],
    shapes: Shapes | None,
) -> dict[str, Any]:
    """What ``compile_with`` makes with the fastest ``choices`` (an option of mlopt-schedule).

    ``schedules`` are those of each kernel by its name, for each candidate. ``shapes`` are the inputs', if
    they are known. Where nothing can be measured there is a warning, and the choices are the cost model's;
    else the metadata has them as "choices", of those kernels that another candidate is faster for.
    """
    model = compile_with("")
    args = model["metadata"]["functions"]["main"]["args"]
    shapes = [*(shapes or ()), *(arg["shape"] for arg in args[len(shapes or ()) :])]
    in_main = [each["name"] for each in model["metadata"]["kernels"] if each["function"] == "main"]
    numbers = _distinct([[found.get(name) for name in in_main] for found in schedules])
    if len(numbers) == 1:
        return {**model, "metadata": {**model["metadata"], "choices": {}}}
    if any(None in shape for shape in shapes):
        _warn("sizes are known at the call only")
        return model
    built = [model, *(compile_with(str(number)) for number in numbers[1:])]
    try:
        times = _times([Executable(one["object"], one["metadata"]) for one in built], shapes)
    except Exception as error:  # what an assert of the program raises: any class of Python's
        _warn(f"with made-up arguments it does not run: {type(error).__name__}: {error}")
        return model
    choices = {
        name: numbers[_fastest([found[name] for found in times])] for name in in_main if name in times[0]
    }
    found = {
        name: number
        for name, number in choices.items()
        if schedules[number].get(name) != schedules[0].get(name)
    }
    best = compile_with(text_of(found)) if found else model
    return {**best, "metadata": {**best["metadata"], "choices": found}}


def text_of(choices: Mapping[str, int]) -> str:
    """The option of mlopt-schedule with which each of these kernels gets its candidate."""
    return " ".join(f"{name}:{number}" for name, number in choices.items())


def _distinct(schedules: Sequence[Any]) -> list[int]:
    """The numbers of those that are like none before them."""
    return [number for number, each in enumerate(schedules) if each not in schedules[:number]]


def threads() -> int:
    """As many as a call would use."""
    torch = sys.modules.get("torch")
    return int(torch.get_num_threads()) if torch else default_threads()


def _warn(why: str) -> None:
    warnings.warn(f"tune=True did not measure a program: {why}", stacklevel=2)


def _fastest(times: Sequence[float]) -> int:
    best = min(range(len(times)), key=times.__getitem__)
    return best if times[best] < _GAIN * times[0] else 0


def _times(executables: Sequence[Executable], shapes: Shapes) -> list[dict[str, float]]:
    """For each of the programs, the seconds that each kernel takes in a call.

    The least of all turns: others' work makes a kernel slower, never faster.
    """
    arguments = _Arguments(executables[0], shapes)
    clocks = [_Clock() for _ in executables]
    turns: list[list[dict[str, float]]] = []
    for one in executables:
        arguments.call(one, None)  # the first call meets cold caches, and pages that are not there yet
    end = time.perf_counter() + _SECONDS
    while len(turns) < _FEWEST_ROUNDS or (len(turns) < _ROUNDS and time.perf_counter() < end):
        for one, clock in zip(executables, clocks, strict=True):
            clock.seconds = {}
            arguments.call(one, clock.hook)
        turns.append([clock.seconds for clock in clocks])
    return [
        {name: min(each[name] for each in found) for name in found[0]} for found in zip(*turns, strict=True)
    ]


class _Clock:
    """The seconds in each kernel, as the hook tells of their begin and end."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.hook = profiling.HOOK(self._tell)
        self._start = 0.0

    def _tell(self, kernel: bytes, begins: int) -> None:
        now = time.perf_counter()
        if begins:
            self._start = now
        else:
            name = kernel.decode()
            self.seconds[name] = self.seconds.get(name, 0.0) + now - self._start


class _Arguments:
    """Made-up arguments and memory for results, of which all programs take the same."""

    def __init__(self, first: Executable, shapes: Shapes) -> None:
        signature = first.main.signature
        given = [arg for arg in signature.args if arg.kind != "prepared"]
        values = [_made_up(arg, shape) for arg, shape in zip(given, shapes[: len(given)], strict=True)]
        self._threads = threads()
        weights = [number for number, arg in enumerate(given) if arg.kind == "weight"]
        prepared = first.run_prepare(
            [values[number].address for number in weights],
            [shapes[number] for number in weights],
            self._threads,
        )
        sizes = signature.result_shapes(shapes)
        results = [
            AlignedBytes(prod(shape) * result.itemsize)
            for result, shape in zip(signature.results, sizes, strict=True)
        ]
        self._memory = [*values, *prepared], results
        self._shapes = [*shapes, *sizes]

    def call(self, executable: Executable, hook: Any) -> None:
        values, results = ([block.address for block in blocks] for blocks in self._memory)
        executable.main.hook = hook
        executable.main.call(values, results, self._shapes, self._threads)


def _made_up(arg: Buffer, shape: Sequence[int]) -> AlignedBytes:
    """An argument: random numbers, or zeros where they may be indices or sizes."""
    count = prod(shape)
    memory = AlignedBytes(count * arg.itemsize)
    random = np.random.default_rng(0).standard_normal(min(count, _RANDOM_ELEMENTS), np.float32)
    if arg.dtype == "bf16":
        values = (random.view(np.uint32) >> 16).astype(np.uint16)  # the upper half of an f32
    elif arg.dtype.startswith("f"):
        values = random.astype(DTYPES[arg.dtype][1])
    else:
        values = np.zeros(len(random), DTYPES[arg.dtype][1])
    memory.view(values.dtype)[:] = np.resize(values, count)
    return memory
