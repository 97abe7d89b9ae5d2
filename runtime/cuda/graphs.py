"""Launches that are captured as CUDA graphs and replayed: ``cuda_graph=True``.

A graph has the addresses of its tensors in it. One that was captured for a call's own tensors serves every
later call whose tensors are at the same addresses and copies nothing, and a loop that gives memory and drops
it in turn soon has the same ones again. Where addresses go on changing, a graph on buffers of its own takes
over: what changes is copied in, results are copied out. So a caller's tensors are never kept, results are
always the caller's alone, and each call may come from another thread or on another stream.

Sizes that come a second time are captured: the first call of all is made with care, and is no graph.
"""

from __future__ import annotations

import ctypes
import threading
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch

from .. import profiling
from ..executable import Block, Bound
from ..torch_place import TensorBlock, place_of
from .executable import GpuEntryPoint

MOST_PLACES = 4  # graphs for addresses of callers, for one set of sizes
MOST_SIZES = 32  # sets of sizes, for one set of weights
Replay = Callable[[], object]
Addresses = tuple[int, ...]
Tensors = Sequence[torch.Tensor | None]


class Recorder(Protocol):
    """The streams of a device, and what records on them."""

    def capture(self, launch: Callable[[], int]) -> tuple[int, Replay]:
        """What ``launch()`` returned, and what launches on the current stream all that it launched."""
        ...

    def current(self) -> Any:
        """The current stream."""
        ...

    def wait_for(self, stream: Any) -> None:
        """The current stream goes on when what is on ``stream`` now is through."""
        ...


class TorchRecorder:
    """The GPU ``index``, as torch has it."""

    def __init__(self, index: int) -> None:
        self._device = torch.device("cuda", index)
        self._own: torch.cuda.Stream | None = None

    def capture(self, launch: Callable[[], int]) -> tuple[int, Replay]:
        # Not torch.cuda.graph: it waits for the device and gives the allocator's memory back before each
        # capture. Nothing but launches happens in here, so what other code does meanwhile cannot spoil it.
        self._own = self._own or torch.cuda.Stream(self._device)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.stream(self._own):
            graph.capture_begin(capture_error_mode="relaxed")
            try:
                status = launch()
            finally:
                graph.capture_end()
        return status, graph.replay

    def current(self) -> torch.cuda.Stream:
        return torch.cuda.current_stream(self._device)

    def wait_for(self, stream: torch.cuda.Stream) -> None:
        self.current().wait_stream(stream)


@dataclass
class _Buffered:
    """A graph on buffers: ``buffers[i]`` stands for tensor ``i``; None where that is at ``fixed[i]``."""

    fixed: Addresses
    buffers: list[torch.Tensor | None]
    replay: Replay


@dataclass
class _Sizes:
    """The graphs for one set of sizes. They share what they write to, so that streams wait for each other."""

    places: dict[Addresses, Replay] = field(default_factory=dict)
    buffered: _Buffered | None = None
    workspace: Block | None = None
    counters: Block | None = None
    last: tuple[int, Any] | None = None  # the stream that was used last: its number, and what it is


