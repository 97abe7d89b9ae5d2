"""What kernels find wrong in their inputs, told as eager tells it on a GPU: late, when somebody looks.

Kernels write the number of a message into a cell of memory that the device and this process share. Calls do
not wait for them: the cell is looked at before and after each call, where something is waited for anyhow, and
when the process ends.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import warnings
from collections.abc import Sequence

from ..executable import Block, error_of
from .machine import Machine

_LATE = "A kernel of this call or of an earlier one found it. With {}=1 each call waits for its own."


class Status:
    """The cell of one entry point: the number of one of ``asserts``, from 1, or 0.

    ``label`` is what calls are called. Where a ``machine`` runs kernels late, they may write when the program
    is dropped: its cells stay until the process ends.
    """

    def __init__(self, cell: Block, asserts: Sequence[str], label: str, machine: Machine) -> None:
        self.label = label
        self.address = cell.address
        self._cell = cell
        self._asserts = asserts
        self._number = ctypes.c_int32.from_address(cell.address)
        self._machine = machine
        self._process = os.getpid()
        if machine.runs_late:
            _late.append(self)

    def take(self) -> int:
        """The number of the message, once."""
        found = self._number.value
        if found:
            self._number.value = 0
        return found

    def look(self, blocking_variable: str) -> None:
        """Raise what was found, in calls that did not wait for it."""
        found = self.take()
        if found:
            error = error_of(found, self._asserts, self.label)
            error.add_note(_LATE.format(blocking_variable))
            raise error

    def tell_last(self) -> None:
        """Warn of what no call came to raise; a forked child has no kernels to wait for."""
        if self._process != os.getpid():
            return
        self._machine.finish()
        found = self.take()
        if found:
            error = error_of(found, self._asserts, self.label)
            what = f"{type(error).__name__}: {error}"
            warnings.warn(f"mlopt: a kernel of the last calls of {self.label}: {what}", stacklevel=2)


_late: list[Status] = []


def tell_last() -> None:
    """What kernels found that no later call raised, as warnings; it waits for them."""
    for status in _late:
        status.tell_last()


atexit.register(tell_last)
