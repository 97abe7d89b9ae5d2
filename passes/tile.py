"""Write each kernel as tile IR: an scf.forall over tasks, tile-sized vectors inside.

Before::

    func.func private @kernel_0_relu(%x: tensor<1001x1000xf32>, %out: …) -> tensor<1001x1000xf32>
        attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 16, 0>}} {
      %r = linalg.generic {…} ins(%x) outs(%out) { … arith.maximumf … }
      return %r

After::

    %r = scf.forall (%i) = (0) to (1001) step (16) shared_outs(%o = %out) -> (tensor<1001x1000xf32>) {
      %v = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [false, true]} : …, vector<16x1000xf32>
      %y = arith.maximumf %v, %zero : vector<16x1000xf32>
      %w = vector.transfer_write %y, %o[%i, %c0] {in_bounds = [false, true]} : …
      scf.forall.in_parallel { tensor.parallel_insert_slice %w into %o[0, 0] [1001, 1000] [1, 1] : … }
    }

Legal for kernels with a ``mlopt.schedule``; `mlopt-schedule` marks those that no rule takes ``mlopt.slow``,
and they stay as they are. The results are emitted on demand, each op by its rule (``passes/tiling``). What
comes out bufferizes without copies or allocations but scratch (what is made ahead of a window,
``passes/tiling/staged.py``; a schedule with ``warps`` has none, ``passes/tiling/at_reads.py``); accumulators
are vectors carried by scf.for. A row of unknown length is written in steps, by an scf.for that carries the
result (``passes/tiling/walks.py``).

Lowering: without it kernels are scalar loops. Its own compile time is 0.03 s for the kernels of two GPT-2
blocks.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from mlir import ir
from mlir.dialects import scf, tensor, vector

from ..dialects.attributes import EQUAL_SIZES, KERNEL, SCHEDULE, SUMS
from .base import Pass, PassError
from .domain import Dim, Domain
from .operations import block_ops, defining_op
from .structured import STRUCTURED, dim_of, shaped_like
from .subsets import part_sizes
from .tiling import scan
from .tiling.access import shape_of
from .tiling.emitter import Emitter
from .tiling.equal_sizes import equal_sizes
from .tiling.place import Span
from .tiling.registry import SINGLE, can_tile, stepped_dims
from .tiling.walks import steps_of

CALLS = 12  # how deep they are for an op whose operand the op before makes


@dataclass(frozen=True)
class Tile(Pass):
    """Turn each scheduled kernel into one scf.forall of tile-sized vectors."""

    name: ClassVar[str] = "mlopt-tile"

    def run(self, op: ir.Operation) -> None:
        """Tile each scheduled kernel of the module."""
        for function in op.regions[0].blocks[0].operations:
            if KERNEL.get(function) and SCHEDULE.get(function):
                tile_kernel(function.operation)


def kernel_domain(function: ir.Operation) -> Domain | str:
    """The domain of a kernel function's body, or why it cannot be tiled."""
    block = function.regions[0].blocks[0]
    *ops, end = block.operations
    results = list(end.operation.operands)
    domain = Domain.build([op.operation for op in ops], results)
    if isinstance(domain, str):
        return domain
    outs = list(block.arguments)[len(block.arguments) - len(results) :]
    for nest in domain.nests:
        if any(access is not None and access.value in outs for access in nest.reads):
            return "the kernel reads what it writes"
        if isinstance(nest.onto, ir.BlockArgument) and nest.onto not in outs:
            return "a part is written into another argument than the result's"
    return domain


def scheduled_domain(function: ir.Operation) -> Domain | str:
    """What the schedule of a kernel divides into tasks: all of it, or the product whose parts it sums up."""
    if SUMS.get(function) is None:
        return kernel_domain(function)
    *ops, end = block_ops(function)
    parts = end.operands[0]
    return Domain.build(ops[: ops.index(parts.owner.operation) + 1], [parts])


def tile_kernel(function: ir.Operation) -> None:
    """Replace the structured ops of a kernel function by one scf.forall, or by two if it sums up parts."""
    sums = SUMS.get(function)
    if sums is not None:
        *ops, end = block_ops(function)
        parts = end.operands[0]
        maker = ops.index(parts.owner.operation)
        _tile_part(function, scheduled_domain(function), [0], SCHEDULE.get(function) or {})
        parts.replace_all_uses_with(end.operands[0])
        rest = range(1, len(end.operands))
        domain = Domain.build(ops[maker + 1 :], [end.operands[number] for number in rest])
        _tile_part(function, domain, rest, sums)
    else:
        results = range(len(block_ops(function)[-1].operands))
        domain = kernel_domain(function)
        equal = [] if isinstance(domain, str) else equal_sizes(function, domain)
        if equal:
            EQUAL_SIZES.set(function, tuple(equal))
        _tile_part(function, domain, results, SCHEDULE.get(function) or {})
    _erase_old(function.regions[0].blocks[0])


