"""Which ops of a module torch-mlir cannot lower: each is tried alone.

When lowering fails, the diagnostic names whatever was left over, often a constant. A module
for each op with its constants, its other operands arguments, tells exactly, and tells all.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_OP = re.compile(r'^(?:(%\S.*?) = )?"(torch\.[\w.]+)"\((.*?)\)(.*?) : \((.*)\) -> \((.*?)\)( loc\(.*\))?$')
_FREE = ("torch.constant.", "torch.prim.ListConstruct", "torch.prim.ListUnpack")


def failing_ops(torch_text: str, lowers: Callable[[str], bool]) -> list[tuple[str, str | None]]:
    """Pairs (op, ``file:line``) of those for whose module ``lowers`` is false, each kind tried once."""
    helpers: dict[str, str] = {}
    tried: dict[str, bool] = {}
    failing = []
    for line in torch_text.splitlines():
        match = _OP.match(line)
        if match is None:
            continue
        name, results = match[2], match[6]
        if name.startswith(_FREE):
            helpers.update(dict.fromkeys(_names(match[1]), line))
            continue
        if "!torch.list" in results:
            continue
        alone = _module(line, helpers)
        key = re.sub(r"%\w+|loc\(.*?\)", "", alone)
        if key not in tried:
            tried[key] = lowers(alone)
        if not tried[key]:
            where = re.search(r'loc\("(.*)":(\d+):\d+\)$', line)
            place = None if where is None else where[1] if where[2] == "0" else f"{where[1]}:{where[2]}"
            failing.append((name.removeprefix("torch."), place))
    return failing


def _names(text: str | None) -> list[str]:
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def _types(text: str) -> list[str]:
    """The types of a list that is separated by commas outside of brackets."""
    return [part.strip() for part in re.split(r",(?![^<\[]*[>\]])", text) if part.strip()]


def _module(line: str, helpers: dict[str, str]) -> str:
    body: list[str] = []
    arguments: dict[str, str] = {}

    def need(line: str) -> None:
        match = _OP.match(line)
        assert match is not None
        for name, type_ in zip(_names(match[3]), _types(match[5]), strict=True):
            if name not in helpers:
                arguments[name] = type_
            elif helpers[name] not in body:
                need(helpers[name])
        body.append(line)

    need(line)
    match = _OP.match(line)
    assert match is not None
    head = ", ".join(f"{name}: {type_}" for name, type_ in arguments.items())
    returned = f'"func.return"({", ".join(_names(match[1]))}) : ({match[6]}) -> ()'
    signature = f'function_type = ({", ".join(arguments.values())}) -> ({match[6]}), sym_name = "main"'
    lines = ['"builtin.module"() ({', f'"func.func"() <{{{signature}}}> ({{', f"^bb0({head}):"]
    return "\n".join([*lines, *body, returned, "}) : () -> ()", "}) : () -> ()"])
