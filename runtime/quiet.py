"""What torch says while it traces, and nobody needs to read.

Fake tensors, and torch.export.load, log a traceback of each exception before they raise it; the exception is
enough. So is that of a size that no name of the user's stands for.
"""

from __future__ import annotations

import logging
import threading
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

_FAKES = logging.getLogger("torch._subclasses.fake_tensor")
_LOADS = logging.getLogger("torch.export")
_SIZES = logging.getLogger("torch.fx.experimental.symbolic_shapes")


@contextmanager
def _quiet(logger: logging.Logger, beginning: str = "") -> Iterator[None]:
    """Drop what ``logger`` itself logs in this thread, of messages with this ``beginning``."""
    thread = threading.get_ident()

    def is_of_another(record: logging.LogRecord) -> bool:
        return record.thread != thread or not str(record.msg).startswith(beginning)

    logger.addFilter(is_of_another)
    try:
        yield
    finally:
        logger.removeFilter(is_of_another)


def quiet_fakes() -> AbstractContextManager[None]:
    """Drop what fake tensors log in this thread."""
    return _quiet(_FAKES)


def quiet_load() -> AbstractContextManager[None]:
    """Drop what torch.export.load logs in this thread before it raises."""
    return _quiet(_LOADS)


@contextmanager
def quiet_export() -> Iterator[None]:
    """As `quiet_fakes`, and without warnings of torch's own use of what it deprecates, at each export."""
    with warnings.catch_warnings(), quiet_fakes(), _quiet(_SIZES, "Unable to find user code"):
        warnings.filterwarnings("ignore", message=".*LeafSpec", category=FutureWarning)
        yield
