"""What a pass says about itself: its docstring, what it runs on, its options."""

from __future__ import annotations

import dataclasses
import inspect
from typing import get_type_hints

from ...passes.base import Pass


def description(cls: type[Pass]) -> str:
    """The pass as text: name, what it runs on, the docstrings of its class and its file, its options."""
    texts = [inspect.cleandoc(cls.__doc__ or "")]
    about = inspect.getdoc(inspect.getmodule(cls)) or ""
    if about and about not in texts and not cls.__module__.startswith(__package__):
        texts.append(about)
    return "\n\n".join(part for part in (f"{cls.name} (on {cls.op_name})", *texts, _options(cls)) if part)


def _options(cls: type[Pass]) -> str:
    hints = get_type_hints(cls)
    rows = [
        f"  {field.name.replace('_', '-')}: {getattr(hints[field.name], '__name__', hints[field.name])}"
        f" = {field.default}"
        for field in dataclasses.fields(cls)
    ]
    return "\n".join(["Options:", *rows]) if rows else ""
