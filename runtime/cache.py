"""The compile cache: what the workers made of a program, kept on disk under what it depends on.

    cached = Cached("linalg", {"text": text, "func_name": "main"}, options, label="main")
    built = cached.load()             # None: not there; no worker was asked
    if built is None:
        cached.store(built := …)      # only what succeeded gets here

An entry is a ZIP archive with the object, the metadata as JSON, and the text of each stage,
which is unpacked when somebody looks at it. Whatever is wrong with the cache is one warning,
and compilation goes on without it.
"""

from __future__ import annotations

import functools
import io
import json
import time
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..options import Options
from .cache_folder import Folder, FolderRefused
from .cache_key import code_version, code_version_now, key_of

_STAGES = "stages/"
_DATA = "data/"
_BYTES = "bytes/"
_FASTER = 3  # of deflate's levels: a third larger than the best, ten times as fast


class Cached:
    """One program's place in the cache; ``kind`` and ``program`` (plain data) say what it is.

    ``label`` names it for people.
    """

    def __init__(self, kind: str, program: Mapping[str, Any], options: Options, label: str = "") -> None:
        self.label = label
        self._folder = folder_of(options) if options.cache else None
        self._key = key_of(kind, program, options) if self._folder is not None else None

    def load(self) -> dict[str, Any] | None:
        """What was stored for this program, or None."""
        if self._folder is None or self._key is None:
            return None
        found = self._folder.get(self._key)
        return unpack(found[1]) if found is not None else None

    def store(self, built: Mapping[str, Any]) -> None:
        """Keep what a worker made: bytes and plain data by name, and texts under "stages"."""
        if self._folder is None or self._key is None:
            return
        if code_version_now() != code_version():
            return  # mlopt was edited while this process ran: who knows which code the worker had
        header = {"label": self.label, "made": time.time()}
        try:
            self._folder.put(self._key, header, pack(built))
        except OSError as error:
            _warn_once(f"{self._folder.path} cannot be written: {error.strerror or error}")


def folder_of(options: Options) -> Folder | None:
    """The cache's folder, or None with a warning if it must not be used."""
    folder = _folder(cache_path(options), options.cache_megabytes << 20)
    try:
        folder.open()
    except FolderRefused as error:
        _warn_once(str(error))
        return None
    return folder


@functools.cache
def _folder(path: Path, limit: int) -> Folder:
    """One for all programs: it remembers how much was written through it."""
    return Folder(path, limit)


def cache_path(options: Options) -> Path:
    """Where the cache is: ``cache_dir``, or the user's cache folder."""
    if options.cache_dir:
        return Path(options.cache_dir).expanduser().absolute()
    from platformdirs import user_cache_path

    return user_cache_path("mlopt")


@functools.cache
def _warn_once(reason: str) -> None:
    warnings.warn(f"mlopt compiles without its cache on disk: {reason}", stacklevel=2)


def pack(built: Mapping[str, Any]) -> bytes:
    """A worker's result as the bytes of an archive; TypeError for what is not plain data."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=_FASTER) as archive:
        for name, value in built.items():
            if name == "stages":
                for stage, text in value.items():
                    archive.writestr(_STAGES + stage, text)
            elif isinstance(value, bytes):
                archive.writestr(_BYTES + name, value)
            else:
                archive.writestr(_DATA + name, json.dumps(value))
    return buffer.getvalue()


def unpack(content: bytes) -> dict[str, Any]:
    """What `pack` was given; the stages' texts stay packed until they are read."""
    archive = zipfile.ZipFile(io.BytesIO(content))
    built: dict[str, Any] = {}
    for member in archive.namelist():
        folder, _, name = member.partition("/")
        if folder + "/" == _BYTES:
            built[name] = archive.read(member)
        elif folder + "/" == _DATA:
            built[name] = json.loads(archive.read(member))
    built["stages"] = PackedTexts(archive)
    return built


class PackedTexts(Mapping[str, str]):
    """The stages' texts in an archive, by stage."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        names = (name for name in archive.namelist() if name.startswith(_STAGES))
        self._members = {name.removeprefix(_STAGES): name for name in names}

    def __getitem__(self, stage: str) -> str:
        return self._archive.read(self._members[stage]).decode()

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)
