"""Calls with numpy arrays, without torch."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import InputError
from .executable import ALIGNMENT, Executable, default_threads
from .signature import DTYPES, Buffer

Array = np.ndarray[Any, Any]


def array_call(executable: Executable) -> Callable[..., tuple[Array, ...]]:
    """A function from the arguments of ``main`` to its results, all of them numpy arrays.

    What @prepare makes of weights is made for each call: arrays do not tell when they change.
    """
    signature = executable.main.signature
    given = [arg for arg in signature.args if arg.kind != "prepared"]
    weights = [number for number, arg in enumerate(given) if arg.kind == "weight"]

    def call(*values: Any) -> tuple[Array, ...]:
        arrays = [
            _to_array(number, value, arg)
            for number, (value, arg) in enumerate(zip(values, given, strict=True))
        ]
        threads = _threads.count()
        kept = [arrays[number] for number in weights] if executable.prepare is not None else []
        prepared = executable.run_prepare([_address(a) for a in kept], [a.shape for a in kept], threads)
        shapes = [array.shape for array in arrays]
        shapes += [arg.shape for arg in signature.args if arg.kind == "prepared"]
        results = [
            _empty(shape, numpy_dtype(result.dtype))
            for result, shape in zip(signature.results, signature.result_shapes(shapes), strict=True)
        ]
        pointers = [*map(_address, arrays), *(buffer.address for buffer in prepared)]
        shapes += [array.shape for array in results]
        executable.main.call(pointers, [_address(array) for array in results], shapes, threads)
        return tuple(results)

    return call


class _Threads:
    """How many threads a call may use: one in a forked child of a process that has made calls.

    libgomp waits for its pool, which the child does not have.
    """

    def __init__(self) -> None:
        self._used = self._lost = False
        os.register_at_fork(after_in_child=self._forked)

    def count(self) -> int:
        if self._lost:
            return 1
        self._used = True
        return default_threads()

    def _forked(self) -> None:
        self._lost = self._used


_threads = _Threads()


ML_DTYPES = ("bfloat16", "float8_e4m3fn", "float8_e5m2")  # that numpy has from the package ml_dtypes


def numpy_dtype(name: str) -> np.dtype[Any]:
    """Numpy's dtype for one of ours; some are the package ml_dtypes'."""
    known = DTYPES[name][1]
    return dtype_of_ml_dtypes(known) if known in ML_DTYPES else np.dtype(known)


def dtype_of_ml_dtypes(name: str) -> np.dtype[Any]:
    """One of `ML_DTYPES` for numpy; `InputError` without the package."""
    try:
        import ml_dtypes
    except ImportError:
        raise InputError(
            f"a tensor is {name}, which numpy does not know",
            remedy="pass torch tensors, or install the package ml_dtypes",
        ) from None
    return np.dtype(getattr(ml_dtypes, name))


def _empty(shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
    """An uninitialized array that starts on a cache line, as entry points want their results."""
    size = math.prod(shape) * dtype.itemsize
    memory = np.empty(size + ALIGNMENT, np.uint8)
    start = -_address(memory) % ALIGNMENT
    return memory[start : start + size].view(dtype).reshape(shape)


def _address(array: Array) -> int:
    pointer: int = array.ctypes.data
    return pointer


def _to_array(number: int, value: Any, arg: Buffer) -> Array:
    """``value`` as a contiguous, aligned array in native byte order, or an error."""
    dtype = numpy_dtype(arg.dtype)
    expected = _describe(dtype, arg.shape)
    if arg.shape == () and isinstance(value, bool | int | float):
        value = np.array(value, dtype)
    if not isinstance(value, np.ndarray | np.generic):
        raise InputError(
            f"argument {number} is a {type(value).__name__}, expected an array {expected}",
            remedy="pass numpy arrays or torch tensors",
        )
    array = np.asarray(value)
    if array.dtype.newbyteorder("=") != dtype or not _fits(array.shape, arg.shape):
        raise InputError(
            f"argument {number} is {_describe(array.dtype, array.shape)}, compiled for {expected}",
            remedy="convert it, or compile again for such an argument",
        )
    return np.require(array, dtype, ["C_CONTIGUOUS", "ALIGNED"])


def _fits(shape: Sequence[int], wanted: Sequence[int | None]) -> bool:
    return len(shape) == len(wanted) and all(w is None or w == s for s, w in zip(shape, wanted, strict=True))


def _describe(dtype: np.dtype[Any], shape: Sequence[int | None]) -> str:
    return f"{dtype.name}[{', '.join('?' if size is None else str(size) for size in shape)}]"
