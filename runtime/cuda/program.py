"""A GPU program that is loaded for one machine: its host object, its kernels, and how they are launched.

The first call of each entry point is made with care: every launch is checked against what the device
and the kernel's code allow, waited for, and what the runtime prints about it becomes an exception with the
kernel's name. Later calls go straight through; what fails in them shows at torch's next
synchronisation, as for eager's kernels. ``CUDA_LAUNCH_BLOCKING=1`` in the environment makes
all calls with care. A process that is forked from this one has no kernels: its calls say so.
"""

from __future__ import annotations

import ctypes
import os
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from ...dialects.launch_state import FUNCTIONS, IMAGE, JIT_LEVEL, LAUNCH, RUNTIME_FUNCTIONS, SIZE
from ...errors import DeviceError
from ..loader import load
from .driver import FORKED, NOT_INITIALIZED
from .limits import LaunchSizes, objection
from .machine import Machine
from .messages import Caught, caught_messages

_ENTRY = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)
_SIZE = ctypes.c_ssize_t
# mgpuLaunchKernel: function, grid and block by dimension, shared bytes, stream, parameters, extra, count.
LAUNCH_TYPE = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, *[_SIZE] * 6, ctypes.c_int32, *[ctypes.c_void_p] * 3, ctypes.c_size_t
)
BLOCKING_VARIABLE = "CUDA_LAUNCH_BLOCKING"
# Around a launch: a context manager for the kernel's name.
LaunchHook = Callable[[str], Any]


def is_blocking() -> bool:
    """Whether the environment asks for all calls to be made with care."""
    return os.environ.get(BLOCKING_VARIABLE, "") not in ("", "0")


