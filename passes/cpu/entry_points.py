"""What the entry passes of all targets share: which functions can be entry points, and adding them."""

from __future__ import annotations

from mlir import ir
from mlir.dialects import func

from ...dialects.attributes import (
    ARENA,
    COUNTERS,
    DEVICE_STATUS,
    HOOK,
    STATUS,
    STREAM,
    THREADS,
    WORKSPACE,
)
from ..base import PassError
from .argument_reads import read_where_used
from .entry_text import cells_of, entry_function, reader_function, unhooked_function, workspace_function
from .functions import adopt_function, marked_argument

PREFIX = "mlopt_"
_MARKS = (ARENA, THREADS, STREAM, DEVICE_STATUS, COUNTERS, STATUS, HOOK)


def check_host(function: func.FuncOp) -> None:
    """Raise `PassError` if ``function`` returns something or takes what the array cannot hold."""
    name = function.sym_name.value
    if function.type.results:
        raise PassError(
            function,
            f"@{name} returns values, an entry point cannot; mlopt-outline makes them arguments",
        )
    for number, type_ in enumerate(function.type.inputs):
        if isinstance(type_, ir.UnrankedMemRefType):
            raise PassError(function, f"argument {number} of @{name} has no rank: {type_}")
        if isinstance(type_, ir.MemRefType) and type_.layout != _identity(type_):
            message = f"argument {number} of @{name} is {type_}; entry points take contiguous buffers"
            raise PassError(function, message)


def add_entry(module: ir.Operation, function: func.FuncOp, sizes: func.FuncOp | None) -> None:
    """`@mlopt_NAME`, which calls ``function``, and `@mlopt_NAME_workspace`, which calls ``sizes``.

    ``function`` takes the array and reads its arguments where it needs them.
    One that has a hook gets `@mlopt_NAME_hooked`, too, which takes it; `@mlopt_NAME` passes none.
    """
    name = function.sym_name.value
    types = list(function.type.inputs)
    found = {
        argument.arg_number: mark
        for mark in _MARKS
        if (argument := marked_argument(function, mark)) is not None
    }
    marks = dict(sorted(found.items()))
    hooked = HOOK in marks.values()
    entry_name = f"{PREFIX}{name}_hooked" if hooked else PREFIX + name
    texts = [entry_function(entry_name, name, types, marks)]
    if hooked:
        texts.append(unhooked_function(PREFIX + name, entry_name))
    if sizes is not None:
        callee = sizes.sym_name.value
        inputs = list(sizes.type.inputs)
        cells = cells_of(marks.values())
        texts.append(workspace_function(PREFIX + callee, callee, inputs, cells=cells))
    for text in texts:
        entry = adopt_function(module, text)
        size = WORKSPACE.get(function)
        if size is not None:
            WORKSPACE.set(entry, size)

    given = [number for number in range(len(types)) if number not in marks]
    reader = adopt_function(module, reader_function(f"{name}_arguments", types, marks))
    read_where_used(function, given, reader)


def _identity(type_: ir.MemRefType) -> ir.Attribute:
    return ir.AffineMapAttr.get(ir.AffineMap.get_identity(type_.rank))
