"""What is read out of attributes is worked out once, and kept no longer than the context that owns them.

mlopt-opt runs passes in contexts that Python does not own: an attribute that outlived its context there
would equal any later one at the same address.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import _lru_cache_wrapper, lru_cache
from typing import Any, ParamSpec, TypeVar

Asked = ParamSpec("Asked")
Read = TypeVar("Read")

_LIMIT = 1024
_all: list[_lru_cache_wrapper[Any]] = []


def remembered(read: Callable[Asked, Read]) -> Callable[Asked, Read]:
    """What ``read`` makes of an attribute, worked out once until `forget_attributes` is called.

    It may make attributes, too, if the context is one of its arguments.
    """
    cached = lru_cache(maxsize=_LIMIT)(read)
    _all.append(cached)
    return cached  # type: ignore[return-value]


def forget_attributes() -> None:
    """Let go of all attributes that have been read, and so of their contexts; to be called after passes."""
    for cached in _all:
        cached.cache_clear()
