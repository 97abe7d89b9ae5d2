"""Memrefs and the llvm dialect's values for them: descriptors of pointer, offset, sizes and strides."""

from __future__ import annotations

from mlir import ir
from mlir.dialects import llvm, memref


def llvm_type(type_: ir.Type) -> str:
    """What a value of this type is in the llvm dialect: i64 for index, a descriptor for a memref."""
    if isinstance(type_, ir.IndexType):
        return "i64"
    if not isinstance(type_, ir.MemRefType):
        return str(type_)
    if type_.rank == 0:
        return "!llvm.struct<(ptr, ptr, i64)>"
    sizes = f"array<{type_.rank} x i64>"
    return f"!llvm.struct<(ptr, ptr, i64, {sizes}, {sizes})>"


def cast(value: ir.Value, type_: ir.Type) -> ir.Value:
    """``value`` as a value of another type that is the same in the llvm dialect."""
    if value.type == type_:
        return value
    op = ir.Operation.create("builtin.unrealized_conversion_cast", results=[type_], operands=[value])
    return op.results[0]


def pointer_of(buffer: ir.Value) -> ir.Value:
    """The address that a memref without an offset begins at."""
    descriptor = cast(buffer, ir.Type.parse(llvm_type(buffer.type)))
    return llvm.extractvalue(llvm.PointerType.get(), descriptor, [1])


def memref_at(pointer: ir.Value, type_: ir.MemRefType) -> ir.Value:
    """The memref of static sizes and the identity layout at an address."""
    element = ir.MemRefType.get([], type_.element_type)
    i64 = ir.IntegerType.get_signless(64)
    zero = llvm.ConstantOp(i64, ir.IntegerAttr.get(i64, 0)).result
    descriptor = llvm.PoisonOp(ir.Type.parse(llvm_type(element))).result
    for place, value in enumerate((pointer, pointer, zero)):
        descriptor = llvm.insertvalue(descriptor, value, [place])
    cell = cast(descriptor, element)
    if not type_.rank:
        return cell
    strides, _ = type_.get_strides_and_offset()
    return memref.ReinterpretCastOp(type_, cell, [], [], [], [0], type_.shape, strides).result
