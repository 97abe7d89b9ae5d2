"""From a pass name to the pass, by the name alone.

``mlopt-foo-bar`` is the `Pass` subclass in ``passes/foo_bar.py``; ``mlopt-cpu-foo`` and
``mlopt-gpu-foo`` live in ``passes/cpu/foo.py`` and ``passes/gpu/foo.py``. Nothing is
imported before it is asked for.

Passes from outside the package (tests plant some) come from plug-ins: Python files named
by ``mlopt-opt --load-pass-plugin FILE`` or by the environment variable
``MLOPT_PASS_PLUGINS``, a path list that worker processes inherit. Other packages bring theirs by
entry points of the group ``mlopt.passes`` (mlopt-opt reads them).
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType

from .base import Pass

PREFIX = "mlopt-"
PLUGINS_VARIABLE = "MLOPT_PASS_PLUGINS"
ENTRY_POINT_GROUP = "mlopt.passes"

_ROOT = os.path.dirname(__file__)  # noqa: PTH120 (pathlib takes 6 ms, which mlopt-opt counts)
_SUBPACKAGES = ("cpu", "gpu")
_plugins: dict[str, type[Pass]] = {}
_installed: dict[str, str] = {}
_files: dict[str, str] = {}  # where a plug-in's pass comes from


class PluginError(ImportError):
    """A file that `PLUGINS_VARIABLE` names, or an entry point, cannot be used; the message says why."""


class UnknownPassError(LookupError):
    """No pass has this name; the message says which ones come close."""


def find_pass(name: str) -> type[Pass]:
    """The pass class called ``name``, or `UnknownPassError` with a suggestion."""
    _load_plugins_of_environment()
    if name in _plugins:
        return _plugins[name]
    if name in _installed:
        return _load_installed(name)
    return _find_own(name)


@functools.cache
def _find_own(name: str) -> type[Pass]:
    module_name = _module_of(name)
    if not _is_own(name):
        raise UnknownPassError(f"unknown pass '{name}'{did_you_mean(name, pass_names())}")
    module = importlib.import_module(f".{module_name}", __package__)
    found = [cls for cls in _passes_in(module) if cls.name == name]
    if len(found) != 1:
        raise UnknownPassError(f"{module_name} must define one pass called '{name}', it has {len(found)}")
    return found[0]


def is_ours(name: str) -> bool:
    """Whether ``name`` is for `find_pass`: a plug-in may call its passes as it likes."""
    _load_plugins_of_environment()
    return name.startswith(PREFIX) or is_foreign(name)


def is_foreign(name: str) -> bool:
    """Whether ``name`` is a pass from outside of the package."""
    return name in _plugins or name in _installed


def pass_names() -> list[str]:
    """All passes of the package and of the plug-ins, sorted; imports none of them."""
    _load_plugins_of_environment()
    own = [name for name in _named_by_files() if f'"{name}"' in _text_of(_file_of(_module_of(name)))]
    return sorted({*own, *_plugins, *_installed})


def foreign_passes() -> dict[str, str]:
    """The passes from outside of the package, each with what brings it, in words."""
    brought = {name: f"the entry point '{name} = {place}'" for name, place in _installed.items()}
    return brought | {name: f"the pass plug-in {file}" for name, file in _files.items()}


def summary_of(cls: type[Pass]) -> str:
    """The first line of a pass's docstring (or of its file's)."""
    text = cls.__doc__ or sys.modules[cls.__module__].__doc__ or ""
    return text.strip().split("\n", 1)[0]


def load_plugin(path: str | os.PathLike[str]) -> list[str]:
    """Register the passes that the Python file ``path`` defines, and return their names."""
    file = os.path.realpath(path)
    stem = os.path.splitext(os.path.basename(file))[0]  # noqa: PTH119, PTH122
    spec = importlib.util.spec_from_file_location(f"mlopt_pass_plugin_{stem}", file)
    if spec is None or spec.loader is None or not os.path.isfile(file):  # noqa: PTH113
        raise FileNotFoundError(f"pass plug-in {file} is not a Python file that can be read")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    passes = {cls.name: cls for cls in _passes_in(module)}
    if not passes:
        raise ImportError(f"pass plug-in {file} defines no subclass of mlopt.passes.base.Pass with a name")
    if own := next(filter(_is_own, passes), ""):
        raise ImportError(f"pass plug-in {file} calls a pass '{own}', as mlopt does: give it another name")
    _plugins.update(passes)
    _files.update(dict.fromkeys(passes, file))
    return sorted(passes)


@contextmanager
def registered_for_now() -> Iterator[None]:
    """What is registered inside is forgotten at the end."""
    _load_plugins_of_environment()
    kept = [dict(_plugins), dict(_installed), dict(_files)]
    try:
        yield
    finally:
        for now, before in zip((_plugins, _installed, _files), kept, strict=True):
            now.clear()  # type: ignore[attr-defined]
            now.update(before)  # type: ignore[attr-defined]


def plugins_of(names: Iterable[str]) -> list[str]:
    """The files of the plug-ins that define the passes called ``names``, each once."""
    return list(dict.fromkeys(_files[name] for name in names if name in _files))


def add_installed(places: Mapping[str, str]) -> None:
    """Passes of other packages (entry-point group ``mlopt.passes``): name to ``module:class``.

    Each is imported when it is first asked for. `PluginError` for one that is called like mlopt's own.
    """
    if own := next(filter(_is_own, places), ""):
        raise PluginError(
            f"the entry point '{own} = {places[own]}' calls a pass '{own}', as mlopt does: "
            "give it another name"
        )
    _installed.update(places)


def _load_installed(name: str) -> type[Pass]:
    module, _, attribute = _installed[name].partition(":")
    cls = getattr(importlib.import_module(module), attribute, None)
    if not (isinstance(cls, type) and issubclass(cls, Pass) and cls.name == name):
        raise UnknownPassError(
            f"the entry point '{name} = {_installed[name]}' must be a mlopt.passes.base.Pass of that name"
        )
    return cls


def did_you_mean(word: str, candidates: Iterable[str]) -> str:
    """``"; did you mean 'x'?"`` for the candidates nearest to ``word``, or an empty string."""
    import difflib

    short = {_without_prefix(candidate): candidate for candidate in candidates}  # all alike in "mlopt-"
    near = [
        short[match] for match in difflib.get_close_matches(_without_prefix(word), short, n=2, cutoff=0.6)
    ]
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""


def _without_prefix(word: str) -> str:
    return word.removeprefix("mlopt").lstrip("-.")


@functools.cache
def _load_plugins_of_environment() -> None:
    for path in os.environ.get(PLUGINS_VARIABLE, "").split(os.pathsep):
        if path:
            try:
                load_plugin(path)
            except Exception as error:
                raise PluginError(
                    f"the pass plug-in {path}, which {PLUGINS_VARIABLE} names, cannot be loaded: "
                    f"{type(error).__name__}: {error}"
                ) from error


def _module_of(name: str) -> str:
    """The module of the pass ``name`` below this package, if it is one of ours: "cpu.strip_mine"."""
    words = name.removeprefix(PREFIX).split("-")
    folder = f"{words.pop(0)}." if len(words) > 1 and words[0] in _SUBPACKAGES else ""
    return folder + "_".join(words)


def _is_own(name: str) -> bool:
    return name.startswith(PREFIX) and os.path.isfile(_file_of(_module_of(name)))  # noqa: PTH113


def _file_of(module: str) -> str:
    return f"{_ROOT}/{module.replace('.', '/')}.py"


def _named_by_files() -> Iterator[str]:
    """What a pass in each of our files would be called."""
    for folder in ("", *_SUBPACKAGES):
        for entry in sorted(os.listdir(f"{_ROOT}/{folder}")):  # noqa: PTH208
            if entry.endswith(".py"):
                yield PREFIX + "-".join(filter(None, (folder, entry[:-3].replace("_", "-"))))


def _text_of(path: str) -> str:
    with open(path, encoding="utf-8") as file:  # noqa: PTH123
        return file.read()


def _passes_in(module: ModuleType) -> list[type[Pass]]:
    classes = (value for value in vars(module).values() if isinstance(value, type))
    return [
        c for c in classes if issubclass(c, Pass) and c.__module__ == module.__name__ and hasattr(c, "name")
    ]
