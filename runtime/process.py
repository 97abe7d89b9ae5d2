"""One worker process as its owner sees it: start it, talk to it, end it, say how it died."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import socket
import subprocess
import sys
from collections import deque
from pathlib import Path

from . import progress
from .protocol import CHUNK, Decoder

LOG_BYTES = 64 << 10
REAP_SECONDS = 5.0


class WorkerProcess:
    """A started worker. Made and used by one thread that outlives it: the worker asks the kernel to
    be killed when its parent dies, and for the kernel the parent is the thread that started it.
    """

    def __init__(self, role: str, memory: int) -> None:
        self.role = role
        self.decoder = Decoder()
        self.log = _memory_file("mlopt-log", os.O_APPEND)
        self.notes = _memory_file("mlopt-progress")
        ours, theirs = socket.socketpair()
        self.channel = socket.socket(fileno=above_standard(ours.detach()))
        try:
            self.popen = subprocess.Popen(
                [
                    *(sys.executable, "-P", "-u", "-m", "mlopt.runtime.worker", role),
                    *("--parent", str(os.getpid()), "--progress", str(self.notes), "--memory", str(memory)),
                ],
                stdin=theirs.fileno(),
                stdout=self.log,
                stderr=self.log,
                pass_fds=[self.notes],
                start_new_session=True,
                cwd="/",
                env=_environment(),
            )
        except BaseException:
            self.close()
            raise
        finally:
            theirs.close()
        self.channel.setblocking(False)

    @property
    def pid(self) -> int:
        return self.popen.pid

    def forget(self) -> None:
        """A new request starts: what is noted or printed from here on belongs to it."""
        os.ftruncate(self.log, 0)
        os.ftruncate(self.notes, 0)

    def push(self, outgoing: deque[memoryview]) -> bool:
        """Send what the worker can take now; whether all has been sent."""
        while outgoing:
            try:
                sent = self.channel.send(outgoing[0][:CHUNK], socket.MSG_NOSIGNAL)
            except (BlockingIOError, InterruptedError):
                return False
            except OSError:  # it has died, which reading will find out
                outgoing.clear()
                return True
            rest = outgoing.popleft()[sent:]
            if rest:
                outgoing.appendleft(rest)
        return True

    def read_log(self) -> str:
        """The end of what the worker printed."""
        size = os.fstat(self.log).st_size
        return os.pread(self.log, LOG_BYTES, max(0, size - LOG_BYTES)).decode(errors="replace")

    def read_progress(self) -> progress.Progress:
        return progress.read(self.notes)

    def kill(self) -> None:
        """Kill the worker and what it started, and collect its exit status."""
        if self.popen.poll() is None:
            with contextlib.suppress(OSError):
                os.killpg(self.popen.pid, signal.SIGKILL)
        # A process stuck in the kernel cannot be collected now; `subprocess` does it later.
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.popen.wait(REAP_SECONDS)

    def exit_status(self) -> str:
        """How a worker that `kill` has collected ended."""
        code = self.popen.returncode
        if code is None or code == 0:  # 0: or the user's own code collected it first
            return "ended"
        if code > 0:
            return f"ended with exit status {code}"
        with contextlib.suppress(ValueError):
            return f"was killed by {signal.Signals(-code).name}"
        return f"was killed by signal {-code}"

    def close(self) -> None:
        self.channel.close()
        for file in (self.log, self.notes):
            os.close(file)

    def abandon(self) -> None:
        """In a forked child: let go of a worker that is the parent's."""
        self.popen.returncode = 0
        self.close()


def above_standard(file: int) -> int:
    """``file`` under a number above 2. A user's process may have closed its standard streams, and
    what it prints must not end up in a file of ours that got the free number.
    """
    try:
        return fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, 3)
    finally:
        os.close(file)


def _memory_file(name: str, flags: int = 0) -> int:
    """A file without a name that lives in memory."""
    file = above_standard(os.memfd_create(name))
    fcntl.fcntl(file, fcntl.F_SETFL, fcntl.fcntl(file, fcntl.F_GETFL) | flags)
    return file


def _environment() -> dict[str, str]:
    """The user's, without the current directory on the path, and with fixed hashes: equal requests
    give equal bits. No threads for numpy's products, of which a worker makes none: it forks instead.
    """
    environment = dict(os.environ)
    environment["PYTHONHASHSEED"] = "0"
    environment["OPENBLAS_NUM_THREADS"] = "1"
    path = environment.get("PYTHONPATH", "").split(os.pathsep)
    kept = [str(Path(entry).absolute()) for entry in path if entry not in ("", os.curdir)]
    environment.pop("PYTHONPATH", None)
    if kept:
        environment["PYTHONPATH"] = os.pathsep.join(kept)
    return environment
