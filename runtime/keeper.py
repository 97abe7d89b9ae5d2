"""The keeper: one thread that owns all workers of a pool, from their start to their end.

User threads only hand it requests and wait. So a worker is never left half-read by a thread that
got an exception (Ctrl-C), nobody waits on a lock that a dead thread holds, and the workers' parent,
for the kernel a thread, lives as long as the process does.
"""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from .outcome import End, Outcome, Request
from .process import WorkerProcess, above_standard
from .protocol import Kind, Message, ProtocolError, header

IDLE_SECONDS = 10.0  # a worker holds 180 MB; another starts in 0.3 s, while torch still traces
MAX_ATTEMPTS = 2


@dataclass(eq=False)
class Worker:
    """A worker process and what it is doing."""

    process: WorkerProcess
    request: Request | None = None
    started: bool = False  # it has acknowledged the request
    deadline: float | None = None
    idle_since: float = 0.0
    outgoing: deque[memoryview] = field(default_factory=deque)


class Keeper:
    """``limits`` says how many workers a role may have, ``memory`` how many bytes each of them."""

    def __init__(self, limits: Mapping[str, int], memory: int) -> None:
        self._limits = limits
        self._memory = memory
        self._commands: deque[Callable[[], None]] = deque()
        self._queues: dict[str, deque[Request]] = {role: deque() for role in limits}
        self._workers: dict[int, Worker] = {}  # by the number of their socket
        self._running = True
        self._poll = select.poll()
        self._wake = above_standard(os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC))
        self._poll.register(self._wake, select.POLLIN)
        self._thread = threading.Thread(target=self._run, name="mlopt-keeper", daemon=True)
        self._thread.start()

    # What other threads call. Appending to a deque needs no lock.

    def submit(self, request: Request) -> None:
        self._command(lambda: self._queues[request.role].append(request))

    def cancel(self, request: Request) -> None:
        request.cancelled = True
        self._command(lambda: self._cancel(request))

    def start(self, role: str) -> None:
        """Have a worker of this role ready."""
        self._command(lambda: self._start_first(role))

    def stop(self, seconds: float) -> None:
        """End all workers and the thread; wait for that, though not for ever."""
        self._command(self._stop)
        self._thread.join(seconds)

    def accepts(self) -> bool:
        """Whether a request that is submitted now will be served."""
        return self._running and self._thread.is_alive()

    def ended(self) -> bool:
        return not self._thread.is_alive()

    def pids(self, role: str) -> list[int]:
        """The workers of a role, for reports and tests."""
        return [w.process.pid for w in list(self._workers.values()) if w.process.role == role]

    def abandon(self) -> None:
        """In a forked child, where the thread does not exist: let go of all that is the parent's."""
        self._running = False
        self.__del__()
        for worker in self._workers.values():
            worker.process.abandon()
            if worker.request is not None:
                worker.request.finish(Outcome(End.CANCELLED, how="the process was forked meanwhile"))
        for queue in self._queues.values():
            for request in queue:
                request.finish(Outcome(End.CANCELLED, how="the process was forked meanwhile"))

    def __del__(self) -> None:
        wake, self._wake = self._wake, -1
        if wake >= 0:
            os.close(wake)

    def _command(self, command: Callable[[], None]) -> None:
        self._commands.append(command)
        os.eventfd_write(self._wake, 1)

    # What only the keeper's thread calls.

    def _run(self) -> None:
        # Signals are for the threads of the user.
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        why = "the pool was shut down"
        try:
            while self._running:
                self._turn()
        except BaseException as error:
            why = f"internal error in the keeper: {error!r}"
            raise
        finally:
            self._running = False
            self._end(why)

    def _turn(self) -> None:
        for number, event in self._poll.poll(self._patience()):
            if number == self._wake:
                os.eventfd_read(self._wake)
            elif number in self._workers:
                self._attend(number, event)
        while self._commands:
            self._commands.popleft()()
        now = time.monotonic()
        for worker in list(self._workers.values()):
            if worker.deadline is not None and now >= worker.deadline:
                self._lose(worker, End.TIMEOUT)
        self._retire_idle(now)
        for role in self._queues:
            self._dispatch(role)

    def _patience(self) -> int | None:
        """Milliseconds until something must happen without an event; None for ever."""
        times = [w.deadline for w in self._workers.values() if w.deadline is not None]
        times += [w.idle_since + IDLE_SECONDS for w in self._resting()]
        if not times:
            return None
        return max(0, int((min(times) - time.monotonic()) * 1000) + 1)

    def _dispatch(self, role: str) -> None:
        queue = self._queues[role]
        while queue:
            if queue[0].cancelled:
                queue.popleft()
                continue
            worker = self._idle(role) or self._start(role)
            if worker is not None:
                self._give(worker, queue.popleft())
            elif self._count(role) >= self._limits[role]:
                return

    def _count(self, role: str) -> int:
        return sum(w.process.role == role for w in self._workers.values())

    def _idle(self, role: str) -> Worker | None:
        """The worker that was busy last: its caches are warm, and the others retire."""
        idle = [w for w in self._workers.values() if w.process.role == role and w.request is None]
        return max(idle, key=lambda w: w.idle_since, default=None)

    def _start_first(self, role: str) -> None:
        if self._count(role) == 0:
            self._start(role)

    def _start(self, role: str) -> Worker | None:
        """A new worker, or None: there are enough, or it cannot be started, which is the failure of
        the request that needs it.
        """
        if self._count(role) >= self._limits[role]:
            return None
        try:
            process = WorkerProcess(role, self._memory)
        except Exception as error:  # no memory, no file numbers, no Python to start
            if self._queues[role]:
                self._queues[role].popleft().finish(Outcome(End.NOT_STARTED, how=str(error)))
            return None
        worker = Worker(process, idle_since=time.monotonic())
        self._workers[process.channel.fileno()] = worker
        self._poll.register(process.channel, select.POLLIN)
        return worker

    def _give(self, worker: Worker, request: Request) -> None:
        request.attempts += 1
        worker.request = request
        worker.started = False
        worker.deadline = None if request.timeout is None else time.monotonic() + request.timeout
        worker.process.forget()
        worker.outgoing.append(memoryview(header(Kind.REQUEST, request.id, len(request.payload))))
        worker.outgoing.append(memoryview(request.payload))
        self._poll.modify(worker.process.channel, select.POLLIN | select.POLLOUT)

    def _attend(self, number: int, event: int) -> None:
        """Read what a worker has sent, write what it can take."""
        worker = self._workers[number]
        if event & ~select.POLLOUT:
            try:
                messages, gone = worker.process.decoder.read(worker.process.channel)
                for message in messages:
                    self._hear(worker, message)
            except (ProtocolError, ValueError, MemoryError):
                gone = True
            if number not in self._workers:  # what it said ended it
                return
            if gone:
                self._lose(worker, End.DIED)
                return
        if event & select.POLLOUT and worker.process.push(worker.outgoing):
            self._poll.modify(number, select.POLLIN)

    def _hear(self, worker: Worker, message: Message) -> None:
        request = worker.request
        if request is None or message.request != request.id:
            raise ProtocolError("an answer that nobody asked for")
        if message.kind == Kind.STARTED:
            worker.started = True
        elif message.kind == Kind.OUT_OF_MEMORY:
            self._lose(worker, End.OUT_OF_MEMORY)
        else:
            outcome = Outcome(End.RESULT, message.payload)
            if message.kind == Kind.ERROR:
                log, progress = worker.process.read_log(), worker.process.read_progress()
                outcome = Outcome(End.ERROR, message.payload, log=log, progress=progress)
            worker.request = None
            worker.deadline = None
            worker.idle_since = time.monotonic()
            request.finish(outcome)

    def _lose(self, worker: Worker, end: End) -> None:
        """End a worker; its request ends with it, or goes to another if it was not begun."""
        self._poll.unregister(worker.process.channel)
        del self._workers[worker.process.channel.fileno()]
        worker.process.kill()
        request = worker.request
        if request is not None and not request.cancelled:
            if end == End.DIED and not worker.started and request.attempts < MAX_ATTEMPTS:
                self._queues[worker.process.role].appendleft(request)
            else:
                process = worker.process
                log, progress = process.read_log(), process.read_progress()
                request.finish(Outcome(end, how=process.exit_status(), log=log, progress=progress))
        worker.process.close()

    def _cancel(self, request: Request) -> None:
        """The user's thread waits no longer. A worker in the middle of it cannot be asked to stop."""
        for worker in list(self._workers.values()):
            if worker.request is request:
                self._lose(worker, End.CANCELLED)
        request.finish(Outcome(End.CANCELLED))

    def _resting(self) -> list[Worker]:
        return [w for w in self._workers.values() if w.request is None]

    def _retire_idle(self, now: float) -> None:
        for worker in self._resting():
            if now >= worker.idle_since + IDLE_SECONDS:
                self._lose(worker, End.CANCELLED)

    def _stop(self) -> None:
        self._running = False

    def _end(self, why: str) -> None:
        for worker in list(self._workers.values()):
            if worker.request is not None:
                worker.request.finish(Outcome(End.CANCELLED, how=why))
            self._lose(worker, End.CANCELLED)
        while self._commands:
            self._commands.popleft()()
        for queue in self._queues.values():
            while queue:
                queue.popleft().finish(Outcome(End.CANCELLED, how=why))
