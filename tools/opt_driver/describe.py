"""What a pass says about itself: its docstring, what it runs on, its options."""

from __future__ import annotations

import dataclasses
import inspect
import re
import subprocess
from typing import Any, get_args, get_type_hints

from ...passes.base import Pass
from .handover import tool_path


def description(cls: type[Pass]) -> str:
    """The pass as text: name, what it runs on, the docstrings of its class and its file, its options."""
    rows = [f"  {name}: {kind} = {default}".rstrip() for name, kind, default in options_of(cls)]
    options = "\n".join(["Options:", *rows]) if rows else ""
    return "\n\n".join(part for part in (f"{cls.name} (on {cls.op_name})", *texts_of(cls), options) if part)


def texts_of(cls: type[Pass]) -> list[str]:
    """The docstrings of the class and of its file."""
    texts = [inspect.cleandoc(cls.__doc__ or "")]
    about = inspect.getdoc(inspect.getmodule(cls)) or ""
    return [*texts, about] if about and not cls.__module__.startswith(__package__) else texts


def options_of(cls: type[Pass]) -> list[tuple[str, str, Any]]:
    """Name, type in words and default of each option."""
    hints = get_type_hints(cls)
    return [
        (field.name.replace("_", "-"), _kind(hints[field.name]), field.default)
        for field in dataclasses.fields(cls)
    ]


def _kind(hint: Any) -> str:
    elements = get_args(hint)
    return f"list of {elements[0].__name__}" if elements else str(getattr(hint, "__name__", hint))


def upstream_description(name: str) -> str:
    """What mlir-opt's help says of one of its passes, options included; empty if it has no such pass."""
    done = subprocess.run([tool_path(), "--help"], capture_output=True, text=True, check=False)
    found = re.search(rf"^ {{6}}--{re.escape(name)} .*\n(?: {{8,}}.*\n)*", done.stdout, re.MULTILINE)
    return inspect.cleandoc(found[0]) if found else ""
