"""What a compiled object depends on, as one hash: the program, the options, the target, the versions.

    key = sha256(kind, program's text and what goes with it, options, processor, mlopt's own code,
                 the packages that generate code, Python, for a GPU also NVIDIA's assembler)

mlopt's own code is a hash of its files' contents (400 of them, 10 ms, once a process), so that a
pass that was edited never meets an object made before.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import sys
import time
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from ..options import Options
from ..versions import found_versions
from .cuda.chips import is_cuda
from .cuda.ptxas import tool_paths

PLUGINS_VARIABLE = "MLOPT_PASS_PLUGINS"
_SOURCES = (".py", ".mlir", ".toml")
_CPU_FIELDS = ("vendor_id", "cpu family", "model", "stepping", "flags")
_SETTLED = 2.0  # seconds, by when a file that changes again has another time
_FIRST_CPU = 1 << 14  # bytes; /proc/cpuinfo of a large machine is long


def key_of(kind: str, program: Mapping[str, Any], options: Options) -> str | None:
    """The key of ``program`` (plain data, by name) compiled with ``options``.

    None if what it depends on cannot be told: passes of the user's, an unknown host processor.
    """
    processor = host_processor() if options.cpu == "host" else options.cpu
    foreign = options.passes or options.pass_plugins or os.environ.get(PLUGINS_VARIABLE)
    if not processor or foreign:
        return None
    tools = assemblers() if is_cuda(options.target) else []
    code, versions = code_version(), found_versions()
    parts = [kind, dict(program), options.key(), processor, code, versions, sys.version, tools]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


@functools.cache
def host_processor() -> str:
    """What tells this machine's processor from others in LLVM's eyes; empty if it is not known."""
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8") as file:
            text = file.read(_FIRST_CPU).split("\n\n", 1)[0]
    except OSError:
        return ""
    found = dict(re.findall(r"^([^\t:]+?)\s*: (.*)$", text, re.MULTILINE))
    if any(name not in found for name in _CPU_FIELDS):
        return ""
    return json.dumps([found[name] for name in _CPU_FIELDS])


def assemblers() -> list[tuple[str, int, int]]:
    """The ptxas that may make a GPU's machine code: where each is, its size and time of change."""
    found = [(path, Path(path).stat()) for path in tool_paths("ptxas")]
    return [(path, stat.st_size, stat.st_mtime_ns) for path, stat in found]


@functools.cache
def code_version() -> str:
    """A hash of mlopt's own files, as they were when it was first asked for."""
    return code_version_now()


def code_version_now() -> str:
    """A hash of the files of the package and its subpackages, names and contents.

    They are read again (15 ms) only if the file system says that a file or a folder has changed (2 ms).
    """
    global _hashed
    if _hashed is None or _hashed[0] is None or _hashed[0] != stamp(_hashed[1]):
        root = Path(__file__).resolve().parent.parent
        looked_at = [str(path) for path in chain(*_tree(root))]
        _hashed = stamp(looked_at), looked_at, hash_of_sources(root)
    return _hashed[2]


Stamp = list[tuple[int, int]] | None
_hashed: tuple[Stamp, list[str], str] | None = None


def stamp(paths: list[str]) -> Stamp:
    """Equal to an earlier one if nothing in ``paths`` has changed between the two.

    None, which is equal to nothing, if there has been a change just now: the next may have the same time.
    """
    try:
        found = [os.stat(path) for path in paths]  # noqa: PTH116 (half the time)
    except OSError:
        return None
    if max(each.st_ctime for each in found) > time.time() - _SETTLED:
        return None
    return [(each.st_ino, each.st_ctime_ns) for each in found]


def hash_of_sources(root: Path) -> str:
    """A hash of the Python and MLIR files of the package in ``root``, and of its data files."""
    digest = hashlib.sha256()
    for path in sorted(_tree(root)[0]):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(root)} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def _tree(root: Path) -> tuple[list[Path], list[Path]]:
    """The files of ``root`` and its subpackages, and the folders; others of a checkout do not matter."""
    files, folders = [], [root]
    with os.scandir(root) as entries:
        listing = list(entries)
    for entry in listing:
        if entry.name.endswith(_SOURCES):
            files.append(Path(entry.path))
        elif entry.is_dir() and Path(entry.path, "__init__.py").exists():
            for folder, inner, names in os.walk(entry.path):
                inner[:] = [name for name in inner if name != "__pycache__"]
                folders.append(Path(folder))
                files += [Path(folder, name) for name in names if name.endswith(_SOURCES)]
    return files, folders
