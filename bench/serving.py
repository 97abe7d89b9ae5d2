"""The child's end of a conversation in lines of JSON: requests on stdin, answers on what was stdout."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from collections.abc import Callable
from typing import Any


def hold(threads: int) -> None:
    """Hold this process, and what it starts, to so many processors."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


def serve(make: Callable[[], object]) -> None:
    """Answer ``[name, argument, …]`` by what that method of ``make()`` returns, until stdin ends.

    An answer is ``{"ok": result}`` or ``{"problem": text}``; the first one says that ``make`` is done. What
    is printed meanwhile goes to stderr.
    """
    channel = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    target: object = None

    def start() -> None:
        nonlocal target
        target = make()

    print(json.dumps(_answer(start)), file=channel)
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        print(json.dumps(_answer(getattr(target, name), *arguments)), file=channel)


def _answer(action: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
    try:
        result = action(*arguments)
    except Exception as error:  # a peer that fails is named in the table, and the others go on
        return {"problem": f"{type(error).__name__}: {error}"}
    is_record = dataclasses.is_dataclass(result) and not isinstance(result, type)
    return {"ok": dataclasses.asdict(result) if is_record else result}
