"""What a worker is doing, written so that it can still be read after the worker has died.

A pass driver calls ``enter("func.func(canonicalize)", ir=lambda: str(module))`` before each element of
a ``builtin.module(…)`` pipeline, with how to print the module that goes into it, and
``running("canonicalize")`` before each single pass. What is not a pass at all (code generation)
calls ``phase("…")``. The worker notes these in a file in memory that it shares with the user's process,
which reads it only when a request has failed. Outside of a worker, they do nothing.

IR is printed only where that is not likely to cost more than a fiftieth of the request's CPU time, which does
not depend on what else the machine does. Between two snapshots the file lists the pipeline's elements since
the first one, so that IR and elements together always repeat what happened.
"""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Callable
from typing import NamedTuple

FREE_SECONDS = 0.005
SHARE = 0.02

_RECORD = struct.Struct("<cQ")
_ELEMENT = b"E"
_IR = b"I"
_RUNNING = b"R"


class Progress(NamedTuple):
    """How far a request came: the last IR that was noted (None: nothing but the request itself repeats
    it), the pipeline's elements from there on, and the pass or phase that was running.
    """

    ir: str | None = None
    elements: tuple[str, ...] = ()
    running: str = ""


class Recorder:
    """The worker's side: owns the shared file."""

    def __init__(self, file: int) -> None:
        self._file = file
        self.reset()

    def reset(self) -> None:
        """A new request starts."""
        self._clear()
        self._began = time.process_time()
        self._spent = self._last = 0.0

    def enter(self, element: str, ir: Callable[[], str]) -> None:
        now = time.process_time()
        if self._spent + self._last <= FREE_SECONDS + SHARE * (now - self._began):
            snapshot = ir()
            self._clear()
            self._append(_IR, snapshot)
            self._last = time.process_time() - now
            self._spent += self._last
        self._append(_ELEMENT, element)

    def running(self, text: str) -> None:
        self._append(_RUNNING, text)

    def phase(self, name: str) -> None:
        self._clear()
        self._append(_RUNNING, name)

    def _clear(self) -> None:
        os.ftruncate(self._file, 0)
        self._end = 0

    def _append(self, kind: bytes, text: str) -> None:
        data = text.encode()
        view = memoryview(_RECORD.pack(kind, len(data)) + data)
        while view:
            written = os.pwrite(self._file, view, self._end)
            self._end += written
            view = view[written:]


_recorder: Recorder | None = None


def record_to(file: int) -> Recorder:
    """Called once by a worker: from now on `enter` notes to ``file``."""
    global _recorder
    _recorder = Recorder(file)
    return _recorder


def _after_fork() -> None:
    """In a process that a worker has forked: the notes are the worker's."""
    global _recorder
    _recorder = None


os.register_at_fork(after_in_child=_after_fork)


def enter(element: str, ir: Callable[[], str]) -> None:
    """The pipeline's ``element`` is about to run on the module that ``ir`` prints."""
    if _recorder is not None:
        _recorder.enter(element, ir)


def running(text: str) -> None:
    """The pass ``text`` is about to run, within the element that was entered last."""
    if _recorder is not None:
        _recorder.running(text)


def phase(name: str) -> None:
    """Something that is no pass begins; to repeat it, the whole request must be repeated."""
    if _recorder is not None:
        _recorder.phase(name)


def read(file: int) -> Progress:
    """The user's side. The worker may have died while it wrote: a torn record is left out."""
    data = os.pread(file, os.fstat(file).st_size, 0)
    found = Progress()
    at = 0
    while at + _RECORD.size <= len(data):
        kind, length = _RECORD.unpack_from(data, at)
        at += _RECORD.size
        if at + length > len(data):
            break
        text = data[at : at + length].decode(errors="replace")
        at += length
        if kind == _IR:
            found = found._replace(ir=text)
        elif kind == _ELEMENT:
            found = found._replace(elements=(*found.elements, text), running=text)
        else:
            found = found._replace(running=text)
    return found
