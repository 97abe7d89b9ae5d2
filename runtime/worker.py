"""A worker process: imports the function that a request names, calls it, sends back what it returned.

Started by `mlopt.runtime.process` as ``python -P -m mlopt.runtime.worker ROLE …``; its standard
input is the socket to the user's process, its output and errors go to a file there.

``-P`` keeps the user's directory, with whatever ``torch.py`` or ``mlir.py`` lies in it, off the
path. The worker dies with the process that started it, is the first that the kernel picks when
memory runs out, and does not hear the terminal's Ctrl-C: ending it is the user's process's
business.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import faulthandler
import importlib
import os
import pickle
import resource
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import progress
from .protocol import Kind, Message, RemoteError, receive, send

PR_SET_PDEATHSIG = 1

# What a role's requests will need; imported before the first one comes.
PRELOAD = {
    "import": ("mlopt.frontends.importer",),
    "compile": ("mlopt.pipelines.compile",),
}


def main() -> None:
    """Serve requests until the user's process goes away."""
    options = _parse(sys.argv[1:])
    channel = _private_channel()
    _take_precautions(options.parent, options.memory)
    recorder = progress.record_to(options.progress)
    for module in PRELOAD.get(options.role, ()):
        # If it cannot be imported, the request that needs it says so.
        with contextlib.suppress(Exception):
            importlib.import_module(module)
    _serve(channel, recorder)
    # No destructors: what a request left behind must not crash a worker that has done its work.
    os._exit(0)


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="mlopt.runtime.worker", description="mlopt's worker process")
    parser.add_argument("role")
    parser.add_argument("--parent", type=int, required=True, help="the process to die with")
    parser.add_argument("--progress", type=int, required=True, help="file descriptor for the progress notes")
    parser.add_argument(
        "--memory", type=int, default=0, help="limit of the address space in bytes; 0 is none"
    )
    return parser.parse_args(arguments)


def _private_channel() -> socket.socket:
    """Take the socket from standard input, so that nothing else can read from it."""
    channel = socket.socket(fileno=os.dup(0))
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    return channel


def _take_precautions(parent: int, memory: int) -> None:
    # The thread that started this process blocks all signals, and that is inherited.
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it died before the line above
        os._exit(0)

    with contextlib.suppress(OSError), Path("/proc/self/oom_score_adj").open("w") as file:
        file.write("1000")
    faulthandler.enable(all_threads=False)
    _limit(resource.RLIMIT_CORE, 0)
    if memory:
        _limit(resource.RLIMIT_AS, memory)


def _limit(which: int, value: int) -> None:
    _, hard = resource.getrlimit(which)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(which, (value, hard))


def _serve(channel: socket.socket, recorder: progress.Recorder) -> None:
    while (message := receive(channel)) is not None:
        send(channel, Message(Kind.STARTED, message.request, b""))
        recorder.reset()
        try:
            answer = _answer(message)
        except MemoryError:
            # Nobody knows what was half-done when it hit: this worker has served its last request.
            send(channel, Message(Kind.OUT_OF_MEMORY, message.request, b""))
            return
        send(channel, answer)
        del message, answer


def _answer(message: Message) -> Message:
    try:
        function, kwargs = pickle.loads(message.payload)
        result = pickle.dumps(resolve(function)(**kwargs), protocol=pickle.HIGHEST_PROTOCOL)
    except MemoryError:
        raise
    except BaseException as error:  # SystemExit too: it must not end the worker without an answer
        return Message(Kind.ERROR, message.request, pickle.dumps(_describe(error)))
    return Message(Kind.RESULT, message.request, result)


def resolve(function: str) -> Callable[..., Any]:
    """The function that ``module:function`` names."""
    module, _, name = function.partition(":")
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    if not callable(found):
        raise TypeError(f"{function} is not callable")
    return found


def _describe(error: BaseException) -> RemoteError:
    """The exception as bytes where that works both ways, and always as text."""
    kind = type(error)
    pickled = None
    with contextlib.suppress(Exception):
        data = pickle.dumps(error, protocol=pickle.HIGHEST_PROTOCOL)
        pickle.loads(data)
        pickled = data
    try:
        message = str(error)
    except Exception:
        message = "(its message cannot be printed)"
    trace = "".join(traceback.format_exception(error))
    module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    return RemoteError(pickled, f"{module}{kind.__qualname__}", message, trace)


if __name__ == "__main__":
    main()
