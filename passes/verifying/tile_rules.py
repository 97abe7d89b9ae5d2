"""The rules of the tile IR, op by op, for what stands inside a kernel's scf.forall."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from mlir import ir

from ...dialects.attributes import SUMS
from ..operations import defining_op, nested_ops
from .problem import Problem

_OPS = frozenset((
    "affine.apply", "affine.max", "affine.min", "cf.assert", "memref.alloca", "memref.dim", "memref.load",
    "scf.for", "scf.forall", "scf.forall.in_parallel", "scf.yield",
    "tensor.dim", "tensor.extract", "tensor.parallel_insert_slice", "ub.poison",
    "vector.broadcast", "vector.compressstore", "vector.contract", "vector.deinterleave", "vector.extract",
    "vector.multi_reduction", "vector.scan", "vector.shape_cast", "vector.step",
    "vector.transfer_read", "vector.transfer_write", "vector.transpose",
))  # fmt: skip
_DIALECTS = ("arith", "math")  # element-wise, on tiles and on scalars

_WRITE = "vector.transfer_write"
_READS = ("vector.transfer_read", "memref.load", "tensor.extract")

_Rule = Callable[[ir.Operation], str | None]
_RULES: dict[str, _Rule] = {}


def problems(function: ir.Operation) -> Iterator[Problem]:
    """What inside the scf.forall of the kernel ``function`` is not tile IR."""
    for top in function.regions[0].blocks[0].operations:
        if top.operation.name != "scf.forall":
            continue
        written = _written(top.operation)
        for op in nested_ops(top.operation):
            message = _objection(op)
            if message is not None:
                yield Problem(op, message)
            if op.name not in _READS:
                continue
            buffer = _indexed_buffer(op, position=0)
            if buffer in written and not _is_scratch(buffer):
                yield Problem(op, "a kernel may not read what it writes: reads move past its writes")


def _written(forall: ir.Operation) -> set[ir.Value]:
    """The arguments of a kernel that it writes to, and their names inside of the scf.forall if tensors."""
    buffers = {_indexed_buffer(op, position=1) for op in nested_ops(forall) if op.name == _WRITE}
    outs = list(forall.operands)[len(forall.operands) - len(forall.results) :]
    inside = list(forall.regions[0].blocks[0].arguments)
    inside = inside[len(inside) - len(outs) :] if outs else []
    return buffers | set(outs) | set(inside)


def _objection(op: ir.Operation) -> str | None:
    if op.name not in _OPS and op.name.split(".", 1)[0] not in _DIALECTS:
        return f"'{op.name}' is no op of the tile IR"
    rule = _RULES.get(op.name)
    return rule(op) if rule is not None else None


def _rule(*names: str) -> Callable[[_Rule], _Rule]:
    def register(rule: _Rule) -> _Rule:
        _RULES.update(dict.fromkeys(names, rule))
        return rule

    return register


@_rule("scf.for")
def _check_loop(op: ir.Operation) -> str | None:
    yielded = op.regions[0].blocks[0].operations[len(op.regions[0].blocks[0].operations) - 1].operands
    for result, last in zip(op.results, yielded, strict=True):
        is_shaped = isinstance(result.type, ir.ShapedType) and not isinstance(result.type, ir.VectorType)
        if is_shaped and not _is_written(last):
            return f"a loop in a kernel may carry vectors, scalars and what it writes, not {result.type}"
    return None


def _is_written(value: ir.Value) -> bool:
    """Whether a tensor is what a step of a loop, or of a loop in it, has written into."""
    if isinstance(value.owner, ir.Block):
        return False
    return value.owner.name in (_WRITE, "scf.for")


@_rule("scf.forall")
def _check_inner_forall(_: ir.Operation) -> str | None:
    return "a kernel has one scf.forall, without another inside"


def _is_summed_up(value: ir.Value) -> bool:
    """Whether a tensor has the parts of a kernel that adds them up."""
    parts = defining_op(value, "scf.forall")
    return parts is not None and SUMS.name in parts.parent.attributes


@_rule("vector.transfer_read")
def _check_read(op: ir.Operation) -> str | None:
    buffer = _indexed_buffer(op, position=0)
    if not isinstance(buffer, ir.BlockArgument) and not _is_scratch(buffer) and not _is_summed_up(buffer):
        return "a tile is read from a whole buffer, an argument, not from a part of it or a result"
    if op.attributes["operandSegmentSizes"][3] != 0:
        return "the tile IR has no masks: reads beyond the end give the padding value"
    padding = op.operands[len(op.operands) - 1].owner
    if isinstance(padding, ir.Block) or padding.operation.name != "arith.constant":
        return "the padding value of a tile must be a constant"
    return None


@_rule("vector.transfer_write")
def _check_write(op: ir.Operation) -> str | None:
    if op.attributes["operandSegmentSizes"][3] != 0:
        return "the tile IR has no masks: writes beyond the end do nothing"
    buffer = _indexed_buffer(op, position=1)
    if isinstance(buffer, ir.BlockArgument) or _is_scratch(buffer):
        return None
    if buffer.owner.name != _WRITE:
        return "a tile is written into a whole buffer, an argument, not into a part of it"
    return None


@_rule("vector.compressstore")
def _check_list(op: ir.Operation) -> str | None:
    if not _is_scratch(_indexed_buffer(op, position=0)):
        return "what counts of a tile is listed in scratch, not in a buffer that others see"
    return None


@_rule("vector.contract", "vector.multi_reduction")
def _check_accumulator(op: ir.Operation) -> str | None:
    accumulator = op.operands[2 if op.name == "vector.contract" else 1]
    source = accumulator.owner
    if isinstance(source, ir.Block) or source.operation.name != "vector.transfer_read":
        return None
    if _is_written_in_loop(source.operation):
        return "the accumulator goes through memory in each step; carry it as an iter_arg of the loop"
    return None


def _is_written_in_loop(read: ir.Operation) -> bool:
    """Whether an scf.for around ``read`` also writes to the buffer that it reads."""
    buffer = read.operands[0]
    if _is_scratch(buffer):
        return False  # a few columns' totals: in registers they would be fewer, and read short pieces of rows
    loop = read.parent
    while loop is not None and loop.name == "scf.for":
        writes = (inner for inner in nested_ops(loop.operation) if inner.name == "vector.transfer_write")
        if any(write.operands[1] == buffer for write in writes):
            return True
        loop = loop.parent
    return False


def _is_scratch(buffer: ir.Value) -> bool:
    """Whether a buffer is a task's own: a stage."""
    return not isinstance(buffer, ir.BlockArgument) and buffer.owner.name == "memref.alloca"


def _indexed_buffer(op: ir.Operation, position: int) -> ir.Value:
    """The buffer of a transfer, seen through casts that change nothing about what is where."""
    buffer = op.operands[position]
    while not isinstance(buffer, ir.BlockArgument) and buffer.owner.name in ("memref.cast", "tensor.cast"):
        buffer = buffer.owner.operands[0]
    return buffer
