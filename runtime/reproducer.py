"""Reproducers: a failure as one ``.mlir`` file that says how to repeat it.

Its first lines are comments. ``// mlopt-reproducer:`` starts either of two kinds:

    // mlopt-reproducer: pipeline=builtin.module(canonicalize,mlopt-fuse)

runs that pipeline on the file's IR (``mlopt-opt FILE --run-reproducer``; a line ``// mlopt-plugins:``
names the files of further passes), and

    // mlopt-reproducer: call=mlopt.frontends.importer:import_text argument=torch_text others={…}

calls the function with the file's IR as ``argument`` (``python -P -m mlopt.runtime.reproducer FILE``):
a request that failed before a pass was noted, or one whose IR mlopt-opt cannot read.
"""

from __future__ import annotations

import ast
import contextlib
import os
import re
import shlex
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

MARK = "// mlopt-reproducer: "
PLUGINS_MARK = "// mlopt-plugins: "
KEPT_FILES = 50
_CALL = re.compile(r"call=(\S+) argument=(\S+) others=(.*)")


class Reproducer(NamedTuple):
    """``pipeline`` for mlopt-opt, or ``call`` (``module:function``) with the name of the argument that
    gets the IR and the other arguments. ``plugins`` are files that define some of the passes.
    """

    ir: str
    pipeline: str = ""
    call: str = ""
    argument: str = ""
    others: Mapping[str, Any] = {}
    plugins: tuple[str, ...] = ()

    def header(self) -> str:
        if self.pipeline:
            loads = [f"{PLUGINS_MARK}{os.pathsep.join(self.plugins)}"] if self.plugins else []
            return "\n".join([f"{MARK}pipeline={self.pipeline}", *loads])
        return f"{MARK}call={self.call} argument={self.argument} others={dict(self.others)!r}"


def parse(text: str) -> Reproducer:
    """Read a reproducer back; ValueError if the text has no usable header."""
    line = next((line for line in text.splitlines() if line.startswith(MARK)), None)
    if line is None:
        raise ValueError(f"no line that starts with '{MARK}': this file is not a reproducer")
    content = line.removeprefix(MARK)
    if content.startswith("pipeline="):
        return Reproducer(text, pipeline=content.removeprefix("pipeline="))
    match = _CALL.fullmatch(content)
    if match is None:
        raise ValueError(f"cannot read the reproducer's header: {content}")
    try:
        others = ast.literal_eval(match[3])
    except (ValueError, SyntaxError) as error:
        raise ValueError(f"the request's other arguments cannot be written down: {match[3]}") from error
    return Reproducer(text, call=match[1], argument=match[2], others=others)


def write(reproducer: Reproducer, notes: str) -> tuple[str, str]:
    """Write a file of its own, ``notes`` as comments in its head.

    Returns its path and the command that repeats the failure; two empty strings if nothing can be
    written: a full disk must not hide the failure that is being reported.
    """
    comments = "".join(f"// {line}".rstrip() + "\n" for line in notes.splitlines())
    ir = "" if not reproducer.ir else reproducer.ir.rstrip("\n") + "\n"
    try:
        path = new_file()
        with path.open("x", encoding="utf-8", errors="surrogateescape") as file:
            file.write(f"{reproducer.header()}\n{comments}\n{ir}")
    except OSError:
        return "", ""
    return str(path), command(reproducer, path)


def command(reproducer: Reproducer, path: Path) -> str:
    """The one command that repeats the failure written to ``path``."""
    if not reproducer.pipeline:
        return shlex.join([sys.executable, "-P", "-m", "mlopt.runtime.reproducer", str(path)])
    tool = Path(sys.executable).with_name("mlopt-opt")
    start = [str(tool)] if os.access(tool, os.X_OK) else [sys.executable, "-P", "-m", "mlopt.tools.opt"]
    return shlex.join([*start, str(path), "--run-reproducer"])


def private_folder() -> Path:
    """Where this user's reproducers go; nobody else can read them: they may hold a model."""
    from platformdirs import user_state_path

    folder = user_state_path("mlopt") / "reproducers"
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if folder.stat().st_uid == os.getuid() and os.access(folder, os.W_OK | os.X_OK):
            folder.chmod(0o700)
            return folder
    import tempfile

    return Path(tempfile.mkdtemp(prefix="mlopt-reproducers-"))


def new_file() -> Path:
    """The path of a file to write in that folder, from which the oldest ones go."""
    folder = private_folder()
    for path in sorted(folder.glob("*.mlir"))[: 1 - KEPT_FILES]:  # names start with the time
        path.unlink(missing_ok=True)
    return folder / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}-{os.urandom(3).hex()}.mlir"


def main() -> int:
    """Repeat a request in this very process."""
    if len(sys.argv) != 2:
        print("usage: python -P -m mlopt.runtime.reproducer FILE", file=sys.stderr)
        return 2
    path = Path(sys.argv[1])
    try:
        reproducer = parse(path.read_text(encoding="utf-8", errors="surrogateescape"))
    except (OSError, ValueError) as error:
        print(f"{path}: {error}", file=sys.stderr)
        return 2
    if reproducer.pipeline:
        print(f"{path} is for mlopt-opt; run: {command(reproducer, path)}", file=sys.stderr)
        return 2
    from .worker import resolve

    resolve(reproducer.call)(**{reproducer.argument: reproducer.ir}, **reproducer.others)
    print(f"{path}: the request went through, nothing failed", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
