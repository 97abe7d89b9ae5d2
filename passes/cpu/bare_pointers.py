"""Functions take a pointer instead of a memref whose sizes are known.

::

    func.func @main(%x: memref<32x128xf32>, %out: memref<32x2x64xf32>, %ws: memref<?xi8> {mlopt.workspace}) {
      %t = memref.view %ws[%c4096][] : memref<?xi8> to memref<32x128xf32>
      call @kernel_0(%x, %t) : (memref<32x128xf32>, memref<32x128xf32>) -> ()
      %flat = memref.collapse_shape %out [[0], [1, 2]] : memref<32x2x64xf32> into memref<32x128xf32>
      call @kernel_1(%t, %flat) : (memref<32x128xf32>, memref<32x128xf32>) -> ()

    func.func @main(%x: !llvm.ptr, %out: !llvm.ptr, %ws: memref<?xi8> {mlopt.workspace}) {
      %base = pointer of %ws
      %t = llvm.getelementptr %base[4096] : (!llvm.ptr) -> !llvm.ptr, i8
      call @kernel_0(%x, %t) : (!llvm.ptr, !llvm.ptr) -> ()
      call @kernel_1(%t, %out) : (!llvm.ptr, !llvm.ptr) -> ()

The llvm dialect passes a memref of rank n as 3 + 2n values, and host functions grow with their calls: of 48
layers, 336 calls with 30 values each became 336 with 4. With one hook a kernel (mlopt-hooks) their lowering
to LLVM takes 2.0 times that of 2 layers, 10 before. Legal for the identity layout: such a memref is its
pointer, as are views of it that only split and join dims. Sizes that are known at run time only, and strides,
stay memrefs. Runs before mlopt-cpu-entry, when each buffer has its place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from mlir import ir
from mlir.dialects import arith, func, llvm

from ..base import Pass
from ..operations import callee_of, defining_op
from ..structured import is_used
from .descriptors import memref_at, pointer_of
from .functions import calls_in, defined_functions

_DYNAMIC = -(2**31)  # llvm.getelementptr: this index is a value
_SAME_ADDRESS = ("memref.collapse_shape", "memref.expand_shape")


@dataclass(frozen=True)
class CpuBarePointers(Pass):
    """Pass memrefs whose sizes are known as pointers."""

    name: ClassVar[str] = "mlopt-cpu-bare-pointers"

    def run(self, op: ir.Operation) -> None:
        """Change all functions of the module, and their calls."""
        functions = defined_functions(op)
        bare = {
            function.sym_name.value: [
                number for number, type_ in enumerate(function.type.inputs) if is_pointer(type_)
            ]
            for function in functions
        }
        for function in functions:
            _pass_pointers(function, bare)
        for function in functions:
            _take_pointers(function, bare)


def is_pointer(type_: ir.Type) -> bool:
    """Whether a buffer of this type is known by its address."""
    return (
        isinstance(type_, ir.MemRefType)
        and type_.has_static_shape
        and type_.memory_space is None
        and type_.layout == ir.AffineMapAttr.get(ir.AffineMap.get_identity(type_.rank))
    )


def _pass_pointers(function: func.FuncOp, bare: Mapping[str, list[int]]) -> None:
    """Let the calls in ``function`` pass pointers; of its own arguments those that will be."""
    known: dict[ir.Value, ir.Value] = {
        value: value for value in function.entry_block.arguments if is_pointer(value.type)
    }
    for call, callee in calls_in(function):
        for number in bare.get(callee, ()):
            value = call.operands[number]
            call.operands[number] = _pointer_to(value, known)
            _erase_unread(value)


def _pointer_to(value: ir.Value, known: dict[ir.Value, ir.Value]) -> ir.Value:
    """The address of a memref without an offset: made once, where the memref is made."""
    if value in known:
        return known[value]
    maker, view = defining_op(value), defining_op(value, "memref.view")
    if maker is not None and maker.name in _SAME_ADDRESS and is_pointer(maker.operands[0].type):
        return _pointer_to(maker.operands[0], known)
    base = None if view is None else _pointer_to(view.operands[0], known)
    place = ir.InsertionPoint.at_block_begin(value.owner) if maker is None else ir.InsertionPoint.after(maker)
    with place, value.location:
        if view is None or base is None:
            known[value] = pointer_of(value)
        else:
            i8, i64 = (ir.IntegerType.get_signless(bits) for bits in (8, 64))
            shift = arith.index_cast(i64, view.operands[1])
            known[value] = llvm.GEPOp(base.type, base, [shift], [_DYNAMIC], i8, None).result
    return known[value]


def _erase_unread(value: ir.Value) -> None:
    """Erase the views that make ``value`` as far as nothing reads them."""
    maker = defining_op(value, *_SAME_ADDRESS, "memref.view")
    if maker is not None and not is_used(value):
        source = maker.operands[0]
        maker.erase()
        _erase_unread(source)


def _take_pointers(function: func.FuncOp, bare: Mapping[str, list[int]]) -> None:
    """Let ``function`` take pointers; what else reads such an argument reads a memref made of it."""
    block, pointer = function.entry_block, llvm.PointerType.get()
    inputs, results = list(function.type.inputs), function.type.results
    arguments = list(block.arguments)
    for number in bare[function.sym_name.value]:
        argument, kind = arguments[number], inputs[number]
        others = [use for use in argument.uses if not _is_passed(use, bare)]
        inputs[number] = pointer
        argument.set_type(pointer)
        if others:
            with ir.InsertionPoint.at_block_begin(block), argument.location:
                buffer = memref_at(argument, kind)
            for use in others:
                use.owner.operation.operands[use.operand_number] = buffer
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, results))


def _is_passed(use: ir.OpOperand, bare: Mapping[str, list[int]]) -> bool:
    """Whether a call passes the value on as a pointer."""
    call = use.owner.operation
    if call.name != "func.call":
        return False
    return use.operand_number in bare.get(callee_of(call), ())
