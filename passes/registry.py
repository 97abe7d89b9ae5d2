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

import difflib
import functools
import importlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType

from .base import Pass

PREFIX = "mlopt-"
PLUGINS_VARIABLE = "MLOPT_PASS_PLUGINS"

_ROOT = Path(__file__).parent
_SUBPACKAGES = ("cpu", "gpu")
_plugins: dict[str, type[Pass]] = {}
_installed: dict[str, str] = {}


class UnknownPassError(LookupError):
    """No pass has this name; the message says which ones come close."""


def find_pass(name: str) -> type[Pass]:
    """The pass class called ``name``, or `UnknownPassError` with a suggestion."""
    _load_plugins_of_environment()
    if name in _plugins:
        return _plugins[name]
    if name in _installed:
        return _load_installed(name)
    path = _file_of(name)
    if path is None or not path.is_file():
        raise UnknownPassError(f"unknown pass '{name}'{did_you_mean(name, pass_names())}")
    module = importlib.import_module("." + ".".join(_module_of(path)), __package__)
    found = [cls for cls in _passes_in(module) if cls.name == name]
    if len(found) != 1:
        raise UnknownPassError(f"{path.name} must define one pass called '{name}', it has {len(found)}")
    return found[0]


def is_ours(name: str) -> bool:
    """Whether ``name`` is for `find_pass`: a plug-in may call its passes as it likes."""
    _load_plugins_of_environment()
    return name.startswith(PREFIX) or name in _plugins or name in _installed


def pass_names() -> list[str]:
    """All passes of the package and of the plug-ins, sorted; imports none of them."""
    _load_plugins_of_environment()
    directories = [_ROOT, *(_ROOT / sub for sub in _SUBPACKAGES)]
    named = ((_name_of(path), path) for directory in directories for path in sorted(directory.glob("*.py")))
    own = [name for name, path in named if f'"{name}"' in path.read_text(encoding="utf-8")]
    return sorted({*own, *_plugins, *_installed})


def summary_of(cls: type[Pass]) -> str:
    """The first line of a pass's docstring (or of its file's)."""
    text = cls.__doc__ or inspect.getdoc(inspect.getmodule(cls)) or ""
    return text.strip().split("\n", 1)[0]


def load_plugin(path: str | Path) -> list[str]:
    """Register the passes that the Python file ``path`` defines, and return their names."""
    file = Path(path).resolve()
    spec = importlib.util.spec_from_file_location(f"mlopt_pass_plugin_{file.stem}", file)
    if spec is None or spec.loader is None or not file.is_file():
        raise FileNotFoundError(f"pass plug-in {file} is not a Python file that can be read")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    passes = {cls.name: cls for cls in _passes_in(module)}
    if not passes:
        raise ImportError(f"pass plug-in {file} defines no subclass of mlopt.passes.base.Pass with a name")
    _plugins.update(passes)
    return sorted(passes)


def add_installed(places: Mapping[str, str]) -> None:
    """Passes of other packages (entry-point group ``mlopt.passes``): name to ``module:class``.

    Each is imported when it is first asked for.
    """
    _installed.update(places)


def _load_installed(name: str) -> type[Pass]:
    module, _, attribute = _installed[name].partition(":")
    cls = getattr(importlib.import_module(module), attribute, None)
    if not (inspect.isclass(cls) and issubclass(cls, Pass) and cls.name == name):
        raise UnknownPassError(
            f"the entry point '{name} = {_installed[name]}' must be a mlopt.passes.base.Pass of that name"
        )
    return cls


def did_you_mean(word: str, candidates: Iterable[str]) -> str:
    """``"; did you mean 'x'?"`` for the candidates nearest to ``word``, or an empty string."""
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
            load_plugin(path)


def _file_of(name: str) -> Path | None:
    if not name.startswith(PREFIX):
        return None
    words = name.removeprefix(PREFIX).split("-")
    directory = _ROOT
    if len(words) > 1 and words[0] in _SUBPACKAGES:
        directory = _ROOT / words.pop(0)
    return directory / ("_".join(words) + ".py")


def _module_of(path: Path) -> tuple[str, ...]:
    return path.relative_to(_ROOT).with_suffix("").parts


def _name_of(path: Path) -> str:
    return PREFIX + "-".join(_module_of(path)).replace("_", "-")


def _passes_in(module: ModuleType) -> list[type[Pass]]:
    classes = (value for value in vars(module).values() if inspect.isclass(value))
    return [
        c for c in classes if issubclass(c, Pass) and c.__module__ == module.__name__ and hasattr(c, "name")
    ]
