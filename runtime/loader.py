"""Loading objects into the user's process: object bytes become callable addresses.

llvmlite's ORC linker does it, because its LLVM is linked in statically and hidden: nothing
else in the process (torch_mlir, jax, the user's own mlir) shares symbols with it.

What an object refers to is found in four places: the OpenMP runtime (below), the small
support library (``_SUPPORT``), the function for threads' memory, which all objects share
(`mlopt.runtime.thread_scratch`), and the process itself for libc and libm.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import re
import sys
import weakref
from collections.abc import Iterable, Iterator
from pathlib import Path

import llvmlite.binding as llvm
from llvmlite.utils import get_library_name

from ..errors import MloptError
from . import library_pages, thread_scratch

OPENMP_SYMBOLS = ("GOMP_parallel", "omp_get_thread_num", "omp_get_num_threads")

# Half-precision conversions of processors without F16C; Python does not load libgcc itself.
LIBGCC_SYMBOLS = ("__extendhfsf2", "__truncsfhf2", "__truncdfhf2")


class LoadError(MloptError):
    """An object cannot be linked into this process."""


class LoadedObject:
    """An object in memory; its code is freed when the last reference to this goes."""

    def __init__(self, jit: llvm.LLJIT, tracker: llvm.ResourceTracker, names: Iterable[str]) -> None:
        self._tracker = tracker
        self._names = frozenset(names)
        weakref.finalize(self, _unload, jit, tracker).atexit = False

    def __contains__(self, name: str) -> bool:
        return name in self._names

    def address(self, name: str) -> int:
        """The address of the exported function ``name``."""
        if name not in self._names:
            raise LoadError(
                f"the object was loaded without {name!r}; loaded: {', '.join(sorted(self._names))}"
            )
        address: int = self._tracker[name]
        return address


def _unload(jit: llvm.LLJIT, tracker: llvm.ResourceTracker) -> None:
    # A linker of its own for each object: a shared one would keep its symbol tables for ever.
    tracker.close()
    jit.close()


def load(code: bytes, names: Iterable[str]) -> LoadedObject:
    """Link the object ``code`` and look up the functions ``names`` in it."""
    names = tuple(names)
    builder = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
    if any(mentions(code, symbol) for symbol in OPENMP_SYMBOLS):
        runtime = openmp_runtime()
        if runtime is None:
            builder.add_ir(_SEQUENTIAL_OPENMP)
        else:
            for symbol in OPENMP_SYMBOLS:
                builder.import_symbol(symbol, _address(runtime, symbol))
    for symbol in LIBGCC_SYMBOLS:
        if mentions(code, symbol):
            builder.import_symbol(symbol, _address(ctypes.CDLL("libgcc_s.so.1"), symbol))
    if mentions(code, thread_scratch.SYMBOL):
        builder.import_symbol(thread_scratch.SYMBOL, _thread_scratch().address(thread_scratch.SYMBOL))
    support = [text for symbol, text in _SUPPORT.items() if mentions(code, symbol)]
    for text in support:
        builder.add_ir(text)
    for name in names:
        builder.export_symbol(name)
    jit = _linker()
    try:
        loaded = LoadedObject(jit, builder.link(jit, "mlopt"), names)
    except RuntimeError as error:
        jit.close()
        raise LoadError(f"the compiled object cannot be linked into this process: {error}") from error
    if support:
        _give_back_pages()
    return loaded


_scratch: dict[str, LoadedObject] = {}


def _thread_scratch() -> LoadedObject:
    """The function for threads' memory, loaded for the first object that asks for it."""
    if not _scratch:
        try:
            text = thread_scratch.function_text()
        except OSError as error:
            raise LoadError(
                "a kernel keeps its scratch in memory of each thread, for which this process has no key left",
                details=str(error),
                remedy="libraries of this process hold all of its pthread keys (1024 on Linux): load fewer "
                "of them, or call a compiled function before they take the last one",
            ) from error
        builder = llvm.JITLibraryBuilder().add_ir(text).add_current_process()
        jit = _linker()
        tracker = builder.export_symbol(thread_scratch.SYMBOL).link(jit, thread_scratch.SYMBOL)
        # Of threads that load at the same time, one's is kept for all: objects hold addresses, no reference.
        _scratch.setdefault(thread_scratch.SYMBOL, LoadedObject(jit, tracker, [thread_scratch.SYMBOL]))
        _give_back_pages()
    return _scratch[thread_scratch.SYMBOL]