class Replays:
    """Makes the launches of one entry point, as wrappers of torch tensors want them."""

    def __init__(self, entry: GpuEntryPoint, recorder: Recorder) -> None:
        self._entry = entry
        self._recorder = recorder
        # Copies in, launch and copies out of one call stay together. Nobody waits for it.
        self._lock = threading.Lock()
        self._sizes = sum(
            buffer.shape.count(None) for buffer in (*entry.signature.args, *entry.signature.results)
        )
        self._numbers = [slot for slot, arg in enumerate(entry.signature.args) if arg.scalar]
        self._broken = False

    def launch(self, kept: Bound, addresses: Addresses, tensors: Tensors, sizes: tuple[int, ...]) -> int:
        """The status of a call of these ``tensors``, arguments that are not in ``kept`` and then results.

        ``addresses`` are theirs, 0 for what is none. ``sizes`` are the dynamic ones of the entry point's
        contract and then the values of its numbers.
        """
        self._entry.look()
        # Busy: with a call in another thread, or with one that this one is part of.
        if not self._lock.acquire(blocking=False):
            return self._direct(kept, addresses, sizes)
        try:
            stream = self._entry.memory.stream()
            known: _Sizes | None = kept.graphs.get(sizes)
            # A graph in the capture of another one would be a part of it, and its buffers with it.
            if known is None or self._broken or (stream and self._machine.is_capturing(stream)):
                if known is None:
                    _remember(kept, sizes)
                return self._direct(kept, addresses, sizes)
            kept.graphs.move_to_end(sizes)
            if known.last is None or known.last[0] != stream:
                self._move(known, stream)
            replay = known.places.get(addresses)
            if replay is not None:
                replay()
                return 0
            return self._elsewhere(kept, known, addresses, tensors, sizes)
        finally:
            self._lock.release()

    def profiled(self, kept: Bound, addresses: Addresses, tensors: Tensors, sizes: tuple[int, ...]) -> int:
        """`launch` in a range called as the entry point. What is replayed has no ranges of its own."""
        opened = profiling.begin(self._entry.label)
        try:
            return self.launch(kept, addresses, tensors, sizes)
        finally:
            profiling.end(opened)

    @property
    def _machine(self) -> Any:
        return self._entry.program.machine

    def _elsewhere(
        self, kept: Bound, known: _Sizes, addresses: Addresses, tensors: Tensors, sizes: tuple[int, ...]
    ) -> int:
        """Tensors that are where no graph was captured for."""
        captures = known.buffered is None and len(known.places) < MOST_PLACES
        try:
            if captures:
                status, known.places[addresses] = self._capture(kept, known, addresses, sizes)
            else:
                status = self._fit(kept, known, addresses, tensors, sizes)
        except RuntimeError as error:
            self._broken = True
            warnings.warn(
                f"mlopt: calls of {self._entry.label} are not captured as CUDA graphs: {error}", stacklevel=4
            )
            return self._direct(kept, addresses, sizes)
        if status:  # what is wrong with these sizes was found before all was launched
            del kept.graphs[sizes]
        elif captures:
            known.places[addresses]()
        elif known.buffered is not None:
            self._copied(known.buffered, tensors)
        return status

    def _copied(self, graph: _Buffered, tensors: Tensors) -> None:
        """Copy in, replay, copy out."""
        count = len(tensors) - len(self._entry.signature.results)
        pairs = [pair for pair in zip(graph.buffers, tensors, strict=True) if pair[0] is not None]
        inputs = sum(buffer is not None for buffer in graph.buffers[:count])
        with torch.no_grad():
            _copy(pairs[:inputs])
            graph.replay()
            _copy([(own, buffer) for buffer, own in pairs[inputs:]])

    def _fit(
        self, kept: Bound, known: _Sizes, addresses: Addresses, tensors: Tensors, sizes: tuple[int, ...]
    ) -> int:
        """Have a graph on buffers for all tensors but arguments that were always where they are now."""
        before, seen = known.buffered, list(known.places)
        count = len(tensors) - len(self._entry.signature.results)
        changes = [number >= count for number in range(len(tensors))]
        if before is not None:
            changes = [buffer is not None for buffer in before.buffers]
            seen = [before.fixed]
        moved = [
            changed or any(other[number] != addresses[number] for other in seen)
            for number, changed in enumerate(changes)
        ]
        if before is not None and moved == changes:
            return 0
        with torch.inference_mode(False):
            buffers = [
                _like(tensor) if changed and tensor is not None else None
                for changed, tensor in zip(moved, tensors, strict=True)
            ]
        places = tuple(
            address if buffer is None else buffer.data_ptr()
            for address, buffer in zip(addresses, buffers, strict=True)
        )
        status, replay = self._capture(kept, known, places, sizes)
        if not status:
            known.buffered = _Buffered(places, buffers, replay)
        return status

    def _capture(
        self, kept: Bound, known: _Sizes, addresses: Addresses, sizes: tuple[int, ...]
    ) -> tuple[int, Replay]:
        frame = kept.new_frame()
        numbers = self._fill(frame.array, kept, addresses, sizes)
        entry = self._entry
        if entry.signature.workspace != 0 and known.workspace is None:
            known.workspace = entry.memory.allocate(entry.workspace_size(frame.address))
        if entry.counters and known.counters is None:
            known.counters = entry.memory.zeros(entry.counters)
        entry.give(frame, known.workspace, known.counters)

        def launch() -> int:
            frame.array[entry.threads_slot] = entry.memory.stream()
            return entry.function(frame.address)

        status, replay = self._recorder.capture(launch)
        del numbers
        return status, replay

    def _direct(self, kept: Bound, addresses: Addresses, sizes: tuple[int, ...]) -> int:
        """The launches themselves."""
        entry, frame = self._entry, kept.new_frame()
        numbers = self._fill(frame.array, kept, addresses, sizes)
        frame.array[entry.threads_slot] = entry.memory.stream()
        workspace = entry.fit_workspace(frame) if entry.fits_workspace else None
        status = entry.function(frame.address)
        del numbers, workspace
        return status

    def _fill(self, array: Any, kept: Bound, addresses: Addresses, sizes: tuple[int, ...]) -> list[Any]:
        """Write all but the stream and the workspace; keep what is returned during the launch."""
        entry, first = self._entry, kept.first
        array[:first] = addresses[:first]
        array[entry.first_result : entry.workspace_slot] = addresses[first:]
        array[entry.first_size : entry.first_size + self._sizes] = sizes[: self._sizes]
        numbers = [ctypes.c_int64(value) for value in sizes[self._sizes :]]
        for slot, number in zip(self._numbers, numbers, strict=True):
            array[slot] = ctypes.addressof(number)
        return numbers

    def _move(self, known: _Sizes, stream: int) -> None:
        """``stream`` is current now: it waits for the one that used the graphs' memory last."""
        if known.last is not None:
            self._recorder.wait_for(known.last[1])
            blocks = known.workspace, known.counters
            own = [block.tensor for block in blocks if isinstance(block, TensorBlock)]
            for tensor in (*own, *(known.buffered.buffers if known.buffered is not None else ())):
                if tensor is not None:
                    place_of(self._entry).record(tensor)
        known.last = (stream, self._recorder.current())


def _remember(kept: Bound, sizes: tuple[int, ...]) -> None:
    while len(kept.graphs) >= MOST_SIZES:
        kept.graphs.popitem(last=False)
    kept.graphs[sizes] = _Sizes()


def _like(tensor: torch.Tensor) -> torch.Tensor:
    return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=tensor.device)


def _copy(pairs: Sequence[tuple[Any, Any]]) -> None:
    """Write to the first of each pair the second."""
    if len(pairs) == 1:
        pairs[0][0].copy_(pairs[0][1])
    elif pairs:
        torch._foreach_copy_([to for to, _ in pairs], [of for _, of in pairs])
