"""Fake tensors log a traceback of each exception before they raise it; the exception is enough."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_LOGGER = logging.getLogger("torch._subclasses.fake_tensor")


@contextmanager
def quiet_fakes() -> Iterator[None]:
    """Drop what fake tensors log in this thread."""
    thread = threading.get_ident()

    def is_of_another(record: logging.LogRecord) -> bool:
        return record.thread != thread

    _LOGGER.addFilter(is_of_another)
    try:
        yield
    finally:
        _LOGGER.removeFilter(is_of_another)
