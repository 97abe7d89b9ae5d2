"""Pages of a shared library that hold what its file holds: given back, and read again when they are used.

LLVM's library brings 40 MB of them into a process, most for the start of options and passes that linking an
object needs none of. Nothing of them is lost: the system has the file's pages anyway, and maps them again at
the next use. What the process has written (relocations, variables) stays.
"""

from __future__ import annotations

import ctypes
import mmap

_LOADED, _WRITABLE = 1, 2  # ELF's PT_LOAD and PF_W


class _Segment(ctypes.Structure):
    """Elf64_Phdr."""

    _fields_ = [("type", ctypes.c_uint32), ("flags", ctypes.c_uint32)] + [
        (name, ctypes.c_uint64) for name in ("offset", "address", "physical", "in_file", "size", "alignment")
    ]


class _Library(ctypes.Structure):
    """What dl_iterate_phdr tells of each one."""

    _fields_ = [
        ("start", ctypes.c_void_p),
        ("path", ctypes.c_char_p),
        ("segments", ctypes.POINTER(_Segment)),
        ("count", ctypes.c_uint16),
    ]


_Visitor = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Library), ctypes.c_size_t, ctypes.c_void_p)
_process = ctypes.CDLL(None)
_process.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


def give_back(name: str) -> None:
    """Give back the pages of the loaded libraries whose file has this name."""
    _process.dl_iterate_phdr(_Visitor(lambda library, _size, _data: _visit(library.contents, name)), None)


def _visit(library: _Library, name: str) -> int:
    if library.path.rpartition(b"/")[2] == name.encode():
        for segment in library.segments[: library.count]:
            if segment.type == _LOADED and not segment.flags & _WRITABLE:
                first = (library.start or 0) + segment.address
                inside = first % mmap.PAGESIZE
                _process.madvise(first - inside, segment.size + inside, mmap.MADV_DONTNEED)
    return 0  # go on
