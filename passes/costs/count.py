"""What a kernel has to move and to compute, whatever its tiles: what the roofline is asked about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from math import prod

from mlir import ir

from ..groups import is_init
from ..operations import nested_ops
from ..raising.bodies import is_contraction
from ..tiling.access import STRUCTURED, Access, Nest, nest_of, shape_of
from ..tiling.analysis import loops_in
from .cost import SPECIAL, Cost

_FREE = (
    "arith.constant",
    "arith.extf",
    "arith.truncf",
    "arith.extsi",
    "arith.extui",
    "arith.trunci",
    "arith.sitofp",
    "arith.uitofp",
    "arith.fptosi",
    "arith.fptoui",
    "arith.index_cast",
    "arith.bitcast",
)
_DTYPES = {"f64": "f64", "f32": "f32", "f16": "f16", "bf16": "bf16"}
_INTEGER = "int"

Part = tuple[int | None, ...]  # where a part of a tensor starts, None where that is not known
_WHOLE: Part = ()


def cost_of(kernel: ir.Operation) -> Cost:
    """The cost of a kernel function on tensors, whether or not a tile rule takes it.

    Bytes are the distinct elements of inputs, read once, and the results; FLOPs one for each arith or math op
    of a body and iteration, of which branches and loops in the body count once. Dynamic sizes count as 1;
    what a gather reads counts once for each element that it makes.
    """
    *ops, end = (op.operation for op in kernel.regions[0].blocks[0].operations)
    reads, work = _Reads(), _Work()
    for op in ops:
        if op.name not in STRUCTURED:
            for value in op.operands:
                if _is_tensor_argument(value):
                    reads.add(value, _WHOLE, bytes_of(value))
            continue
        nest = nest_of(op)
        for value, part, amount in _reads(nest):
            if isinstance(value, ir.BlockArgument):
                reads.add(value, part, amount)
        work.add(nest)
    return work.cost(reads.total() + sum(_written(value) for value in end.operands))


def cost_alone(op: ir.Operation) -> Cost:
    """The cost of one structured op if it were a kernel of its own, with the fill that it starts from."""
    nest = nest_of(op)
    reads, work = _Reads(), _Work()
    for value, part, amount in _reads(nest):
        if not _is_made_in_place(value):
            reads.add(value, part, amount)
    work.add(nest)
    written = [op.operands[0]] if op.name == "tensor.insert_slice" else op.results
    return work.cost(reads.total() + sum(bytes_of(value) for value in written))


def is_kernel_alone(op: ir.Operation) -> bool:
    """Whether ``op`` would be a kernel if nothing were fused; a fill goes with what starts from it."""
    if op.name == "linalg.fill":
        return not all(is_init(use.owner.operation, use.operand_number) for use in op.results[0].uses)
    return op.name in STRUCTURED


class _Reads:
    """What is read of each tensor: parts that start at different places are different, together all of it."""

    def __init__(self) -> None:
        self._parts: dict[ir.Value, dict[Part, int]] = {}

    def add(self, value: ir.Value, part: Part, amount: int) -> None:
        parts = self._parts.setdefault(value, {})
        parts[part] = max(parts.get(part, 0), amount)

    def total(self) -> int:
        return sum(
            max(max(parts.values()), min(sum(parts.values()), bytes_of(value)))
            for value, parts in self._parts.items()
        )


class _Work:
    """What the bodies of nests compute in all of their iterations."""

    def __init__(self) -> None:
        self._contracted: Counter[str] = Counter()
        self._elementwise: Counter[str] = Counter()
        self._special: Counter[str] = Counter()

    def add(self, nest: Nest) -> None:
        if nest.body is None:
            return
        points = _points(nest.extents)
        contracted = is_contraction(nest.op)
        for inner in nested_ops(nest.op):
            if not inner.name.startswith(("arith.", "math.")) or inner.name in _FREE:
                continue
            if inner.name in SPECIAL:
                self._special[SPECIAL[inner.name]] += points
            elif contracted:
                self._contracted[_dtype(nest.op.operands[0].type.element_type)] += points
            else:
                self._elementwise[_dtype(inner.operands[-1].type)] += points

    def cost(self, moved: int) -> Cost:
        return Cost(moved, dict(self._contracted), dict(self._elementwise), dict(self._special))


def _dtype(kind: ir.Type) -> str:
    return _DTYPES.get(str(kind), _INTEGER)


def _reads(nest: Nest) -> Iterator[tuple[ir.Value, Part, int]]:
    """Each tensor or scalar that a nest reads, where the part that is read starts, and its bytes."""
    for access in nest.reads:
        if access is not None:
            starts = tuple(index.start if isinstance(index.start, int) else None for index in access.indices)
            yield access.value, starts, _read_bytes(nest, access)
    points = _points(nest.extents)
    for inner in nested_ops(nest.op) if nest.body else ():
        if inner.name == "tensor.extract":
            yield inner.operands[0], _WHOLE, points * _bytes_of(inner.results[0].type)


def _is_made_in_place(value: ir.Value) -> bool:
    return not isinstance(value, ir.BlockArgument) and value.owner.name in ("linalg.fill", "arith.constant")


def _is_tensor_argument(value: ir.Value) -> bool:
    return isinstance(value, ir.BlockArgument) and isinstance(value.type, ir.RankedTensorType)


def _read_bytes(nest: Nest, access: Access) -> int:
    """The whole tensor, or as many elements of it as there are positions that are read."""
    loops = {loop for index in access.indices for loop in index.loops}
    loops |= {loop for index in access.indices if index.rest is not None for loop in loops_in(index.rest)}
    positions = _points(nest.extents[loop] for loop in loops)
    if not isinstance(access.value.type, ir.RankedTensorType):
        return _bytes_of(access.value.type)
    return min(positions, _elements(access.value)) * _bytes_of(access.value.type.element_type)


def _written(value: ir.Value) -> int:
    """What is stored of a result: of a buffer that comes with its other parts, the parts that are put in."""
    total = 0
    while not isinstance(value, ir.BlockArgument) and value.owner.name == "tensor.insert_slice":
        part, value = value.owner.operands[0], value.owner.operands[1]
        total += bytes_of(part)
    return total if total and isinstance(value, ir.BlockArgument) else bytes_of(value)


def bytes_of(value: ir.Value) -> int:
    """The bytes of a tensor or scalar, dynamic sizes counted as 1."""
    kind = value.type
    if not isinstance(kind, ir.RankedTensorType):
        return _bytes_of(kind)
    return _elements(value) * _bytes_of(kind.element_type)


def _elements(value: ir.Value) -> int:
    return _points(shape_of(value))


def _points(extents: Iterable[int | None]) -> int:
    return prod(1 if extent is None else extent for extent in extents)


def _bytes_of(element: ir.Type) -> int:
    if isinstance(element, ir.IndexType):
        return 8
    return max(element.width // 8, 1)
