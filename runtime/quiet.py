"""What torch says while it traces, and nobody needs to read.

Fake tensors log a traceback of each exception before they raise it; the exception is enough.
"""

from __future__ import annotations

import logging
import threading
import warnings
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


@contextmanager
def quiet_export() -> Iterator[None]:
    """As `quiet_fakes`, and without warnings of torch's own use of what it deprecates, at each export."""
    with warnings.catch_warnings(), quiet_fakes():
        warnings.filterwarnings("ignore", message=".*LeafSpec", category=FutureWarning)
        yield
