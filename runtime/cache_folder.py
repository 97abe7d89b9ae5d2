"""A folder of entries, one file each: found by key, checked, bounded, the user's own.

Any number of processes share it without a lock. An entry is written to a file of another name
and then renamed, so that a reader sees all of it or nothing, whenever the writer is killed. Its
first line has a checksum of the rest: what a disk, a crash or a person damaged is a miss, and is
removed. Reading an entry sets its time; when the folder outgrows its bound, those that were not
used for longest go.

Entries are loaded as machine code. So a folder that anybody else could write to is refused, and
so is a single file.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import stat
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MAGIC = b"mlopt cache 1 "
SUFFIX = ".entry"
# A file that is being written, and how long after its last change nobody can still be at it.
_UNFINISHED = ".unfinished"
_ABANDONED_SECONDS = 3600.0
# Evicting down to less than the bound spares the next writers the work.
_KEPT_SHARE = 0.9
# Looking at all of ten thousand entries takes 0.1 s: a writer does so again after this share of the bound.
_UNSEEN_SHARE = 1 / 64
_KEY = re.compile(r"[0-9a-f]{64}")
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


class FolderRefused(Exception):  # noqa: N818
    """The folder cannot be used: which, why, and what to do."""


@dataclass(frozen=True)
class Entry:
    """One file of the folder: its bytes on disk, and when it was last used (seconds since 1970)."""

    key: str
    size: int
    used: float


class Folder:
    """The entries in ``path``, of at most ``limit`` bytes together.

    That and up to a 64th of it for each `Folder` that is written through: each looks at the others'
    entries when it is written to for the first time, and after each 64th.
    """

    def __init__(self, path: Path, limit: int) -> None:
        self.path = path
        self.limit = limit
        self._unseen: int | None = None  # bytes written since it last looked

    def open(self) -> None:
        """Make the folder if need be; `FolderRefused` if it is not this user's alone to write."""
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            found = self.path.stat()
        except OSError as error:
            raise FolderRefused(f"{self.path} cannot be made: {error.strerror}") from None
        if found.st_uid != os.geteuid():
            raise FolderRefused(f"{self.path} belongs to the user number {found.st_uid}, not to you")
        if found.st_mode & _OTHERS_MAY_WRITE:
            raise FolderRefused(f"others may write to {self.path} (chmod go-w makes it yours)")

    def get(self, key: str) -> tuple[dict[str, Any], bytes] | None:
        """The header and the content stored under ``key``; None if there is none, or a damaged one."""
        path = self._file(key)
        try:
            data = _read_own(path)
        except OSError:
            return None
        found = _unpack(key, data)
        with contextlib.suppress(OSError):
            if found is None:
                path.unlink()
            else:
                os.utime(path)
        return found

    def put(self, key: str, header: Mapping[str, Any], content: bytes) -> None:
        """Store ``content``, in place of an older one; OSError if that is not possible.

        What alone is larger than the bound is not stored.
        """
        data = _pack(key, header, content)
        if len(data) > self.limit:
            return
        draft = self.path / f"{os.getpid()}-{os.urandom(6).hex()}{_UNFINISHED}"
        try:
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(data)
            draft.replace(self._file(key))
        except BaseException:
            with contextlib.suppress(OSError):
                draft.unlink()
            raise
        if self._unseen is not None:
            self._unseen += len(data)
        if self._unseen is None or self._unseen > self.limit * _UNSEEN_SHARE:
            self._keep_bound()
            self._unseen = 0

    def entries(self) -> list[Entry]:
        """All entries, the last used first."""
        found = [Entry(name.removesuffix(SUFFIX), size, used) for name, size, used in self._files(SUFFIX)]
        return sorted(found, key=lambda entry: (-entry.used, entry.key))

    def header(self, key: str) -> dict[str, Any]:
        """The header of an entry, unchecked and without counting as a use; empty if it cannot be read."""
        try:
            with self._file(key).open("rb") as file:
                file.readline(len(MAGIC) + 66)
                header = json.loads(file.readline(1 << 16))
        except (OSError, ValueError):
            return {}
        return header if isinstance(header, dict) else {}

    def clear(self) -> int:
        """Remove everything; the number of entries that went."""
        entries = self.entries()
        for name, _, _ in [*self._files(SUFFIX), *self._files(_UNFINISHED)]:
            (self.path / name).unlink(missing_ok=True)
        return len(entries)

    def _file(self, key: str) -> Path:
        if not _KEY.fullmatch(key):
            raise ValueError(f"not a key: {key!r}")
        return self.path / f"{key}{SUFFIX}"

    def _files(self, suffix: str) -> Iterator[tuple[str, int, float]]:
        """Name, size and time of the files with ``suffix``; others may remove some meanwhile."""
        try:
            with os.scandir(self.path) as files:
                for file in files:
                    if file.name.endswith(suffix):
                        with contextlib.suppress(OSError):
                            known = file.stat(follow_symlinks=False)
                            yield file.name, known.st_size, known.st_mtime
        except OSError:
            return

    def _keep_bound(self) -> None:
        """Remove what nobody finished, and the entries beyond the bound.

        Every writer looks after its own rename, and the last one to look sees all entries: so the bound
        holds without a lock, but for what was written since by those that have not looked again.
        """
        now = time.time()
        total = 0
        for name, size, changed in self._files(_UNFINISHED):
            total += size
            if now - changed > _ABANDONED_SECONDS:
                total -= size
                (self.path / name).unlink(missing_ok=True)
        entries = self.entries()
        total += sum(entry.size for entry in entries)
        if total <= self.limit:
            return
        while entries and total > self.limit * _KEPT_SHARE:
            oldest = entries.pop()
            self._file(oldest.key).unlink(missing_ok=True)
            total -= oldest.size


def _read_own(path: Path) -> bytes:
    """The content of a plain file that nobody but this user could have written, else an OSError."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        found = os.fstat(file.fileno())
        own = found.st_uid == os.geteuid() and not found.st_mode & _OTHERS_MAY_WRITE
        if not own or not stat.S_ISREG(found.st_mode):
            raise PermissionError(f"{path} is not this user's alone to write")
        return file.read()


def _pack(key: str, header: Mapping[str, Any], content: bytes) -> bytes:
    body = json.dumps({**header, "key": key}).encode() + b"\n" + content
    return MAGIC + hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def _unpack(key: str, data: bytes) -> tuple[dict[str, Any], bytes] | None:
    """Header and content, if the entry is whole and is the one stored under ``key``."""
    first, _, body = data.partition(b"\n")
    if first != MAGIC + hashlib.sha256(body).hexdigest().encode():
        return None
    text, _, content = body.partition(b"\n")
    header = json.loads(text)
    return (header, content) if header.get("key") == key else None
