"""Buffers that loops of the host function write where indices say: made, and kept, where they are.

::

    %f = linalg.fill …                                  %m = memref.alloc()
    %b = bufferization.to_buffer %f                     %f = linalg.fill …
    %m = memref.alloc()                           ->    bufferization.materialize_in_destination %f in … %m
    memref.copy %b, %m
    scf.for … { memref.store …, %m[%i] }                scf.for … { memref.store …, %m[%i] }

The kernel of the fill writes to ``%m``. What is an argument, a constant, or read by others, too, is copied by
a kernel, which all threads share and `mlopt explain` counts. A buffer that becomes a result is the result's
own memory (`filled_by_loops`). Legal where the shape is known: memory of other sizes may be asked for
behind what is to be written there. Sums into 30522 rows of 768 zeros move 100 MB; they moved 288, and 188
more to the result that nothing counted.
"""

from __future__ import annotations

from mlir import ir
from mlir.dialects import bufferization

from ...dialects.attributes import GROUP
from ..operations import defining_op
from ..raising.reshape import RESHAPES
from ..structured import COPY, STRUCTURED, make_copy, make_empty, structured_ops


def fill_in_place(function: ir.Operation) -> None:
    """Let what is copied into a buffer of ``function`` be made there."""
    for copy in structured_ops(function, COPY):
        read, alloc = (defining_op(value) for value in copy.operands)
        if read is None or alloc is None or not can_fill(read, alloc):
            continue
        value = read.operands[0]
        before = ir.InsertionPoint(copy)
        alloc.move_before(_first_op(function))
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
    """Whether a tensor of known shape goes into a new buffer."""
    if read.name != "bufferization.to_buffer" or alloc.name != "memref.alloc":
        return False
    return bool(read.operands[0].type.has_static_shape)


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
    return function.regions[0].blocks[0].operations[0].operation
