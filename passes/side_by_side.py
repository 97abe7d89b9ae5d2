"""Work on several kernels at once, in processes that are forked for it: MLIR holds Python's lock as it runs.

    shares = spread(kernels, sizes, processes())
    ptx = side_by_side(lambda share: to_ptx(module, share), shares)

A forked process has all that this one has in memory, so nothing but results travels. It changes nothing here,
prints nothing, and ends with this process.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

PR_SET_PDEATHSIG = 1

T = TypeVar("T")
R = TypeVar("R")


def processes() -> int:
    """How many can work at once: this one alone if it has threads, which would leave locks held for ever."""
    if len(list(Path("/proc/self/task").iterdir())) > 1:
        return 1
    return len(os.sched_getaffinity(0))


def spread(items: Sequence[T], sizes: Sequence[int], most: int) -> list[list[T]]:
    """At most ``most`` shares of ``items``, each in their order, whose ``sizes`` add up to much the same."""
    shares: list[list[int]] = [[] for _ in range(min(most, len(items)))]
    loads = [0] * len(shares)
    for number in sorted(range(len(items)), key=lambda each: -sizes[each]):
        least = loads.index(min(loads))
        shares[least].append(number)
        loads[least] += sizes[number]
    return [[items[number] for number in sorted(share)] for share in shares]


def side_by_side(
    work: Callable[[T], R],
    shares: Sequence[T],
    *,
    pack: Callable[[R], object] = lambda result: result,
    unpack: Callable[[Any], R] = lambda data: data,
) -> list[R]:
    """What ``work`` returns for each of ``shares``: of the first here, of each other in a forked process.

    Results travel by pickle: ``pack`` makes something of one that can, ``unpack`` a result of this. What a
    process did not get done, for whatever reason, is done again here, where errors are told, and where a
    crash leaves something to repeat it. So ``work`` changes nothing that another share needs.
    """
    forked: list[_Forked] = []
    try:
        for share in shares[1:]:
            forked.append(_Forked.start(lambda each: pack(work(each)), share))
        results = [work(share) for share in shares[:1]]
        for share, process in zip(shares[1:], forked, strict=True):
            data = process.result()
            results.append(work(share) if data is None else unpack(pickle.loads(data)))
    finally:
        for process in forked:
            process.end()
    return results


@dataclass
class _Forked:
    """A forked process, and the file in memory that it leaves its result in."""

    pid: int
    file: int

    @staticmethod
    def start(work: Callable[[T], object], share: T) -> _Forked:
        file = os.memfd_create("mlopt-share")
        parent = os.getpid()
        try:
            pid = os.fork()
        except OSError:  # no memory, or too many processes: as one that does not get its work done
            return _Forked(0, file)
        if not pid:
            _be_forked(work, share, file, parent)
        return _Forked(pid, file)

    def result(self) -> bytes | None:
        """Wait for it; None if it did not get its work done."""
        if self._wait() != 0:
            return None
        with open(self.file, "rb", closefd=False) as file:
            file.seek(0)
            return file.read()

    def end(self) -> None:
        """End it, if it has not ended, and let go of the file."""
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            self._wait()
        os.close(self.file)

    def _wait(self) -> int:
        """Its exit status; 1 if there was none."""
        if not self.pid:
            return 1
        _, status = os.waitpid(self.pid, 0)
        self.pid = 0
        return status


def _be_forked(work: Callable[[T], object], share: T, file: int, parent: int) -> None:
    """Do the work and end: nothing of this process's stack may go on, nor what it does at its end."""
    status = 1
    try:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() == parent:
            silence = os.open(os.devnull, os.O_WRONLY)
            os.dup2(silence, 1)
            os.dup2(silence, 2)
            with open(file, "wb", closefd=False) as result:
                pickle.dump(work(share), result, protocol=pickle.HIGHEST_PROTOCOL)
            status = 0
    finally:
        os._exit(status)
