"""Objects that can be called: entry points, the memory of a call, and statuses as exceptions.

An entry point is `int32_t f(int64_t *args)`. The array holds a pointer for each argument,
one for each result, the workspace's pointer, the number of threads, and then the dynamic
sizes of arguments and results in order. Results and workspaces start on a cache line
(`ALIGNMENT`); arguments are aligned to their elements. A `Frame` owns such an array and a workspace, and
serves one call at a time: frames wait in a list, whose `pop` and `append` are atomic, so
that any number of threads can call, and a call within a call takes a frame of its own.

This layer knows addresses only; `mlopt.runtime.torch_wrapper` and `mlopt.runtime.arrays`
know what they belong to.
"""

from __future__ import annotations

import builtins
import ctypes
import itertools
import os
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, NoReturn, Protocol

import numpy as np

from . import huge_pages, profiling
from .loader import LoadedObject, load, mentions
from .signature import Signature

ALIGNMENT = 64
_ENTRY = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)
_WORKSPACE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)


class Block(Protocol):
    """A piece of memory; it is freed when it is dropped."""

    address: int


class AlignedBytes:
    """Uninitialized memory that starts on a cache line; much of it on a huge page, and all in such.

    ResNet-18, whose workspace has 4 MB, takes 0.96 of its time on two threads of a
    Zen 4, 0.96 to 1.01 on one.
    """

    __slots__ = ("_memory", "address", "size")

    def __init__(self, size: int) -> None:
        is_large = size >= huge_pages.LEAST
        alignment = huge_pages.HUGE_PAGE if is_large else ALIGNMENT
        whole = -(-size // alignment) * alignment
        self._memory = np.empty(whole + alignment, np.uint8)
        start: int = self._memory.ctypes.data
        self.address = start + -start % alignment
        self.size = size
        if is_large:
            huge_pages.ask_for_huge_pages(self.address, whole)

    def view(self, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
        """The memory as elements of ``dtype``."""
        start = self.address - self._memory.ctypes.data
        return self._memory[start : start + self.size].view(dtype)


class Part:
    """Some bytes of a block, which lives as long as they do."""

    __slots__ = ("_block", "address")

    def __init__(self, block: Block, offset: int) -> None:
        self._block = block
        self.address = block.address + offset


class Frame:
    """The argument array of one call at a time, and its workspace."""

    __slots__ = ("address", "array", "workspace", "workspace_address")

    def __init__(self, length: int) -> None:
        self.array = (ctypes.c_int64 * length)()
        self.address = ctypes.addressof(self.array)
        self.workspace: AlignedBytes | None = None
        self.workspace_address = 0


class EntryPoint:
    """One function of a loaded object, with the layout of its argument array."""

    # Where wrappers of torch tensors look for them (mlopt.runtime.torch_place); None is the CPU.
    place: Any = None
    # The current stream, for programs that run on one; others get the number of threads.
    stream: Callable[[], int] | None = None
    # Makes the launches of calls of torch tensors in the place of `function` (mlopt.runtime.cuda.graphs).
    replays: Any = None
    # What stands in the workspace's slot before `fit_workspace`, as wrappers of the hot path write it.
    workspace_expression = "frame.workspace_address"

    def __init__(
        self,
        code: LoadedObject,
        name: str,
        signature: Signature,
        asserts: Sequence[str],
        more_slots: Sequence[str] = (),
    ) -> None:
        """``more_slots`` are the slots between the threads' and the sizes, as expressions over ``frame``."""
        self.name = name
        self.signature = signature
        self.asserts = tuple(asserts)
        self.label = name
        self.hook: Any = None  # a `profiling.HOOK` that `call` tells when a kernel begins and ends
        self.function: Callable[[int], int] = _ENTRY(code.address(f"mlopt_{name}"))
        self._hooked = None
        if hooked_name(name) in code:
            self._hooked = profiling.HOOKED_ENTRY(code.address(hooked_name(name)))
        self._frames: list[Frame] = []
        self._code = code  # the code lives as long as the function can be called
        self._workspace_bytes = None
        if signature.workspace is None:
            self._workspace_bytes = _WORKSPACE(code.address(f"mlopt_{name}_workspace"))
        self.first_result = len(signature.args)
        self.workspace_slot = self.first_result + len(signature.results)
        self.threads_slot = self.workspace_slot + 1
        self.more_slots = tuple(more_slots)
        self.first_size = self.threads_slot + 1 + len(self.more_slots)
        dynamic = sum(buffer.shape.count(None) for buffer in (*signature.args, *signature.results))
        self.length = self.first_size + dynamic

    def new_frame(self) -> Frame:
        """A frame with its workspace where the size is known already."""
        frame = Frame(self.length)
        if self.signature.workspace:
            self._give_workspace(frame, self.signature.workspace)
        return frame

    @property
    def fits_workspace(self) -> bool:
        """Whether each call needs `fit_workspace`."""
        return self.signature.workspace is None

    def fit_workspace(self, frame: Frame) -> Any:
        """Make the workspace large enough for the sizes in the frame; keep the result during the call."""
        assert self._workspace_bytes is not None
        needed = self._workspace_bytes(frame.address)
        if needed and (frame.workspace is None or frame.workspace.size < needed):
            self._give_workspace(frame, needed)

    def _give_workspace(self, frame: Frame, size: int) -> None:
        frame.workspace = AlignedBytes(size)
        frame.workspace_address = frame.workspace.address
        frame.array[self.workspace_slot] = frame.workspace_address

    def call(
        self,
        pointers: Sequence[int],
        results: Sequence[int],
        shapes: Sequence[Sequence[int]],
        threads: int,
    ) -> None:
        """Run on these addresses; ``shapes`` are those of all arguments, then of all results.

        The general way, in no hurry: wrappers of the hot path fill frames themselves.
        """
        try:
            frame = self._frames.pop()
        except IndexError:
            frame = self.new_frame()
        values = [*pointers, *results, frame.workspace_address, threads, *self.dynamic_sizes(shapes)]
        for slot, value in enumerate(values):
            frame.array[slot] = value
        if self._workspace_bytes is not None:
            self.fit_workspace(frame)
        if self.hook is not None and self._hooked is not None:
            status = self._hooked(frame.address, self.hook)
        else:
            status = (self.profiled if profiling.is_active() else self.function)(frame.address)
        self._frames.append(frame)
        if status:
            self.raise_status(status)

    def profiled(self, address: int) -> int:
        """`function`, with ranges for torch's profiler: of the call, by ``label``, and of each kernel."""
        return profiling.run(self.label, self._hooked or self._without_hook, address)

    def _without_hook(self, address: int, hook: object) -> int:  # noqa: ARG002
        return self.function(address)

    def dynamic_sizes(self, shapes: Sequence[Sequence[int]]) -> list[int]:
        """The sizes that the array holds, of arguments and results of these shapes."""
        buffers = (*self.signature.args, *self.signature.results)
        return [
            size
            for buffer, shape in zip(buffers, shapes, strict=True)
            for size, static in zip(shape, buffer.shape, strict=True)
            if static is None
        ]

    def raise_status(self, status: int) -> NoReturn:
        """Raise what eager would."""
        raise error_of(status, self.asserts, self.name)


def error_of(status: int, asserts: Sequence[str], name: str) -> Exception:
    """What eager would raise: an assert's message starts with the exception's class."""
    if not 0 < status <= len(asserts):
        return RuntimeError(f"the compiled function '{name}' returned the unknown status {status}")
    message = asserts[status - 1]
    kind_name, separator, text = message.partition(": ")
    kind = getattr(builtins, kind_name, None)
    if separator and isinstance(kind, type) and issubclass(kind, Exception):
        return kind(text)
    return RuntimeError(message)


def hooked_name(name: str) -> str:
    """The symbol of the entry point that takes a hook (mlopt-hooks)."""
    return f"mlopt_{name}_hooked"


class Bound:
    """Arguments that stay from call to call, and the frames that hold their addresses.

    They are the ``pointers`` from argument ``first`` on; ``tensors`` and ``blocks`` keep their memory, which
    was allocated on the current stream. ``streams`` are those that may use it: freed, it is given to others
    when these are through (`mlopt.runtime.torch_place.TorchPlace.share`). ``graphs`` are CUDA graphs, which
    have the addresses in them.
    """

    __slots__ = ("blocks", "entry", "first", "frames", "graphs", "pointers", "streams", "tensors")

    def __init__(
        self,
        entry: EntryPoint,
        first: int,
        pointers: Sequence[int],
        tensors: Sequence[Any] = (),
        blocks: Sequence[Block] = (),
    ) -> None:
        self.entry = entry
        self.first = first
        self.pointers = list(pointers)
        self.tensors = tensors
        self.blocks = blocks
        self.streams = {entry.stream()} if entry.stream is not None else set()
        self.frames: list[Frame] = []
        self.graphs: OrderedDict[Any, Any] = OrderedDict()

    def new_frame(self) -> Frame:
        """For a call that finds no frame in ``frames``, where it leaves this one."""
        frame = self.entry.new_frame()
        for slot, pointer in enumerate(self.pointers, self.first):
            frame.array[slot] = pointer
        return frame


class Executable:
    """A loaded object: ``main``, and ``prepare`` where something depends on weights alone.

    ``label`` is what profilers call it.
    """

    def __init__(self, code: bytes, metadata: Mapping[str, Any], label: str = "main") -> None:
        signatures = {name: Signature.from_metadata(data) for name, data in metadata["functions"].items()}
        names = [f"mlopt_{name}" for name in signatures]
        names += [f"mlopt_{name}_workspace" for name, known in signatures.items() if known.workspace is None]
        names += [hooked_name(name) for name in signatures if mentions(code, hooked_name(name))]
        loaded = load(code, names)
        asserts = metadata.get("asserts", ())
        self._set_entries(
            {name: EntryPoint(loaded, name, known, asserts) for name, known in signatures.items()}, label
        )

    def _set_entries(self, entries: Mapping[str, EntryPoint], label: str) -> None:
        self.main = entries["main"]
        self.main.label = label
        self.prepare = entries.get("prepare")
        if self.prepare is not None:
            self.prepare.label = f"{label}.prepare"

    def allocate(self, sizes: Sequence[int]) -> Sequence[Block]:
        """Memory for what is made of the weights."""
        # One piece: small ones would have no huge pages, and others only within.
        *offsets, size = itertools.accumulate((size + -size % ALIGNMENT for size in sizes), initial=0)
        whole = AlignedBytes(size)
        return [Part(whole, offset) for offset in offsets]

    def copy_of(self, values: AlignedBytes) -> Block:
        """``values`` where the program can read them."""
        return values

    def settle(self) -> None:
        """Wait for what this thread has copied for the program: other threads may use it then."""

    def run_prepare(
        self, weights: Sequence[int], shapes: Sequence[Sequence[int]], threads: int
    ) -> Sequence[Block]:
        """What @prepare makes of the weights at these addresses."""
        if self.prepare is None:
            return []
        results = self.prepare.signature.result_shapes(shapes)
        buffers = self.allocate(
            [
                prod(shape) * result.itemsize
                for result, shape in zip(self.prepare.signature.results, results, strict=True)
            ]
        )
        addresses = [buffer.address for buffer in buffers]
        self.prepare.call(weights, addresses, [*shapes, *results], threads)
        self.settle()
        return buffers


def default_threads() -> int:
    """The number of threads where torch is not there to say it: the cores this process may use."""
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return int(limit) if limit.isdecimal() and int(limit) else len(os.sched_getaffinity(0))
