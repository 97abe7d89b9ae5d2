"""``mlopt cache``: what the compile cache holds, and emptying it."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import Any

from ..errors import MloptError
from ..options import Options
from ..runtime.cache import cache_path
from ..runtime.cache_folder import Folder, FolderRefused


@dataclass(frozen=True)
class Stored:
    """One entry: its key, what it was compiled from, bytes on disk, seconds since it was made and used.

    ``made`` is None where the entry cannot be read.
    """

    key: str
    label: str
    size: int
    made: float | None
    used: float


@dataclass(frozen=True)
class Contents:
    """The cache's folder, its bound in bytes, and its entries, the last used first."""

    folder: str
    limit: int
    entries: tuple[Stored, ...]

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return sum(entry.size for entry in self.entries)

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        return {**asdict(self), "size": self.size}


def contents() -> Contents:
    """What is in the cache that the environment names."""
    options = Options.resolve()
    folder = _folder(options)
    now = time.time()
    found = []
    for entry in folder.entries():
        header = folder.header(entry.key)
        made = header.get("made")
        age = None if made is None else max(0.0, now - made)
        found.append(
            Stored(entry.key, str(header.get("label", "")), entry.size, age, max(0.0, now - entry.used))
        )
    return Contents(str(folder.path), folder.limit, tuple(found))


def clear() -> int:
    """Empty the cache; the number of entries that went."""
    return _folder(Options.resolve()).clear()


def ago(seconds: float | None) -> str:
    """An age in words of at most seven letters: "5 s", "3 min", "7 h", "12 days"."""
    if seconds is None:
        return "?"
    for unit, length in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"


def megabytes(size: int) -> str:
    """Bytes as MB."""
    return f"{size / (1 << 20):.2f} MB"


def _folder(options: Options) -> Folder:
    folder = Folder(cache_path(options), options.cache_megabytes << 20)
    try:
        folder.open()
    except FolderRefused as error:
        raise MloptError(
            f"the compile cache cannot be used: {error}", remedy="or name another folder: MLOPT_CACHE_DIR"
        ) from None
    return folder
