"""The text of entry functions: an array of int64 to memrefs, and a call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mlir import ir

from ...dialects.attributes import (
    ARENA,
    COUNTERS,
    DEVICE_STATUS,
    HOOK,
    STATUS,
    STREAM,
    THREADS,
    ArgumentMark,
)


def entry_function(
    name: str, callee: str, types: Sequence[ir.Type], marks: Mapping[int, ArgumentMark[Any]]
) -> str:
    """`func.func @name(!llvm.ptr) -> i32` that calls ``callee`` and returns its status.

    Of the arguments of ``types``, ``callee`` takes those with ``marks``, and the array for the others.
    If it takes a hook, that is the second argument of ``name``.
    """
    writer = _Writer(types, marks, cells=cells_of(marks.values()))
    operands = [*(writer.operand(number) for number in marks), "%args"]
    types = [*(types[number] for number in marks), ir.Type.parse("!llvm.ptr")]
    lines = [
        "%status = memref.alloca() : memref<i32>",
        "%zero = arith.constant 0 : i32",
        "memref.store %zero, %status[] : memref<i32>",
        *writer.lines,
        f"func.call @{callee}({', '.join(operands)}) : ({', '.join(map(str, types))}) -> ()",
        "%result = memref.load %status[] : memref<i32>",
        "func.return %result : i32",
    ]
    more = ("%hook",) if HOOK in marks.values() else ()
    return _declaration(callee, types) + _function(name, "i32", lines, more)


def reader_function(name: str, types: Sequence[ir.Type], marks: Mapping[int, ArgumentMark[Any]]) -> str:
    """`func.func @name(!llvm.ptr) -> (…)`: the arguments without ``marks``, one after the other."""
    writer = _Writer(types, marks, cells=cells_of(marks.values()))
    given = [number for number in range(len(types)) if number not in marks]
    operands = [writer.operand(number) for number in given]
    results = ", ".join(str(types[number]) for number in given)
    lines = [*writer.lines, f"func.return {', '.join(operands)} : {results}" if given else "func.return"]
    return _function(name, f"({results})", lines)


def unhooked_function(name: str, callee: str) -> str:
    """`func.func @name(!llvm.ptr) -> i32` that calls the entry function ``callee`` without a hook."""
    lines = [
        "%none = llvm.mlir.zero : !llvm.ptr",
        f"%status = func.call @{callee}(%args, %none) : (!llvm.ptr, !llvm.ptr) -> i32",
        "func.return %status : i32",
    ]
    return f"func.func private @{callee}(!llvm.ptr, !llvm.ptr) -> i32\n" + _function(name, "i32", lines)


def workspace_function(name: str, callee: str, types: Sequence[ir.Type], *, cells: int) -> str:
    """`func.func @name(!llvm.ptr) -> i64`: the bytes that ``callee`` computes from the same array.

    ``cells`` entries of the array are the device's (`cells_of`), after which the sizes stand.
    """
    writer = _Writer(types, {}, cells=cells)
    operands = [writer.operand(number) for number in range(len(types))]
    lines = [
        *writer.lines,
        f"%bytes = func.call @{callee}({', '.join(operands)}) : ({', '.join(map(str, types))}) -> index",
        "%result = arith.index_cast %bytes : index to i64",
        "func.return %result : i64",
    ]
    return _declaration(callee, types, " -> index") + _function(name, "i64", lines)


def cells_of(marks: Iterable[ArgumentMark[Any]]) -> int:
    """How many entries of the array are addresses of what kernels write there: a status, counters."""
    return len({DEVICE_STATUS, COUNTERS} & {*marks})


def _declaration(name: str, types: Sequence[ir.Type], result: str = "") -> str:
    return f"func.func private @{name}({', '.join(map(str, types))}){result}\n"


def _function(name: str, result: str, lines: Sequence[str], more: Sequence[str] = ()) -> str:
    """A function of the array's address and ``more`` pointers."""
    body = "\n".join(f"  {line}" for line in lines)
    arguments = ", ".join(f"{argument}: !llvm.ptr" for argument in ("%args", *more))
    return f"func.func @{name}({arguments}) -> {result} {{\n{body}\n}}"


