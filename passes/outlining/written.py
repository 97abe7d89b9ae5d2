"""Buffers that loops of the host function write where indices say: made, and kept, where they are.

::

    %f = linalg.fill …                                  %m = memref.alloc()
    %b = bufferization.to_buffer %f                     %f = linalg.fill …
    %m = memref.alloc()                           ->    bufferization.materialize_in_destination %f in … %m
    memref.copy %b, %m
    scf.for … { memref.store …, %m[%i] }                scf.for … { memref.store …, %m[%i] }

The kernel of the fill writes to ``%m``. What is an argument, a constant, or read by others, too, is copied by
a kernel, which all threads share and `mlopt explain` counts. What loops have filled before, and nothing else
reads, is the buffer that the next loops go on with: nothing is copied between scatters in a row. A buffer
that becomes a result is the result's own memory (`filled_by_loops`). Legal where the sizes are known before
anything is made: the memory has to be there before what is to be written there. Sums into 30522 rows of 768
zeros move 100 MB; they moved 288, and 188 more to the result that nothing counted.
"""

from __future__ import annotations

from mlir import ir
from mlir.dialects import bufferization

from ...dialects.attributes import GROUP
from ..operations import block_ops, brought_before, defining_op
from ..raising.reshape import RESHAPES
from ..structured import COPY, STRUCTURED, has_one_use, make_copy, make_empty, structured_ops
from .group import top_op

_FILLING = ("memref.load", "memref.store", COPY, "bufferization.materialize_in_destination")


def fill_in_place(function: ir.Operation) -> None:
    """Let what is copied into a buffer of ``function`` be made there."""
    for copy in structured_ops(function, COPY):
        filled = filled_before(copy)
        if filled is not None:
            _go_on_with(filled, copy)
            continue
        read, alloc = (defining_op(value) for value in copy.operands)
        if read is None or alloc is None or not can_fill(read, alloc):
            continue
        first = _first_op(function)
        if not all(brought_before(size, first) for size in alloc.operands):
            continue
        value = read.operands[0]
        before = ir.InsertionPoint(copy)
        alloc.move_before(first)
        if not _is_its_own(read.results[0]):
            value = _again(value, copy.location, before)
        with copy.location, before:
            bufferization.MaterializeInDestinationOp(
                None, value, alloc.results[0], restrict=True, writable=True
            )
        copy.erase()
        if not list(read.results[0].uses):
            read.erase()


def can_fill(read: ir.Operation, alloc: ir.Operation) -> bool:
    """Whether a tensor goes into a new buffer."""
    return bool(read.name == "bufferization.to_buffer" and alloc.name == "memref.alloc")


def filled_before(copy: ir.Operation) -> ir.Operation | None:
    """The allocation of the buffer that loops have filled with what ``copy`` reads, if nobody else wants it.

    Nor may anything have been done to the new buffer before.
    """
    read, alloc = (defining_op(value) for value in copy.operands)
    first = read
    if read is not None and read.name == "bufferization.to_buffer" and has_one_use(read.results[0]):
        tensor = defining_op(read.operands[0], "bufferization.to_tensor")
        is_alone = tensor is not None and has_one_use(tensor.results[0])
        first = defining_op(tensor.operands[0]) if tensor is not None and is_alone else None
    if first is None or alloc is None or {first.name, alloc.name} != {"memref.alloc"}:
        return None
    if first.results[0].type != alloc.results[0].type or first == alloc:
        return None
    host = copy.parent.operation
    users = [use.owner.operation for use in first.results[0].uses]
    others = [op for op in users if op != copy and (first == read or op.name != "bufferization.to_tensor")]
    done = all(op.name in _FILLING and top_op(op, host).is_before_in_block(copy) for op in others)
    after = (top_op(use.owner.operation, host) for use in alloc.results[0].uses)
    return first if done and all(op == copy or copy.is_before_in_block(op) for op in after) else None


def _go_on_with(filled: ir.Operation, copy: ir.Operation) -> None:
    """Let what is done to the buffer that ``copy`` writes be done to what it reads."""
    read, alloc = (value.owner.operation for value in copy.operands)
    alloc.results[0].replace_all_uses_with(filled.results[0])
    tensor = None if read == filled else read.operands[0].owner.operation
    for op in (copy, alloc, *([] if tensor is None else [read, tensor])):
        op.erase()


def filled_by_loops(value: ir.Value, out: ir.Type) -> ir.Operation | None:
    """The allocation of a buffer like the memory ``out`` that ``value`` is the content of, if any.

    Types with the same dynamic dims will do: the value is what ``out`` is to have, so it is of its sizes.
    """
    tensor = defining_op(value, "bufferization.to_tensor")
    alloc = None if tensor is None else defining_op(tensor.operands[0], "memref.alloc")
    return alloc if alloc is not None and alloc.results[0].type == out else None


def _is_its_own(value: ir.Value) -> bool:
    """Whether a kernel makes what the buffer ``value`` has in it, and nothing else reads either."""
    while len(list(value.uses)) == 1:
        maker = defining_op(value)
        if maker is None or maker.name not in (*RESHAPES, "bufferization.to_buffer"):
            return maker is not None and maker.name in STRUCTURED and maker.name != "tensor.insert_slice"
        value = maker.operands[0]
    return False


def _again(value: ir.Value, location: ir.Location, at: ir.InsertionPoint) -> ir.Value:
    """The same tensor, made by a kernel of its own."""
    fill = defining_op(value, "linalg.fill")
    if fill is not None:
        made = fill.clone(at).operation
        GROUP.drop(made)
        return made.results[0]
    empty = make_empty(value, location=location, at=at)
    whole = ir.AffineMap.get_identity(value.type.rank, context=value.context)
    return make_copy(value, empty, whole, "copy", location=location, at=at).results[0]


def _first_op(function: ir.Operation) -> ir.Operation:
    """The first one that is no arithmetic on sizes."""
    return next(op for op in block_ops(function) if not op.name.startswith(("arith.", "tensor.dim")))