def _tile_part(
    function: ir.Operation, domain: Domain | str, own: Sequence[int], schedule: dict[str, tuple[int, ...]]
) -> None:
    """Write the scf.forall of a domain, which makes the results of these numbers."""
    reason = domain if isinstance(domain, str) else can_tile(domain)
    if isinstance(domain, str) or reason is not None:
        raise PassError(function, f"this cannot be tiled: {reason}; mark it mlopt.slow")
    tiles = schedule.get("tile", ())
    if len(tiles) != len(domain.dims):
        raise PassError(function, f"{SCHEDULE.name} has {len(tiles)} tile sizes for {len(domain.dims)} dims")
    stepped = stepped_dims(domain)
    for dim in domain.dims:
        if dim.whole and dim.extent and _is_split(dim, tiles[dim.id]):
            raise PassError(function, f"{SCHEDULE.name} divides dim {dim.id}, of which a task needs all")
        if dim in stepped and tiles[dim.id] != SINGLE:
            raise PassError(
                function, f"{SCHEDULE.name} must have 1 for dim {dim.id}, made element by element"
            )
    block = function.regions[0].blocks[0]
    end = block.operations[len(block.operations) - 1].operation
    every = list(block.arguments)[len(block.arguments) - len(end.operands) :]
    outs = [every[number] for number in own]
    # A result without elements is its destination as it came; an scf.forall cannot give it back.
    made = [number for number, out in enumerate(outs) if 0 not in out.type.shape]
    if made:
        with ir.InsertionPoint(end), function.location:
            forall = _forall(domain, schedule, outs, made)
        SCHEDULE.set(forall, schedule)
        for number, result in zip(made, forall.results, strict=True):
            outs[number] = result
    for number, value in zip(own, outs, strict=True):
        end.operands[number] = value


def _forall(
    domain: Domain, schedule: Mapping[str, Sequence[int]], every: Sequence[ir.Value], made: Sequence[int]
) -> scf.ForallOp:
    """The tasks, for the results whose numbers are ``made``; ``every`` are the destinations.

    Threads have scratch for what is made ahead of a window; blocks of warps make it where it is read.
    """
    tiles, has_scratch, beyond = schedule["tile"], "warps" not in schedule, "beyond" in schedule
    (listed,) = schedule.get("listed", (0,))
    outs = [every[number] for number in made]
    extents = {dim: _extent(domain, dim, every) for dim in domain.dims}
    parallel = [dim for dim in domain.dims if dim.kind == "parallel" and not dim.walked]
    split = [dim for dim in parallel if _is_split(dim, tiles[dim.id])]
    steps = [tiles[dim.id] or 1 for dim in split]
    bounds = [extents[dim] for dim in split]
    forall = scf.ForallOp([0] * len(split) or [0], bounds or [1], steps or [1], outs)
    spans = {
        dim: Span(0, max(dim.extent, 1), dim.extent > 0) for dim in domain.dims if dim.extent is not None
    }
    for dim, step, position in zip(split, steps, forall.induction_variables, strict=False):
        exact = step == 1 or (dim.extent is not None and dim.extent % step == 0)
        spans[dim] = Span(position, step, exact and dim.extent != 0)
    emitter = Emitter(
        domain, tiles, forall, spans, extents, has_scratch=has_scratch, beyond=beyond, listed=listed
    )
    with ir.InsertionPoint(forall):
        sizes = [_dynamic_sizes(out) for out in outs]
    with ir.InsertionPoint(forall.body), _calls(CALLS * len(domain.nests)):
        written = _write_all(emitter, [domain.results[number] for number in made])
        end = scf.InParallelOp()
    with ir.InsertionPoint(end.block):
        for value, out, dynamic in zip(written, forall.inner_iter_args, sizes, strict=True):
            shape = list(out.type.shape)
            zeros, ones = [0] * len(shape), [1] * len(shape)
            tensor.ParallelInsertSliceOp(value, out, [], dynamic, [], zeros, shape, ones)
    return forall