@functools.cache
def openmp_runtime() -> ctypes.CDLL | None:
    """GNU's OpenMP runtime, or None where there is none (kernels then run on one thread).

    There must be one pool of threads in a process: its idle workers spin for a while and
    would slow a second pool's. So it is torch's: the one that torch's library is linked to if torch
    is loaded already, else the one that a later ``import torch`` will find. Other packages bring copies
    under names of their own (libgomp-1a2b3c4d.so), with pools of their own.
    """
    for path in _libgomp_paths():
        try:
            library = ctypes.CDLL(path)
        except OSError:
            continue
        if all(hasattr(library, symbol) for symbol in OPENMP_SYMBOLS):
            return library
    return None


def _libgomp_paths() -> Iterator[str]:
    """Libraries in which the runtime's functions may be found, the best first."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.__file__:
        # Symbols of what a library is linked to are found through it.
        yield str(Path(torch.__file__).parent / "lib" / "libtorch_cpu.so")
    mapped = _mapped_libgomp()
    # What is loaded under the name that torch's library asks for serves it.
    yield from (path for path in mapped if Path(path).name.startswith("libgomp.so"))
    yield from _torch_libgomp()
    yield from mapped
    yield "libgomp.so.1"


def _mapped_libgomp() -> list[str]:
    try:
        maps = Path("/proc/self/maps").read_text()
    except OSError:
        return []
    return sorted(set(re.findall(r"(/\S*libgomp[^/\s]*\.so\S*)", maps)))


def _torch_libgomp() -> list[str]:
    spec = importlib.util.find_spec("torch") if "torch" not in sys.modules else None
    if spec is None or spec.origin is None:
        return []
    return [str(path) for path in (Path(spec.origin).parent / "lib").glob("libgomp*.so*")]


def _linker() -> llvm.LLJIT:
    # JITLink puts an object into one block of memory. RuntimeDyld asks for its sections one by one; where
    # they come to lie more than 2 GiB apart, as beside large tensors they may, it ends the process.
    _initialize()
    return llvm.create_lljit_compiler(use_jit_link=True)


@functools.cache
def _initialize() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    _give_back_pages()


def _give_back_pages() -> None:
    """Of LLVM's library: its start takes 40 MB of them, compiling IR 30, linking an object 8; 0.4 to 1 ms."""
    library_pages.give_back(get_library_name())


def _address(library: ctypes.CDLL, symbol: str) -> int:
    return ctypes.cast(getattr(library, symbol), ctypes.c_void_p).value or 0


def mentions(code: bytes, symbol: str) -> bool:
    """Whether the object ``code`` defines or uses ``symbol``."""
    # An ELF string table ends each name with a NUL, and may share the tails of longer ones.
    return symbol.encode() + b"\0" in code


_SEQUENTIAL_OPENMP = """
define void @GOMP_parallel(ptr %function, ptr %data, i32 %threads, i32 %flags) {
  call void %function(ptr %data)
  ret void
}
define i32 @omp_get_thread_num() {
  ret i32 0
}
define i32 @omp_get_num_threads() {
  ret i32 1
}
"""

# LLVM calls it on processors without AVX-512 BF16; libgcc has it since version 13 only.
# Round to nearest even; a NaN stays a quiet NaN.
_SUPPORT = {
    "__truncsfbf2": """
define bfloat @__truncsfbf2(float %x) {
  %bits = bitcast float %x to i32
  %high = lshr i32 %bits, 16
  %odd = and i32 %high, 1
  %bias = add i32 %odd, 32767
  %sum = add i32 %bits, %bias
  %rounded = lshr i32 %sum, 16
  %quiet = or i32 %high, 64
  %isnan = fcmp uno float %x, %x
  %result = select i1 %isnan, i32 %quiet, i32 %rounded
  %short = trunc i32 %result to i16
  %value = bitcast i16 %short to bfloat
  ret bfloat %value
}
""",
}
