"""Where the tensors of compiled code are: what differs between the CPU and a GPU for a call."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from ..errors import DeviceError
from .recycled import recycler
from .torch_outputs import empty_strided_cpu

if TYPE_CHECKING:
    from .executable import AlignedBytes, Bound, EntryPoint

_PER_THREAD = 2  # cudaStreamPerThread, which is another stream in each thread
Allocate = Callable[[Sequence[int], Sequence[int], torch.dtype], torch.Tensor]


@dataclass(frozen=True)
class TorchPlace:
    """One of torch's devices.

    ``condition`` says of the tensor ``{x}`` that it is there, as an expression; ``empty_large`` makes tensors
    of `LARGE` bytes and more, or whose size is known at the call only; ``record`` notes that a tensor is used
    on the current stream.
    """

    words: str
    device: torch.device
    condition: str
    empty: Allocate
    empty_large: Allocate
    record: Callable[[torch.Tensor], None] = lambda _: None

    def has(self, tensor: torch.Tensor) -> bool:
        """Whether ``tensor`` is there."""
        return tensor.device == self.device

    def share(self, bound: Bound, stream: int) -> None:
        """The current ``stream`` uses the memory of ``bound``, too, which was allocated on another.

        Without this, the allocator would give it away while kernels of this stream still read it.
        """
        for tensor in bound.tensors:
            self.record(tensor)
        for block in bound.blocks:
            if isinstance(block, TensorBlock):
                self.record(block.tensor)
        bound.streams.add(stream)


CPU = TorchPlace("the CPU", torch.device("cpu"), "{x}.is_cpu", empty_strided_cpu, recycler.empty)


@functools.cache
def cuda_place(index: int) -> TorchPlace:
    """The GPU ``index``. Nothing asks the driver before the first call."""
    device = torch.device("cuda", index)

    def empty(shape: Sequence[int], strides: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
        return torch.empty_strided(shape, strides, dtype=dtype, device=device)

    def record(tensor: torch.Tensor) -> None:
        tensor.record_stream(torch.cuda.current_stream(device))

    return TorchPlace(f"GPU {index}", device, f"{{x}}.get_device() == {index}", empty, empty, record)


def place_of(entry: EntryPoint) -> TorchPlace:
    """Where the tensors of an entry point are."""
    place: TorchPlace | None = entry.place
    return place or CPU


def lane_of(entry: EntryPoint) -> Callable[[], int]:
    """What a call of an entry point runs on: the number of threads, or the stream."""
    return entry.stream or torch.get_num_threads


class CudaMemory:
    """torch's memory on the GPU ``index``: what is dropped can be had again at once, in stream order."""

    def __init__(self, index: int) -> None:
        self._place = cuda_place(index)
        self.stream = functools.partial(_raw_stream(), index)
        self._counters: dict[tuple[int, int], TensorBlock] = {}

    def allocate(self, size: int) -> TensorBlock:
        return TensorBlock(torch.empty(size, dtype=torch.uint8, device=self._place.device))

    def copy_of(self, values: AlignedBytes) -> TensorBlock:
        """Bytes of this process on the GPU."""
        return TensorBlock(torch.from_numpy(values.view(np.dtype(np.uint8))).to(self._place.device))

    def zeros(self, number: int) -> TensorBlock:
        """So many int32s that are 0 for what is launched next on the stream."""
        return TensorBlock(torch.zeros(number, dtype=torch.int32, device=self._place.device))

    def counters(self, number: int) -> TensorBlock:
        """Zeros that are the current stream's: kernels there run one after the other.

        In a capture others, which the graph makes 0 itself: it may be replayed beside that stream.
        """
        if torch.cuda.is_current_stream_capturing():
            return self.zeros(number)
        stream = self.stream()
        key = stream, threading.get_ident() if stream == _PER_THREAD else 0
        known = self._counters.get(key)
        if known is None or known.tensor.numel() < number:
            known = self._counters[key] = self.zeros(number)
        return known

    def status_cell(self) -> TensorBlock:
        """Pinned memory, which kernels reach by the address that it has in this process."""
        return TensorBlock(torch.zeros(1, dtype=torch.int32, pin_memory=True))


class TensorBlock:
    """The memory of a tensor."""

    __slots__ = ("address", "tensor")

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor
        self.address = tensor.data_ptr()


def current_gpu() -> int:
    """torch's current GPU; DeviceError if this torch knows none."""
    _raw_stream()
    return torch.cuda.current_device()


def _raw_stream() -> Callable[[int], int]:
    found: Callable[[int], int] | None = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    if found is None:
        raise DeviceError(
            f"torch {torch.__version__} was built without CUDA",
            remedy='install a build of torch with CUDA; or pass device="emulator"',
        )
    return found
