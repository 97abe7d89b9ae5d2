"""A scf.forall's body as a function over task numbers, and its callers: direct, and on threads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mlir import ir
from mlir.dialects import arith, func, llvm

from ...dialects.attributes import STATUS
from ..base import PassError
from ..operations import nested_ops
from .descriptors import cast, llvm_type
from .functions import (
    adopt_function,
    fresh_name,
    marked_argument,
    set_noinline,
    set_private,
)
from .grid import Grid, hoist_scratch, task_loop
from .loops import Bound, as_value

# Ops that the tasks do again for themselves, where the forall uses them from outside.
_CLONED = ("arith.constant", "memref.alloca", "memref.get_global", "vector.step", "ub.poison")

_RUNTIME = """
func.func private @GOMP_parallel(!llvm.ptr, !llvm.ptr, i32, i32)
func.func private @omp_get_thread_num() -> i32
func.func private @omp_get_num_threads() -> i32
"""


@dataclass(frozen=True)
class OutlinedTasks:
    """`@tasks(low, high, captured…)`, and `@thread(payload)` that runs a thread's part of them."""

    tasks: str
    thread: str
    total: ir.Value
    captured: tuple[ir.Value, ...]
    scratch_place: ir.Block

    def call_directly(self) -> None:
        """All tasks on this thread."""
        func.CallOp([], self.tasks, [as_value(0), self.total, *self.captured])

    def call_on_threads(self, count: ir.Value) -> None:
        """All tasks on ``count`` threads of the OpenMP runtime."""
        i32, pointer = ir.IntegerType.get_signless(32), llvm.PointerType.get()
        payload = self._payload()
        function = func.ConstantOp(ir.FunctionType.get([pointer], []), self.thread).result
        address = cast(function, pointer)
        operands = [address, payload, arith.index_cast(i32, count), arith.constant(i32, 0)]
        func.CallOp([], "GOMP_parallel", operands)

    def _payload(self) -> ir.Value:
        values = [self.total, *self.captured]
        struct = ir.Type.parse(_payload_type([value.type for value in values]))
        pointer = llvm.PointerType.get()
        i64 = ir.IntegerType.get_signless(64)
        with ir.InsertionPoint.at_block_begin(self.scratch_place):
            one = llvm.ConstantOp(i64, ir.IntegerAttr.get(i64, 1)).result
            payload = llvm.AllocaOp(pointer, one, ir.TypeAttr.get(struct)).result
        no_wrap = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 0)
        for number, value in enumerate(values):
            field = llvm.GEPOp(
                pointer, payload, [], ir.DenseI32ArrayAttr.get([0, number]), ir.TypeAttr.get(struct), no_wrap
            )
            llvm.StoreOp(cast(value, ir.Type.parse(llvm_type(value.type))), field)
        return payload


def outline_tasks(module: ir.Operation, function: func.FuncOp, grid: Grid) -> OutlinedTasks:
    """Move the body of ``grid`` into a new function; the scf.forall is left empty, to be erased."""
    name = function.sym_name.value
    body_ops = list(nested_ops(grid.loop))
    outside = _captured(grid, body_ops)
    cloned = [value for value in outside if _is_cloned(value)]
    captured = [value for value in outside if value not in cloned]
    for value in captured:
        _check_captured(value)
    bounds = [bound for bound in (*grid.lower, *grid.upper, *grid.step) if not isinstance(bound, int)]
    implied = [*bounds, *_status_of(function, body_ops)]
    captured += [value for value in dict.fromkeys(implied) if value not in captured]
    tasks = _tasks_function(module, function, grid, captured, cloned, body_ops)
    thread = fresh_name(module, f"{name}_thread")
    _declare_runtime(module)
    set_private(adopt_function(module, _thread_text(thread, tasks, [value.type for value in captured])))
    with ir.InsertionPoint(grid.loop), grid.loop.location:
        total = grid.task_count()
    return OutlinedTasks(tasks, thread, total, tuple(captured), function.entry_block)


def _captured(grid: Grid, body_ops: Sequence[ir.Operation]) -> list[ir.Value]:
    inside = set(body_ops) | {grid.loop.operation}
    found: dict[ir.Value, None] = {}
    for op in body_ops:
        for operand in op.operands:
            owner = operand.owner
            definer = owner.owner.operation if isinstance(owner, ir.Block) else owner.operation
            if definer not in inside:
                found[operand] = None
    return list(found)


def _status_of(function: func.FuncOp, body_ops: Sequence[ir.Operation]) -> list[ir.Value]:
    """The status cell, which asserts use without an operand."""
    status = marked_argument(function, STATUS)
    return [status] if status is not None and any(op.name == "cf.assert" for op in body_ops) else []


def _is_cloned(value: ir.Value) -> bool:
    if isinstance(value.owner, ir.Block) or value.owner.operation.name not in _CLONED:
        return False
    return not len(value.owner.operation.operands)


