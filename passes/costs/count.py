"""What a kernel has to move and to compute, whatever its tiles: what the roofline is asked about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from math import prod

from mlir import ir

from ...dialects.attributes import SUMS
from ..combining import LOGADDEXP
from ..gpu.layouts.instructions import instruction_for
from ..groups import is_init
from ..operations import nested_ops
from ..raising.bodies import is_contraction
from ..structured import ATTENTION, CASTS, SCAN, STRUCTURED
from ..tiling.access import Access, Nest, nest_of, shape_of
from ..tiling.analysis import loops_behind, loops_in
from ..tiling.attention import causal_loop
from ..tiling.contraction import stored_types, total_type
from .cost import SPECIAL, Cost

_FREE = ("arith.constant", *CASTS)
_DTYPES = {"f64": "f64", "f32": "f32", "f16": "f16", "bf16": "bf16"}
_INTEGER = "int"

Part = tuple[int | None, ...]  # where a part of a tensor starts, None where that is not known
_WHOLE: Part = ()


def cost_of(kernel: ir.Operation, tf32: bool = False, unknown: int = 1) -> Cost:
    """The cost of a kernel function on tensors, whether or not a tile rule takes it.

    Bytes are the distinct elements of inputs, read once, and the results (`rows.bytes_again` has what is read
    again); FLOPs one for each arith or math op of a body and iteration, of which branches and loops in the
    body count once. Dynamic sizes count as ``unknown``; what a gather reads counts once for each element that
    it makes, and parts that are added up twice. Of scores that causal attention makes itself those count that
    are not masked. ``tf32``: tensor cores may round factors of f32.
    """
    *ops, end = (op.operation for op in kernel.regions[0].blocks[0].operations)
    reads, work = Reads(unknown), Cost(0)
    masked = _masked(ops)
    for op in ops:
        if op.name == "tensor.dim":
            continue  # it reads a size, not the elements
        if op.name not in STRUCTURED:
            for value in op.operands:
                if _is_tensor_argument(value):
                    reads.add(value, _WHOLE, bytes_of(value, unknown))
            continue
        nest = nest_of(op)
        for value, part, amount in reads_of(nest, unknown):
            if isinstance(value, ir.BlockArgument):
                reads.add(value, part, amount)
        work += work_of(nest, unknown, tf32).repeated(masked.get(op, 1))
    again = sum(bytes_of(value, unknown) for value in list(end.operands)[:1]) if SUMS.get(kernel) else 0
    written = sum(written_of(value, unknown) for value in end.operands)
    return Cost(reads.total() + again + written) + work


def cost_alone(op: ir.Operation, unknown: int = 1) -> Cost:
    """The cost of one structured op if it were a kernel of its own, with the fill that it starts from."""
    nest = nest_of(op)
    reads = Reads(unknown)
    for value, part, amount in reads_of(nest, unknown):
        if not is_made_in_place(value):
            reads.add(value, part, amount)
    written = [op.operands[0]] if op.name == "tensor.insert_slice" else op.results
    return Cost(reads.total() + sum(bytes_of(value, unknown) for value in written)) + work_of(nest, unknown)


def is_kernel_alone(op: ir.Operation) -> bool:
    """Whether ``op`` would be a kernel if nothing were fused; a fill goes with what starts from it."""
    if op.name == "linalg.fill":
        return not all(is_init(use.owner.operation, use.operand_number) for use in op.results[0].uses)
    return op.name in STRUCTURED


class Reads:
    """What is read of each tensor: parts that start at different places are different, together all of it."""

    def __init__(self, unknown: int = 1) -> None:
        self._parts: dict[ir.Value, Mapping[Part, int]] = {}
        self._bytes: dict[ir.Value, int] = {}
        self._unknown = unknown

    def add(self, value: ir.Value, part: Part, amount: int) -> None:
        """Read ``amount`` bytes of ``value``, which start at ``part``."""
        self._set(value, _larger(self._parts.get(value, {}), {part: amount}))

    def total(self) -> int:
        """The bytes of all that is read."""
        return sum(self._bytes.values())

    def joined(self, other: Reads, without: Collection[ir.Value]) -> Reads:
        """What both read, but for the values that are made on the way."""
        both = Reads(self._unknown)
        both._parts = {**self._parts, **other._parts}
        both._bytes = {**self._bytes, **other._bytes}
        for value in self._parts.keys() & other._parts.keys():
            both._set(value, _larger(self._parts[value], other._parts[value]))
        for value in [value for value in both._parts if value in without]:
            del both._parts[value], both._bytes[value]
        return both

    def _set(self, value: ir.Value, parts: Mapping[Part, int]) -> None:
        self._parts[value] = parts
        amounts = parts.values()
        self._bytes[value] = max(max(amounts), min(sum(amounts), bytes_of(value, self._unknown)))


def _larger(one: Mapping[Part, int], other: Mapping[Part, int]) -> Mapping[Part, int]:
    """Each part once, and as much of it as either has."""
    if one == other:
        return one
    return {**one, **{part: max(one.get(part, 0), amount) for part, amount in other.items()}}


def work_of(nest: Nest, unknown: int = 1, tf32: bool = False) -> Cost:
    """What the body of ``nest`` computes in all of its iterations; no bytes. ``tf32`` as for `cost_of`."""
    if nest.op.name == ATTENTION:
        return _of_attention(nest, unknown)
    if nest.op.name == SCAN:  # what comes before an element in its part of the row, and before the part
        kind, times = _dtype(nest.op.results[0].type.element_type), 2 * _points(nest.extents, unknown)
        by_logarithms = ir.StringAttr(nest.op.attributes["kind"]).value == LOGADDEXP
        special = {SPECIAL["math.exp"]: times, SPECIAL["math.log1p"]: times} if by_logarithms else {}
        return Cost(0, elementwise={kind: times}, special=special)
    if nest.body is None:
        return Cost(0)
    work: dict[str, Counter[str]] = {"contracted": Counter(), "elementwise": Counter(), "special": Counter()}
    points = _points(nest.extents, unknown)
    multiplied = _multiplied(nest, tf32) if is_contraction(nest.op) else None
    for inner in nested_ops(nest.op):
        count_op(inner, _times(nest, inner, points, unknown), work, multiplied)
    return Cost(0, **{kind: dict(part) for kind, part in work.items()})


def _times(nest: Nest, op: ir.Operation, points: int, unknown: int) -> int:
    """How often ``op`` of a body is computed: places in a tensor once where loops do not change them."""
    if op.block != nest.body or not op.results or not isinstance(op.results[0].type, ir.IndexType):
        return points
    return _points((nest.extents[loop] for loop in loops_behind(nest, op.results[0])), unknown)


def count_op(
    op: ir.Operation, times: int, work: Mapping[str, Counter[str]], multiplied: str | None = None
) -> None:
    """Add to ``work`` what ``op`` of a body computes; ``multiplied``: as what a contraction counts."""
    if not op.name.startswith(("arith.", "math.")) or op.name in _FREE:
        return
    if op.name in SPECIAL:
        work["special"][SPECIAL[op.name]] += times
    elif multiplied is not None:
        work["contracted"][multiplied] += times
    else:
        work["elementwise"][_dtype(op.operands[-1].type)] += times


def _multiplied(nest: Nest, tf32: bool) -> str:
    """What the products of a contraction count as: by the instruction of tensor cores for them, if any."""
    factors = stored_types(nest)
    total = total_type(nest)
    if factors[0] == factors[1]:
        return _product(factors[0], total, tf32 and len(nest.reductions) == 1)
    return _product(total, total, False)


def _product(factor: ir.Type, total: ir.Type, tf32: bool) -> str:
    """What a product of factors of one type counts as."""
    found = instruction_for(factor, total, tf32)
    if found is not None:
        return found.machine_kind
    return "f64" if str(total) == "f64" else "f32" if isinstance(total, ir.FloatType) else _INTEGER


def _masked(ops: Iterable[ir.Operation]) -> dict[ir.Operation, float]:
    """Which part is computed of what makes the scores of causal attention among ``ops``."""
    found: dict[ir.Operation, float] = {}
    for attention in (op for op in ops if op.name == ATTENTION):
        part, scores = _attended(nest_of(attention)), shape_of(attention.operands[0])
        makers = [attention.operands[0]]
        while makers:
            value = makers.pop()
            if isinstance(value, ir.BlockArgument) or value.owner.name not in STRUCTURED:
                continue
            if shape_of(value) == scores:
                found[value.owner.operation] = part
                makers += value.owner.operands
    return found


def _attended(nest: Nest) -> float:
    """The part of its scores that attention needs: causal rows end at their own position."""
    loop = causal_loop(nest)
    if loop is None:
        return 1.0
    rows, keys = nest.extents[loop], nest.extents[nest.reductions[0]]
    if not rows or not keys:
        return 1.0
    short = min(rows, keys)
    return (short * (short + 1) / 2 + (rows - short) * keys) / (rows * keys)


def _of_attention(nest: Nest, unknown: int) -> Cost:
    """The product, and for each score a maximum, a difference, an exponential and a sum."""
    read = nest.reads[0]
    assert read is not None
    scores = _points((nest.extents[loop] for index in read.indices for loop in index.loops), unknown)
    values, total = (value.type.element_type for value in (nest.op.operands[1], nest.op.results[0]))
    kind = _dtype(total)
    product = {_product(values, total, False): 2 * _points(nest.extents, unknown)}
    whole = Cost(0, contracted=product, elementwise={kind: 3 * scores}, special={"exp": scores})
    return whole.repeated(_attended(nest))


def _dtype(kind: ir.Type) -> str:
    return _DTYPES.get(str(kind), _INTEGER)


def reads_of(nest: Nest, unknown: int = 1) -> Iterator[tuple[ir.Value, Part, int]]:
    """Each tensor or scalar that a nest reads, where the part that is read starts, and its bytes."""
    for access in nest.reads:
        if access is not None:
            starts = tuple(index.start if isinstance(index.start, int) else None for index in access.indices)
            yield access.value, starts, read_bytes(nest, access, unknown)
    for inner in nested_ops(nest.op) if nest.body else ():
        if inner.name == "tensor.extract":
            points = _points(nest.extents, unknown)
            yield inner.operands[0], _WHOLE, points * _bytes_of(inner.results[0].type)


def is_made_in_place(value: ir.Value) -> bool:
    """Whether a kernel that reads ``value`` makes it itself: a constant, or a fill."""
    return not isinstance(value, ir.BlockArgument) and value.owner.name in ("linalg.fill", "arith.constant")


def _is_tensor_argument(value: ir.Value) -> bool:
    return isinstance(value, ir.BlockArgument) and isinstance(value.type, ir.RankedTensorType)


def read_bytes(nest: Nest, access: Access, unknown: int) -> int:
    """The whole tensor, or as many elements of it as there are positions that are read."""
    loops = {loop for index in access.indices for loop in index.loops}
    loops |= {loop for index in access.indices if index.rest is not None for loop in loops_in(index.rest)}
    positions = _points((nest.extents[loop] for loop in loops), unknown)
    if not isinstance(access.value.type, ir.RankedTensorType):
        return _bytes_of(access.value.type)
    return min(positions, _elements(access.value, unknown)) * _bytes_of(access.value.type.element_type)


def written_of(value: ir.Value, unknown: int) -> int:
    """What is stored of a result: of a buffer that comes with its other parts, the parts that are put in."""
    total = 0
    while not isinstance(value, ir.BlockArgument) and value.owner.name == "tensor.insert_slice":
        part, value = value.owner.operands[0], value.owner.operands[1]
        total += bytes_of(part, unknown)
    return total if total and isinstance(value, ir.BlockArgument) else bytes_of(value, unknown)


def bytes_of_element(value: ir.Value) -> int:
    """The bytes of an element of a tensor, or of a scalar."""
    return _bytes_of(value.type.element_type if isinstance(value.type, ir.ShapedType) else value.type)


def bytes_of(value: ir.Value, unknown: int = 1) -> int:
    """The bytes of a tensor, buffer or scalar, a dynamic size counted as ``unknown``."""
    kind = value.type
    if not isinstance(kind, (ir.RankedTensorType, ir.MemRefType)):
        return _bytes_of(kind)
    return _elements(value, unknown) * _bytes_of(kind.element_type)


def _elements(value: ir.Value, unknown: int) -> int:
    return _points(shape_of(value), unknown)


def _points(extents: Iterable[int | None], unknown: int) -> int:
    return prod(unknown if extent is None else extent for extent in extents)


def _bytes_of(element: ir.Type) -> int:
    if isinstance(element, ir.IndexType):
        return 8
    return max(element.width // 8, 1)
