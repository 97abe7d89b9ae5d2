"""What a compiled object depends on, as one hash: the program, the options, the target, the versions.

    key = sha256(kind, program's text and what goes with it, options, processor, mlopt's own code,
                 the packages that generate code, Python)

mlopt's own code is a hash of its files' contents (200 of them, 4 ms, once a process), so that a
pass that was edited never meets an object made before.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..options import Options
from ..versions import found_versions

PLUGINS_VARIABLE = "MLOPT_PASS_PLUGINS"
_SOURCES = (".py", ".mlir")
_CPU_FIELDS = ("vendor_id", "cpu family", "model", "stepping", "flags")
_FIRST_CPU = 1 << 14  # bytes; /proc/cpuinfo of a large machine is long


def key_of(kind: str, program: Mapping[str, Any], options: Options) -> str | None:
    """The key of ``program`` (plain data, by name) compiled with ``options``.

    None if what it depends on cannot be told: pass plug-ins, an unknown host processor.
    """
    processor = host_processor() if options.cpu == "host" else options.cpu
    if not processor or os.environ.get(PLUGINS_VARIABLE):
        return None
    parts = [kind, dict(program), options.key(), processor, code_version(), found_versions(), sys.version]
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


@functools.cache
def code_version() -> str:
    """A hash of mlopt's own files, as they were when it was first asked for."""
    return code_version_now()


def code_version_now() -> str:
    """A hash of the files of the package and its subpackages, names and contents."""
    return hash_of_sources(Path(__file__).resolve().parent.parent)


def hash_of_sources(root: Path) -> str:
    """A hash of the Python and MLIR files of the package in ``root``."""
    digest = hashlib.sha256()
    packages = sorted(path.parent for path in root.glob("*/__init__.py"))
    files = [path for path in root.iterdir() if path.is_file()]
    files += [path for package in packages for path in package.rglob("*")]
    for path in sorted(files):
        if path.suffix in _SOURCES:
            content = path.read_bytes()
            digest.update(f"{path.relative_to(root)} {len(content)}\n".encode())
            digest.update(content)
    return digest.hexdigest()
