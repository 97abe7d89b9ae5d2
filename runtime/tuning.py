"""Schedules that are measured (``tune=True``): each kernel with each of a few, timed inside its program.

The program is compiled with each of the candidates that mlopt-schedule knows, and called with made-up
arguments, all of these programs turn by turn, so that what else the machine does hits all alike. A clock of
the device (`tuning_device`) gives each kernel's own time, its neighbours running before and after it as they
will. Then each kernel gets the candidate that was fastest, the cost model's choice where it is as good. What
won is kept by the kernel's text, which has its shapes, dtypes and all that is fused: other programs with the
same kernel take it from there.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from .cache import Cached
from .executable import AlignedBytes, Executable
from .signature import DTYPES, Buffer
from .tuning_device import Device, threads

_ROUNDS = 30
_FEWEST_ROUNDS = 5  # and no more once the calls of all rounds took so long:
_SECONDS = 3.0
_GAIN = 0.97  # what another candidate may take of the time of the cost model's choice
_RANDOM_ELEMENTS = 1 << 20  # larger arguments repeat them
_CANDIDATE = "candidate"

Shapes = Sequence[Sequence[int]]


def tuned(
    schedules: Sequence[Mapping[str, str]],
    places: Mapping[str, Cached],
    compile_with: Callable[[str], dict[str, Any]],
    shapes: Shapes | None,
    device: Device,
) -> dict[str, Any]:
    """What ``compile_with`` makes with the fastest ``choices`` (an option of mlopt-schedule).

    ``schedules`` are those of each kernel by its name, for each candidate, and ``places`` where the cache has
    what won. ``shapes`` are the inputs', if they are known. Where nothing can be measured there is a warning,
    and the choices are the cost model's; else the metadata has them as "choices", of those kernels that
    another candidate is faster for.
    """
    names = [name for name in schedules[0] if len({found[name] for found in schedules}) > 1]
    known = {name: kept[_CANDIDATE] for name in names if (kept := places[name].load()) is not None}
    names = [name for name in names if name not in known]
    if names:
        model = compile_with("")
        measured = _measured(model, names, schedules, compile_with, shapes, device)
        if measured is None:
            return model
        for name, candidate in measured.items():
            places[name].store({_CANDIDATE: candidate})
        known |= measured
    choices = {
        name: number for name, number in known.items() if schedules[number][name] != schedules[0][name]
    }
    best = compile_with(text_of(choices)) if choices or not names else model
    return {**best, "metadata": {**best["metadata"], "choices": choices}}


def _measured(
    model: dict[str, Any],
    names: Sequence[str],
    schedules: Sequence[Mapping[str, str]],
    compile_with: Callable[[str], dict[str, Any]],
    shapes: Shapes | None,
    device: Device,
) -> dict[str, int] | None:
    """The fastest candidate of each of these kernels that runs; None, and a warning, if none can."""
    args = model["metadata"]["functions"]["main"]["args"]
    shapes = [*(shapes or ()), *(arg["shape"] for arg in args[len(shapes or ()) :])]
    if any(None in shape for shape in shapes):
        _warn("sizes are known at the call only")
        return None
    numbers = _distinct([[found[name] for name in names] for found in schedules])
    built = [model, *(compile_with(str(number)) for number in numbers[1:])]
    try:
        times = _times([device.open(one) for one in built], shapes, device)
    except Exception as error:  # what an assert of the program raises: any class of Python's
        _warn(f"with made-up arguments it does not run: {type(error).__name__}: {error}")
        return None
    by_name = [_by_scheduled(found, names, times) for found in times]
    return {
        name: numbers[_fastest([found[name] for found in by_name])]
        for name in names
        if all(name in found for found in by_name)
    }


def text_of(choices: Mapping[str, int]) -> str:
    """The option of mlopt-schedule with which each of these kernels gets its candidate."""
    return " ".join(f"{name}:{number}" for name, number in choices.items())


def _distinct(schedules: Sequence[Any]) -> list[int]:
    """The numbers of those that are like none before them."""
    return [number for number, each in enumerate(schedules) if each not in schedules[:number]]


def _by_scheduled(
    found: Mapping[str, float], names: Sequence[str], programs: Sequence[Mapping[str, float]]
) -> dict[str, float]:
    """The seconds of the kernels ``names``, of those that the programs ran.

    On a GPU a kernel may have got a longer name since (of its twin, or of a sum that has moved into it). One
    that only some of the programs have belongs to the one before it: in the others it is part of that.
    """
    seconds: dict[str, float] = {}
    last = ""
    for kernel, each in found.items():
        owner = max((name for name in names if f"{kernel}_".startswith(f"{name}_")), key=len, default="")
        if owner or all(kernel in program for program in programs):
            last = owner
        if last:
            seconds[last] = seconds.get(last, 0.0) + each
    return seconds


def _warn(why: str) -> None:
    warnings.warn(f"tune=True did not measure a program: {why}", stacklevel=2)


def _fastest(times: Sequence[float]) -> int:
    best = min(range(len(times)), key=times.__getitem__)
    return best if times[best] < _GAIN * times[0] else 0


def _times(executables: Sequence[Executable], shapes: Shapes, device: Device) -> list[dict[str, float]]:
    """For each of the programs, the seconds that each kernel takes in a call."""
    arguments = _Arguments(executables[0], shapes)
    calls = [partial(arguments.call, one) for one in executables]
    clocks = [device.clock(one) for one in executables]
    turns: list[list[dict[str, float]]] = []
    for call in calls:
        call()  # the first one meets cold caches, and pages that are not there yet
    end = time.perf_counter() + _SECONDS
    while len(turns) < _FEWEST_ROUNDS or (len(turns) < _ROUNDS and time.perf_counter() < end):
        turns.append([clock(call) for clock, call in zip(clocks, calls, strict=True)])
    return [
        {name: device.typical([each[name] for each in found]) for name in found[0]}
        for found in zip(*turns, strict=True)
    ]


class _Arguments:
    """Made-up arguments and memory for results, of which all programs take the same."""

    def __init__(self, first: Executable, shapes: Shapes) -> None:
        signature = first.main.signature
        given = [arg for arg in signature.args if arg.kind != "prepared"]
        made = [_made_up(arg, shape) for arg, shape in zip(given, shapes[: len(given)], strict=True)]
        values = [
            value if arg.scalar else first.copy_of(value)  # a number is the host's
            for arg, value in zip(given, made, strict=True)
        ]
        self._threads = threads()
        weights = [number for number, arg in enumerate(given) if arg.kind == "weight"]
        prepared = first.run_prepare(
            [values[number].address for number in weights],
            [shapes[number] for number in weights],
            self._threads,
        )
        sizes = signature.result_shapes(shapes)
        results = first.allocate(
            [prod(shape) * result.itemsize for result, shape in zip(signature.results, sizes, strict=True)]
        )
        self._memory = [*values, *prepared], results
        self._shapes = [*shapes, *sizes]

    def call(self, executable: Executable) -> None:
        values, results = ([block.address for block in blocks] for blocks in self._memory)
        executable.main.call(values, results, self._shapes, self._threads)


def _made_up(arg: Buffer, shape: Sequence[int]) -> AlignedBytes:
    """An argument: random numbers, or zeros where they may be indices or sizes."""
    count = prod(shape)
    memory = AlignedBytes(count * arg.itemsize)
    random = np.random.default_rng(0).standard_normal(min(count, _RANDOM_ELEMENTS), np.float32)
    if arg.dtype == "bf16":
        values = (random.view(np.uint32) >> 16).astype(np.uint16)  # the upper half of an f32
    elif arg.dtype.startswith("f8"):
        values = (random.astype(np.float16).view(np.uint16) >> 8).astype(np.uint8)  # of an f16, a finite one
    elif arg.dtype.startswith("f"):
        values = random.astype(DTYPES[arg.dtype][1])
    else:
        values = np.zeros(len(random), DTYPES[arg.dtype][1])
    memory.view(values.dtype)[:] = np.resize(values, count)
    return memory