class _Writer:
    """Lines that read the entries of the array, in the order of the entry point's contract."""

    def __init__(
        self, types: Sequence[ir.Type], marks: Mapping[int, ArgumentMark[Any]], *, cells: int
    ) -> None:
        self.types = types
        self.marks = marks
        self.lines: list[str] = []
        self.given = len([number for number in range(len(types)) if number not in marks])
        # After the workspace: the threads or the stream, then perhaps the device's status cell and counters.
        self.next_size = self.first_size = self.given + 2 + cells

    def operand(self, number: int) -> str:
        """The value for argument ``number`` of the callee."""
        mark, type_ = self.marks.get(number), self.types[number]
        if mark in (STATUS, HOOK):
            return "%status" if mark == STATUS else "%hook"
        if mark == THREADS:
            return self._index(self.given + 1, f"%a{number}")
        if mark == STREAM:
            return self._load(self.given + 1, f"%a{number}", "!llvm.ptr")
        if mark == DEVICE_STATUS:
            return self._load(self.given + 2, f"%a{number}", "!llvm.ptr")
        if mark == COUNTERS:
            return self._load(self.first_size - 1, f"%a{number}", "!llvm.ptr")
        if mark == ARENA:
            return self._workspace(f"%a{number}")
        if isinstance(type_, ir.MemRefType):
            return self._memref(type_, f"%a{number}", number)
        if type_ == ir.Type.parse("!llvm.ptr"):
            return self._load(number, f"%a{number}", "!llvm.ptr")
        return self._scalar(type_, f"%a{number}", number)

    def _load(self, entry: int, name: str, type_: str) -> str:
        self.lines.append(f"{name}_at = llvm.getelementptr %args[{entry}] : (!llvm.ptr) -> !llvm.ptr, i64")
        self.lines.append(f"{name} = llvm.load {name}_at : !llvm.ptr -> {type_}")
        return name

    def _index(self, entry: int, name: str) -> str:
        self._load(entry, f"{name}_int", "i64")
        self.lines.append(f"{name} = arith.index_cast {name}_int : i64 to index")
        return name

    def _scalar(self, type_: ir.Type, name: str, entry: int) -> str:
        cell = self._cell(entry, name, type_)
        self.lines.append(f"{name} = memref.load {cell}[] : memref<{type_}>")
        return name

    def _cell(self, entry: int, name: str, element: ir.Type) -> str:
        """The 0-d memref at the address in ``entry``."""
        struct = "!llvm.struct<(ptr, ptr, i64)>"
        pointer = self._load(entry, f"{name}_ptr", "!llvm.ptr")
        self.lines += [
            f"{name}_zero = llvm.mlir.constant(0 : i64) : i64",
            f"{name}_d0 = llvm.mlir.poison : {struct}",
            f"{name}_d1 = llvm.insertvalue {pointer}, {name}_d0[0] : {struct}",
            f"{name}_d2 = llvm.insertvalue {pointer}, {name}_d1[1] : {struct}",
            f"{name}_d3 = llvm.insertvalue {name}_zero, {name}_d2[2] : {struct}",
            f"{name}_cell = builtin.unrealized_conversion_cast {name}_d3 : {struct} to memref<{element}>",
        ]
        return f"{name}_cell"

    def _memref(self, type_: ir.MemRefType, name: str, entry: int) -> str:
        cell = self._cell(entry, name, type_.element_type)
        if type_.rank == 0:
            return cell
        sizes = [self._size(type_, dim, name) for dim in range(type_.rank)]
        return self._shaped(cell, name, type_, sizes)

    def _workspace(self, name: str) -> str:
        cell = self._cell(self.given, name, ir.IntegerType.get_signless(8))
        self.lines.append(f"{name}_all = arith.constant {2**62} : index")
        return self._shaped(cell, name, ir.MemRefType.parse("memref<?xi8>"), [f"{name}_all"])

    def _size(self, type_: ir.MemRefType, dim: int, name: str) -> str:
        if not type_.is_dynamic_dim(dim):
            return str(type_.get_dim_size(dim))
        self.next_size += 1
        return self._index(self.next_size - 1, f"{name}_size{dim}")

    def _shaped(self, cell: str, name: str, type_: ir.MemRefType, sizes: Sequence[str]) -> str:
        strides = ["1"]
        for dim in range(type_.rank - 1, 0, -1):
            strides.insert(0, self._product(sizes[dim], strides[0], f"{name}_stride{dim}"))
        self.lines.append(
            f"{name} = memref.reinterpret_cast {cell} to offset: [0], sizes: [{', '.join(sizes)}], "
            f"strides: [{', '.join(strides)}] : memref<{type_.element_type}> to {type_}"
        )
        return name

    def _product(self, left: str, right: str, name: str) -> str:
        if not left.startswith("%") and not right.startswith("%"):
            return str(int(left) * int(right))
        values = [self._value(factor, f"{name}_{side}") for side, factor in (("l", left), ("r", right))]
        self.lines.append(f"{name} = arith.muli {values[0]}, {values[1]} : index")
        return name

    def _value(self, number: str, name: str) -> str:
        if number.startswith("%"):
            return number
        self.lines.append(f"{name} = arith.constant {number} : index")
        return name
