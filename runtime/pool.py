"""Calls into worker processes: nothing that a request does can take the user's process down.

    pool.start()
    text = pool.call("import", "mlopt.frontends.importer:import_text", timeout=60.0,
                     reproducer="torch_text", torch_text=…, weights=[…])

The named function is imported and called in a worker of that role. Workers stay until they have been idle
for ten seconds; one that dies, or that is in the middle of something when its caller stops waiting, is
ended. The next call gets another. Any number of threads may call. A forked child starts workers of its own.
"""

from __future__ import annotations

import atexit
import os
import pickle
import threading
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .failures import Call
from .keeper import Keeper
from .outcome import Request

DEFAULT_TIMEOUT = 600.0
SHUTDOWN_SECONDS = 5.0
SMALLEST_MEMORY = 4 << 30


class Pool:
    """``workers``: how many of each role at most. ``memory``: the address space of each, in bytes; 0
    for no limit, None for a limit that leaves the machine usable.
    """

    def __init__(self, workers: Mapping[str, int] | None = None, memory: int | None = None) -> None:
        cores = len(os.sched_getaffinity(0))
        self._workers = dict(workers or {"import": 1, "compile": cores})
        self._memory = _usable_memory() if memory is None else memory
        self._keeper: Keeper | None = None
        self._lock = threading.Lock()
        _pools.add(self)

    def start(self) -> None:
        """Start one worker of each role, so that they load while the caller does something else."""
        keeper = self._get_keeper()
        for role in self._workers:
            keeper.start(role)

    def call(
        self,
        role: str,
        function: str,
        *,
        timeout: float | None = DEFAULT_TIMEOUT,
        reproducer: str = "",
        **kwargs: Any,
    ) -> Any:
        """What ``function`` (``module:name``) returns for ``kwargs``, or the exception that it raises.

        ``timeout`` in seconds, None for none; ``reproducer`` names the argument that holds IR: then the
        call is a compilation, and its failures are a `MloptError` with a reproducer.
        """
        if role not in self._workers:
            raise ValueError(f"no workers for role '{role}'; there are: {', '.join(self._workers)}")
        if reproducer and reproducer not in kwargs:
            raise ValueError(
                f"reproducer='{reproducer}' is not one of the call's arguments: {', '.join(kwargs)}"
            )
        call = Call(role, function, reproducer, kwargs, timeout, self._memory)
        payload = pickle.dumps((function, kwargs), protocol=pickle.HIGHEST_PROTOCOL)
        request = Request(role, payload, timeout)
        keeper = self._get_keeper()
        try:
            keeper.submit(request)
            outcome = request.wait(keeper.ended)
        except BaseException:  # Ctrl-C, or what a signal handler of the user's raises
            keeper.cancel(request)
            raise
        return call.result(outcome)

    def pids(self, role: str) -> list[int]:
        """The running workers of a role."""
        return [] if self._keeper is None else self._keeper.pids(role)

    def shutdown(self) -> None:
        """End the workers; a later call starts new ones."""
        keeper, self._keeper = self._keeper, None
        if keeper is not None:
            keeper.stop(SHUTDOWN_SECONDS)

    def _get_keeper(self) -> Keeper:
        keeper = self._keeper
        if keeper is not None and keeper.accepts():
            return keeper
        with self._lock:
            if self._keeper is None or not self._keeper.accepts():
                self._keeper = Keeper(self._workers, self._memory)
            return self._keeper

    def _forget(self) -> None:
        """In a forked child: the workers and the threads that may hold the lock are the parent's."""
        keeper, self._keeper = self._keeper, None
        self._lock = threading.Lock()
        if keeper is not None:
            keeper.abandon()


def _usable_memory() -> int:
    """Three quarters of what this process may use."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for file in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            memory = min(memory, int(Path(file).read_text()))
        except (OSError, ValueError):  # no such group, or "max"
            continue
    return max(SMALLEST_MEMORY, memory * 3 // 4)


_pools: weakref.WeakSet[Pool] = weakref.WeakSet()
_default = Pool()
_owner = os.getpid()

start = _default.start
call = _default.call
pids = _default.pids
shutdown = _default.shutdown


def _after_fork() -> None:
    global _owner
    _owner = os.getpid()
    for pool in list(_pools):
        pool._forget()


def _at_exit() -> None:
    # A child made past Python's back (a C library's fork) must not end its parent's workers.
    if os.getpid() == _owner:
        for pool in list(_pools):
            pool.shutdown()


os.register_at_fork(after_in_child=_after_fork)
atexit.register(_at_exit)