def _check_captured(value: ir.Value) -> None:
    base = value
    while not isinstance(base.owner, ir.Block) and isinstance(base.type, ir.MemRefType):
        op = base.owner.operation
        if op.name == "memref.alloca":
            raise PassError(op, "all tasks would share this scratch buffer; allocate it inside the loop")
        if not len(op.operands):
            return
        base = op.operands[0]


def _tasks_function(
    module: ir.Operation,
    function: func.FuncOp,
    grid: Grid,
    captured: Sequence[ir.Value],
    cloned: Sequence[ir.Value],
    body_ops: Sequence[ir.Operation],
) -> str:
    index = ir.IndexType.get()
    name = fresh_name(module, f"{function.sym_name.value}_tasks")
    with ir.InsertionPoint(function), function.location:
        tasks = func.FuncOp(name, ([index, index, *(value.type for value in captured)], []))
        set_private(tasks)
        set_noinline(tasks)
        entry = tasks.add_entry_block()
    _mark_status(tasks, captured, marked_argument(function, STATUS))
    copies: dict[ir.Value, ir.Value] = dict(zip(captured, list(entry.arguments)[2:], strict=True))
    with ir.InsertionPoint(entry), function.location:
        for value in cloned:
            copies[value] = value.owner.operation.clone(ir.InsertionPoint.current).results[0]
        for op in body_ops:
            _replace_operands(op, copies)
        inner = _inside(grid, copies)
        task_loop(inner, entry.arguments[0], entry.arguments[1], inner.trip_counts())
        func.ReturnOp([])
    hoist_scratch(tasks)
    return name


def _inside(grid: Grid, copies: dict[ir.Value, ir.Value]) -> Grid:
    def inside(bounds: tuple[Bound, ...]) -> tuple[Bound, ...]:
        return tuple(bound if isinstance(bound, int) else copies[bound] for bound in bounds)

    return replace(grid, lower=inside(grid.lower), upper=inside(grid.upper), step=inside(grid.step))


def _replace_operands(op: ir.Operation, copies: dict[ir.Value, ir.Value]) -> None:
    for number, operand in enumerate(op.operands):
        if operand in copies:
            op.operands[number] = copies[operand]


def _mark_status(tasks: func.FuncOp, captured: Sequence[ir.Value], status: ir.Value | None) -> None:
    marks = [
        STATUS.added(None, True)
        if value is not None and status is not None and value == status
        else ir.DictAttr.get({})
        for value in (None, None, *captured)
    ]
    tasks.attributes["arg_attrs"] = ir.ArrayAttr.get(marks)


def _declare_runtime(module: ir.Operation) -> None:
    if "GOMP_parallel" in ir.SymbolTable(module):
        return
    parsed = ir.Module.parse(_RUNTIME)
    for op in list(parsed.body.operations):
        module.regions[0].blocks[0].append(op)


def _thread_text(name: str, tasks: str, types: Sequence[ir.Type]) -> str:
    """The function that a thread runs: the tasks [total * id / n, total * (id + 1) / n)."""
    payload = _payload_type([ir.IndexType.get(), *types])
    loads = []
    for number, type_ in enumerate(types):
        as_llvm = llvm_type(type_)
        loaded = f"%v{number}" if as_llvm == str(type_) else f"%l{number}"
        place = f"%payload[0, {number + 1}]"
        loads += [
            f"%p{number} = llvm.getelementptr {place} : (!llvm.ptr) -> !llvm.ptr, {payload}",
            f"{loaded} = llvm.load %p{number} : !llvm.ptr -> {as_llvm}",
        ]
        if as_llvm != str(type_):
            loads.append(f"%v{number} = builtin.unrealized_conversion_cast {loaded} : {as_llvm} to {type_}")
    operands = ", ".join(["%low", "%high", *(f"%v{number}" for number in range(len(types)))])
    operand_types = ", ".join(["index", "index", *map(str, types)])
    body = "\n".join(f"  {line}" for line in loads)
    return f"""
{_RUNTIME}
func.func private @{tasks}({operand_types})
func.func private @{name}(%payload: !llvm.ptr) {{
  %total_int = llvm.load %payload : !llvm.ptr -> i64
  %total = arith.index_cast %total_int : i64 to index
{body}
  %id_int = func.call @omp_get_thread_num() : () -> i32
  %id = arith.index_cast %id_int : i32 to index
  %count_int = func.call @omp_get_num_threads() : () -> i32
  %count = arith.index_cast %count_int : i32 to index
  %one = arith.constant 1 : index
  %next = arith.addi %id, %one : index
  %low_all = arith.muli %total, %id : index
  %low = arith.divui %low_all, %count : index
  %high_all = arith.muli %total, %next : index
  %high = arith.divui %high_all, %count : index
  func.call @{tasks}({operands}) : ({operand_types}) -> ()
  func.return
}}
"""


def _payload_type(types: Sequence[ir.Type]) -> str:
    return f"!llvm.struct<({', '.join(llvm_type(type_) for type_ in types)})>"
