"""What ``mlopt compile`` works on: .mlir files, and functions of .py files that return a module."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from ..compiled import Compiled
from ..compiler import compile_mlir, jit
from ..errors import InputError, MloptError, user_line
from ..processors import did_you_mean

_TUPLE = "it returns a tuple, the module and its example inputs"
_REMEDY = "pass FILE.py:FUNCTION, where FUNCTION returns a module and its example inputs"


def compile_source(source: str, func: str, **options: Any) -> Compiled:
    """Compile ``FILE.mlir`` or ``FILE.py:FUNCTION``; options that are None are not given."""
    options = {name: value for name, value in options.items() if value is not None}
    check_func(source, func)
    factory = split_source(source)
    if factory is None:
        return compile_mlir(read_mlir(Path(source)), func, **options)
    module, examples = call_factory(*factory)
    return jit(module, *examples, **options)


def split_source(source: str) -> tuple[Path, str] | None:
    """The file and the function of ``FILE.py:FUNCTION``; None for an .mlir file."""
    path, colon, name = source.rpartition(":")
    if colon and path.endswith(".py"):
        return Path(path), name
    if colon and path.endswith(".mlir"):
        raise InputError(
            f"{source} is no file: of an .mlir file the function is named apart",
            remedy=f"pass {path} --func {name}" if name else f"pass {path}",
        )
    if colon and path.endswith(".pt2"):
        raise InputError(
            f"{source} is no file: an exported program is one function, without a name", remedy=f"pass {path}"
        )
    if source.endswith(".py"):
        raise InputError(
            f"{source} is Python", remedy=f"name a function that returns a module: {source}:FUNCTION"
        )
    return None


def check_func(source: str, func: str) -> None:
    """InputError if ``func`` names a function of a source that has only one to call."""
    if func != "main" and source.rpartition(":")[0].endswith(".py"):
        raise InputError(
            f"--func {func} names a function of an .mlir file, and {source} is Python",
            remedy="leave out --func; what comes behind the colon is the function that is called",
        )
    if func != "main" and source.endswith(".pt2"):
        raise InputError(
            f"--func {func} names a function of an .mlir file, and {source} is an exported program",
            remedy="leave out --func; an exported program is one function",
        )


def read_mlir(path: Path) -> str:
    """The text of an .mlir file."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {why_unread(error)}", remedy="pass an .mlir file") from None


def why_unread(error: Exception) -> str:
    """What an error on reading a file says, without the file's name."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, UnicodeDecodeError):
        return f"it is no text in UTF-8 (byte {error.start})"
    return f"{type(error).__name__}: {error}".splitlines()[0]


def stage_text(compiled: Compiled, stage: str) -> str:
    """The program after ``stage``."""
    if stage not in compiled.asm:
        raise InputError(f"there is no stage '{stage}'", remedy=f"use one of: {', '.join(compiled.asm)}")
    return compiled.asm[stage]


def write_stages(compiled: Compiled, folder: Path) -> Iterator[Path]:
    """Write ``1_linalg.mlir`` … ``6_object.s`` and ``report.txt``; yields what was written."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, (stage, text) in enumerate(compiled.asm.items(), start=1):
        suffix = "s" if stage == "object" else "mlir"
        yield _write(folder / f"{number}_{stage}.{suffix}", text)
    yield _write(folder / "report.txt", f"{compiled.report}\n")


def _write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def call_factory(path: Path, name: str) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The module and the example inputs that function ``name`` of a .py file returns."""
    if not path.is_file():
        raise InputError(f"{path} is {'a folder' if path.is_dir() else 'not there'}", remedy=_REMEDY)
    try:
        module = _import_file(path)
        factory = getattr(module, name, None)
        if not callable(factory):
            raise _no_factory(path, name, module)
        made = factory()
    except MloptError:
        raise
    except Exception as error:
        raise InputError(
            f"{path}:{name} failed: {type(error).__name__}: {error}",
            where=user_line(error),
            remedy=f"mend it: {_TUPLE}",
        ) from error
    if callable(made):
        return made, ()
    if not isinstance(made, tuple) or not made or not callable(made[0]):
        raise InputError(
            f"{path}:{name} returned no module, but something of type {type(made).__name__}",
            remedy=_TUPLE,
        )
    return made[0], made[1:]


def _no_factory(path: Path, name: str, module: ModuleType) -> InputError:
    """The error that says which functions of the file's own can be called without arguments."""
    names = [
        each
        for each, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__ and _needs_nothing(value)
    ]
    remedy = f"name one of its functions: {', '.join(names)}" if names else f"write one: {_TUPLE}"
    return InputError(f"{path} has no function '{name}'{did_you_mean(name, names)}", remedy=remedy)


def _needs_nothing(function: Callable[..., Any]) -> bool:
    try:
        inspect.signature(function).bind()
    except TypeError:
        return False
    return True


def _import_file(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, str(path.parent))  # as if it were run: it may import its neighbours
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    return module
