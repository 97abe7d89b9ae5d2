"""All passes of mlopt as a Markdown page, from their docstrings: docs/passes.md.

``python -m mlopt.tools.opt_driver.reference`` writes it; a test says when it is out of date.
"""

from __future__ import annotations

import re

from ...passes.base import Pass
from ...passes.registry import PREFIX, find_pass, is_foreign, pass_names, summary_of
from .describe import options_of, texts_of
from .named_pipelines import PIPELINES

_LEVELS = (
    ("Ways down", "whole pipelines, which `--from` and `--to` cut"),
    ("Tensors, kernels, tiles", "for each target"),
    ("CPU", "from the tile IR on"),
    ("GPU", "from the tile IR on"),
)
_HEAD = """# Passes

What each pass does, from its docstring (`mlopt-opt --describe PASS`), and its options. Upstream's passes are
at mlir.llvm.org/docs/Passes. [pipelines.md](pipelines.md) says how passes are put together,
[writing-passes.md](writing-passes.md) how to write one.

(Written by `python -m mlopt.tools.opt_driver.reference`.)
"""


def page() -> str:
    """The page."""
    own = [find_pass(name) for name in pass_names() if not is_foreign(name)]
    by_level: list[list[type[Pass]]] = [list(PIPELINES.values()), [], [], []]
    for cls in own:
        by_level[_level(cls.name)].append(cls)
    parts = [_HEAD]
    for (title, about), passes in zip(_LEVELS, by_level, strict=True):
        parts.append(f"\n## {title}\n\n{about[0].upper()}{about[1:]}.\n")
        rows = [f"| [`{cls.name}`](#{cls.name}) | {_code(summary_of(cls))} |" for cls in passes]
        parts.append("\n".join(["| pass | |", "|---|---|", *rows, ""]))
        parts.extend(_section(cls) for cls in passes)
    return "\n".join(parts)


def _level(name: str) -> int:
    return {"cpu": 2, "gpu": 3}.get(name.removeprefix(PREFIX).split("-")[0], 1)


def _section(cls: type[Pass]) -> str:
    texts = [_code(text) for text in texts_of(cls)]
    if cls in PIPELINES.values():
        texts.append(
            "Stages: " + ", ".join(f"`{stage.name}`" for stage in PIPELINES[cls.name]().stages()) + "."
        )
    rows = [f"| `{name}` | {kind} | `{_shown(default)}` |" for name, kind, default in options_of(cls)]
    table = "\n".join(["| option | type | default |", "|---|---|---|", *rows])
    heading = f"### {cls.name}\n\nRuns on `{cls.op_name}`."
    return "\n\n".join([heading, *texts, *([table] if rows else []), ""])


def _shown(default: object) -> str:
    return '""' if default == "" else str(default)


def _code(text: str) -> str:
    """A docstring's ``code`` and its ``::`` as Markdown has them."""
    return re.sub(r"::$", ":", text.replace("``", "`"), flags=re.MULTILINE)


if __name__ == "__main__":
    print(page(), end="")
