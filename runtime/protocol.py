"""Messages between the user's process and a worker: one private socket pair, framed bytes.

A message is a header (kind, request id, length) and a payload, which is a pickle. The id ties an
answer to its request, so an answer that nobody waits for any more cannot become another's.

A socket and not a pipe: sending to a dead worker must not raise SIGPIPE, which a program may
have set back to its default, which is to die.
"""

from __future__ import annotations

import builtins
import io
import pickle
import socket
import struct
import sys
from enum import IntEnum
from typing import Any, NamedTuple

HEADER = struct.Struct("<IIQQ")
MAGIC = 0x4D4C4F50
CHUNK = 1 << 20


class Kind(IntEnum):
    """What a message says."""

    REQUEST = 1
    STARTED = 2  # the worker took the request: from here on a death is the request's
    RESULT = 3
    ERROR = 4
    OUT_OF_MEMORY = 5  # has no payload: there may be no memory to build one


class Message(NamedTuple):
    """One message, decoded."""

    kind: Kind
    request: int
    payload: bytes | bytearray | memoryview


class ProtocolError(Exception):
    """What came over the socket is not a message."""


class RemoteError(NamedTuple):
    """An exception as a worker sends it; ``pickled`` is None if it cannot travel."""

    pickled: bytes | None
    type_name: str
    message: str
    traceback: str


def header(kind: Kind, request: int, length: int) -> bytes:
    """The bytes that come before a payload of ``length`` bytes."""
    return HEADER.pack(MAGIC, kind, request, length)


def parse_header(data: bytes | bytearray) -> tuple[Kind, int, int]:
    """Kind, request id and length of the payload; ProtocolError if these bytes are no header."""
    magic, kind, request, length = HEADER.unpack(data)
    if magic != MAGIC:
        raise ProtocolError(f"not a message header: {bytes(data)!r}")
    return Kind(kind), request, length


def send(channel: socket.socket, message: Message) -> None:
    """Write one message, blocking (the worker's side)."""
    channel.sendall(header(message.kind, message.request, len(message.payload)), socket.MSG_NOSIGNAL)
    if message.payload:
        channel.sendall(message.payload, socket.MSG_NOSIGNAL)


def receive(channel: socket.socket) -> Message | None:
    """Read one message, blocking; None when the other side has gone (the worker's side)."""
    head = _read(channel, HEADER.size)
    if head is None:
        return None
    kind, request, length = parse_header(head)
    payload = _read(channel, length)
    return None if payload is None else Message(kind, request, payload)


def _read(channel: socket.socket, length: int) -> bytearray | None:
    data = bytearray(length)
    view = memoryview(data)
    while view:
        got = channel.recv_into(view[:CHUNK])
        if got == 0:
            return None
        view = view[got:]
    return data


class Decoder:
    """Puts messages together from a non-blocking socket (the user's side)."""

    def __init__(self) -> None:
        self._start(HEADER.size)
        self._kind: Kind | None = None
        self._request = 0

    def _start(self, length: int) -> None:
        self._data = bytearray(length)
        self._filled = 0

    def read(self, channel: socket.socket) -> tuple[list[Message], bool]:
        """The messages that are complete by now, and whether the other side has gone."""
        messages: list[Message] = []
        while True:
            if self._filled == len(self._data):
                message = self._next()
                if message is not None:
                    messages.append(message)
                continue
            view = memoryview(self._data)[self._filled : self._filled + CHUNK]
            try:
                got = channel.recv_into(view)
            except (BlockingIOError, InterruptedError):
                return messages, False
            except OSError:
                return messages, True
            if got == 0:
                return messages, True
            self._filled += got

    def _next(self) -> Message | None:
        """The buffer is full: it was a header (then read its payload) or a payload."""
        if self._kind is None:
            self._kind, self._request, length = parse_header(self._data)
            self._start(length)
            return None
        message = Message(self._kind, self._request, self._data)
        self._kind = None
        self._start(HEADER.size)
        return message


class _CallersUnpickler(pickle.Unpickler):
    """Unpickles what a worker sent without importing anything into the user's process.

    A worker's objects may be of classes whose modules load mlir, and that must never happen here.
    """

    def find_class(self, module: str, name: str) -> Any:
        if module != builtins.__name__ and module not in sys.modules:
            raise pickle.UnpicklingError(f"{module}.{name} is not known to this process")
        return super().find_class(module, name)


def loads(payload: bytes | bytearray | memoryview) -> Any:
    """Unpickle in the user's process."""
    return _CallersUnpickler(io.BytesIO(payload)).load()