@contextmanager
def _calls(more: int) -> Iterator[None]:
    """Let calls be so much deeper."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(limit + more)
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


def _is_split(dim: Dim, tile: int) -> bool:
    """Whether the tasks divide a dim, or have more than it. An empty one is divided too: there is no task."""
    return dim.extent is None or dim.extent == 0 or 0 < tile != dim.extent


def _extent(domain: Domain, dim: Dim, outs: Sequence[ir.Value]) -> int | ir.Value:
    """The extent of a dim; a dynamic one is read off an argument, or given as the size of a tensor."""
    if dim.extent is not None:
        return dim.extent
    for nest in domain.nests:
        accesses = [access for access in nest.reads if access is not None]
        accesses += nest.writes
        for access in accesses:
            value = access.value
            if value in domain.results:
                value = outs[domain.results.index(value)]
            if not isinstance(value, ir.BlockArgument):
                continue
            for position, index in enumerate(access.indices):
                if index.plain and domain.loops(nest)[index.loops[0]] == dim:
                    return _size(value, position)
    for nest in domain.nests:
        if nest.op.name in ("tensor.extract_slice", "tensor.insert_slice") and dim in domain.loops(nest):
            return part_sizes(nest.op)[domain.loops(nest).index(dim)]
        for write in nest.writes:
            empty = defining_op(shaped_like(write.value), "tensor.empty")
            for position, index in enumerate(write.indices if empty is not None else ()):
                if index.plain and domain.loops(nest)[index.loops[0]] == dim:
                    return dim_of(write.value, position)
    raise PassError(domain.nests[-1].op, "no argument of the kernel has the size of a dynamic loop")


def _write_all(emitter: Emitter, values: Sequence[ir.Value]) -> list[ir.Value]:
    """Write the task's tiles of ``values``, those along the same rows of unknown length in one loop."""
    outs = list(emitter.forall.inner_iter_args)
    rows: dict[tuple[Dim, ...], list[int]] = {}
    for number, value in enumerate(values):
        found = emitter.domain.writer(value)
        assert found is not None, "a result is made by the kernel"
        dims = emitter.domain.value_dims(value)
        walked = tuple(dim for dim in dims if dim is not None and dim.walked)
        rows.setdefault(walked, []).append(number)
        emitter.ahead(found[0], walked)
    for walked, numbers in rows.items():
        steps, along = steps_of(emitter, walked), [values[number] for number in numbers]
        into = [outs[number] for number in numbers]
        written = scan.walk(emitter, steps, along, into, partial(_write_step, emitter, along))
        for number, out in zip(numbers, written, strict=True):
            outs[number] = out
    return outs


def _write_step(emitter: Emitter, values: Sequence[ir.Value], outs: Sequence[ir.Value]) -> list[ir.Value]:
    return [_write(emitter, value, out) for value, out in zip(values, outs, strict=True)]


def _write(emitter: Emitter, value: ir.Value, out: ir.Value) -> ir.Value:
    """Write the task's tile of ``value`` into ``out``; an insert_slice after what it is inserted into."""
    found = emitter.domain.writer(value)
    assert found is not None, "a result is made by the kernel"
    nest, write = found
    if nest.onto is not None and emitter.domain.writer(nest.onto) is not None:
        out = _write(emitter, nest.onto, out)
    with nest.op.location:
        tile = emitter.tile_of_slice(nest) if nest.onto is not None else emitter.tile(value)
        starts = [emitter.position(nest, index) for index in write.indices]
        exact = [all(emitter.span(nest, loop).exact for loop in index.loops) for index in write.indices]
        rank = len(write.indices)
        order = ir.AffineMapAttr.get(ir.AffineMap.get_identity(rank))
        bounds = ir.ArrayAttr.get([ir.BoolAttr.get(flag) for flag in exact])
        return vector.TransferWriteOp(out.type, tile, out, starts, order, bounds).result


def _dynamic_sizes(out: ir.Value) -> list[ir.Value]:
    """The dynamic sizes of an output."""
    return [_size(out, position) for position, size in enumerate(shape_of(out)) if size is None]


def _size(value: ir.Value, position: int) -> ir.Value:
    where = ir.IntegerAttr.get(ir.IndexType.get(), position)
    constant = ir.Operation.create("arith.constant", [ir.IndexType.get()], attributes={"value": where})
    return tensor.DimOp(value, constant.results[0]).result


def _erase_old(block: ir.Block) -> None:
    """Erase the ops that the scf.forall replaces, and what only they used."""
    for op in reversed(list(block.operations)):
        name = op.operation.name
        dead = all(not list(result.uses) for result in op.operation.results)
        if dead and name in (*STRUCTURED, "tensor.empty", "tensor.dim", "arith.constant"):
            op.operation.erase()