class Program:
    """``built`` is what the compile worker returned; ``names`` are the entry points to look up."""

    def __init__(self, built: Mapping[str, Any], names: Sequence[str], machine: Machine) -> None:
        device = built["metadata"]["device"]
        self.machine = machine
        self.kernels: tuple[str, ...] = tuple(device["kernels"])
        self._launches = device["launches"]
        self.waits = is_blocking() or not machine.runs_late  # in each call, not the first alone
        self._careful = is_blocking() or not machine.prints_errors  # the same
        self._lost = False  # to a process that was forked from the one that has loaded it
        self._thread = _Thread()
        self._lock = threading.Lock()
        self.code = load(built["object"], [*names, "mlopt_load"] if self.kernels else names)
        if self.kernels:
            _programs.add(self)
            image, level = machine.image(built["ptx"], built["cubin"], device)
            self._load(image, level)

    def _load(self, image: bytes, level: int) -> None:
        functions = self.machine.functions()
        self._image = ctypes.create_string_buffer(image, len(image))
        self._state = (ctypes.c_int64 * (FUNCTIONS + len(self.kernels)))()
        self._state[: len(RUNTIME_FUNCTIONS)] = [*functions]
        self._state[IMAGE] = ctypes.addressof(self._image)
        self._state[SIZE] = len(image)
        self._state[JIT_LEVEL] = level
        self._direct = functions[LAUNCH]
        self._launch = LAUNCH_TYPE(self._direct)
        self._checked = LAUNCH_TYPE(self._launch_checked)
        with self.machine.context(), self._caught() as caught:
            status = _ENTRY(self.code.address("mlopt_load"))(ctypes.addressof(self._state))
        raised = self.machine.take_error()
        if raised is not None:
            raise raised
        if status:
            what = "the kernels" if status < 0 else f"kernel '{self.kernels[status - 1]}'"
            remedy = FORKED if NOT_INITIALIZED in caught.text else ""
            raise DeviceError(f"{self.machine.words} cannot load {what}", details=caught.text, remedy=remedy)
        self._check_constant_sizes()

    def entry(self, name: str, stream_slot: int) -> Callable[[int], int]:
        """`mlopt_NAME` of the address of its array; the stream stands in slot ``stream_slot`` there."""
        function = _ENTRY(self.code.address(f"mlopt_{name}"))
        if not self.kernels:
            return function
        blocking = is_blocking()
        fresh = True

        def call(address: int) -> int:
            nonlocal fresh
            if fresh or self._careful or self._thread.hook is not None:
                if self._lost:
                    raise DeviceError(f"{self.machine.words} has no kernels for this process", remedy=FORKED)
                stream = ctypes.c_int64.from_address(address + 8 * stream_slot).value
                waits = not self.machine.is_capturing(stream)
                status = self._with_care(function, address, waits and (fresh or blocking))
                fresh = fresh and not waits
                return status
            return int(function(address))

        return call

    def lose(self) -> None:
        """In a forked child: contexts of CUDA stay with the parent, and launches would only print errors."""
        if self.machine.prints_errors:
            self._careful = self._lost = True

    @contextmanager
    def hooked(self, hook: LaunchHook) -> Iterator[None]:
        """Inside, every launch of this thread is made in ``hook(kernel's name)``, for profilers."""
        before, self._thread.hook = self._thread.hook, hook
        try:
            yield
        finally:
            self._thread.hook = before

    def _with_care(self, function: Callable[[int], int], address: int, waits: bool) -> int:
        session = _Session(waits)
        with self._lock:  # one at a time: the table is the same for all threads
            self._thread.session = session
            self._state[LAUNCH] = ctypes.cast(self._checked, ctypes.c_void_p).value or 0
            try:
                status = int(function(address))
            finally:
                self._state[LAUNCH] = self._direct
                self._thread.session = None
        if session.failure is not None:
            raise session.failure
        return status

    def _launch_checked(self, function: int, *rest: Any) -> None:
        """In mgpuLaunchKernel's place. Nothing may be raised through the C code that calls it."""
        session = self._thread.session
        if session is None:  # a call that another thread makes meanwhile
            self._launch(function, *rest)
        elif session.failure is None:
            try:
                self._launch_one(session, function, *rest)
            except BaseException as error:
                session.failure = error

    def _launch_one(self, session: _Session, function: int, *rest: Any) -> None:
        name = self.kernels[list(self._state[FUNCTIONS:]).index(function)]
        sizes = LaunchSizes(rest[0:3], rest[3:6], rest[6])
        self._check(name, function, sizes)
        hook = self._thread.hook
        with self._caught() as caught, hook(name) if hook is not None else nullcontext():
            self._launch(function, *rest)
        raised = self.machine.take_error()
        if raised is not None:
            raise raised
        error = caught.error or (self.machine.synchronize(rest[7] or 0) if session.waits else "")
        if error:
            raise DeviceError(f"kernel '{name}' failed on {self.machine.words}: {error}", details=str(sizes))

    def _check_constant_sizes(self) -> None:
        """Refuse what can never be launched before anything is."""
        for launch in self._launches:
            number = self.kernels.index(launch["kernel"])
            self._check(launch["kernel"], self._state[FUNCTIONS + number], LaunchSizes.from_metadata(launch))

    def _check(self, name: str, function: int, sizes: LaunchSizes) -> None:
        problem = objection(sizes, self.machine.limits(), self.machine.needs(function))
        if problem:
            raise DeviceError(
                f"kernel '{name}' cannot run on {self.machine.words}: {problem}",
                details=str(sizes),
                remedy="compile for this device's own target, or report it",
            )

    def _caught(self) -> Any:
        return caught_messages() if self.machine.prints_errors else nullcontext(Caught())


class _Thread(threading.local):
    """What each thread that calls has of its own: its call with care, and its profiler's hook."""

    session: _Session | None = None
    hook: LaunchHook | None = None


class _Session:
    """One call with care: whether it waits for each kernel, and the first thing that went wrong."""

    def __init__(self, waits: bool) -> None:
        self.waits = waits
        self.failure: BaseException | None = None


_programs: weakref.WeakSet[Program] = weakref.WeakSet()


def _after_fork() -> None:
    for program in list(_programs):
        program.lose()


os.register_at_fork(after_in_child=_after_fork)
