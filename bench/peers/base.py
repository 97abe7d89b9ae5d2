"""What a peer has to be able to do, and the task that it is given."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

if TYPE_CHECKING:
    import torch

    from ..workloads import Workload

Call = Callable[[], object]
_ALIGNMENT = 64


@dataclass(frozen=True)
class Task:
    """A workload, the threads to run it with, and the folder with what was prepared of it.

    torch is imported only where a peer asks for a module or tensors.
    """

    name: str
    threads: int
    folder: Path

    @functools.cached_property
    def workload(self) -> Workload:
        from ..workloads import WORKLOADS

        return WORKLOADS[self.name]

    @functools.cached_property
    def module(self) -> torch.nn.Module:
        return self.workload.module()

    @functools.cached_property
    def inputs(self) -> tuple[torch.Tensor, ...]:
        """`arrays` as tensors."""
        import torch

        return tuple(map(torch.from_numpy, self.arrays))

    @functools.cached_property
    def arrays(self) -> Sequence[np.ndarray[Any, Any]]:
        """The inputs. Their memory starts where a vector may, and is numpy's for all peers.

        It is in huge pages, where torch's own is not, and is read a third faster where it is large.
        """
        paths = sorted(self.folder.glob("input-*.npy"))
        return [_aligned(np.load(path, mmap_mode="r")) for path in paths]

    @property
    def onnx(self) -> Path:
        """The module as an ONNX file."""
        return self.folder / "model.onnx"

    @property
    def exact(self) -> Path:
        """The result of float64 eager, as an array."""
        return self.folder / "exact.npy"


class Peer(ABC):
    """A way to run a module. One object runs one task, in a process of its own.

    ``requirements`` are what pip installs, ``needs`` what must then be there to import. ``keeps``: compiled
    code is kept on disk, in ``cache`` as `environment` says. ``exported``: it reads the task's ONNX file.
    ``kernels``: how many a call runs, once it is built; None of a peer that does not tell.
    """

    name: ClassVar[str]
    requirements: ClassVar[tuple[str, ...]] = ()
    needs: ClassVar[tuple[str, ...]] = ()
    keeps: ClassVar[bool] = False
    exported: ClassVar[bool] = False
    kernels: int | None = None

    @staticmethod
    def environment(threads: int, cache: Path) -> dict[str, str]:
        """Environment variables of its process."""
        del cache
        return {"OMP_NUM_THREADS": str(threads)}

    @abstractmethod
    def load(self, threads: int) -> None:
        """Import what it takes and hold it to so many threads: what no compile time counts."""

    def read(self, task: Task) -> None:
        """Make the module and its inputs, which no compile time counts either."""
        if not self.exported:
            _ = task.module, task.inputs  # both are made once

    @abstractmethod
    def build(self, task: Task) -> Call:
        """Compile, down to a call that computes the result."""

    def array(self, result: Any) -> np.ndarray[Any, Any]:
        """What a call returned."""
        return np.asarray(result)


def _aligned(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    memory = np.empty(values.nbytes + _ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % _ALIGNMENT
    copy = memory[start : start + values.nbytes].view(values.dtype).reshape(values.shape)
    copy[...] = values
    return copy
