"""Writes the tile IR of one kernel, on demand: the tile of a value is emitted when something asks for it.

``tile(value)`` asks the rule of the op that makes the value; ``operand(...)`` is what rules ask for: what a
nest reads, as a vector over chosen loops of that nest. Inputs become transfer_reads of the whole buffer.
A task with ``has_scratch`` makes what is before a window ahead of it, another one where it is read.

A value's tile has the value's own rank and order of dims; in a rule, vectors are over loops in loop order.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Sequence
from contextlib import contextmanager
from math import prod

from mlir import ir
from mlir.dialects import memref, scf, tensor, vector

from ..base import PassError
from ..constants import literal_of
from ..domain import Dim, Domain
from .access import Access, Nest, shape_of
from .analysis import HALVED
from .at_reads import read_and_compute
from .place import Place, Span
from .registry import rule_of
from .staged import Staged
from .stages import ALIGNMENT
from .vectors import reshape, zero_of
from .walks import columns_of


class Emitter(Place):
    """The state while one kernel's tile IR is written; ``forall`` is the kernel's scf.forall.

    ``beyond``: whether a product's last step is as long as the others, wherever its depth ends. ``listed``:
    how many hits are read at once; 0: what is no hit is read, too.
    """

    def __init__(
        self,
        domain: Domain,
        tiles: Sequence[int],
        forall: scf.ForallOp,
        spans: dict[Dim, Span],
        extents: dict[Dim, int | ir.Value],
        *,
        has_scratch: bool,
        beyond: bool = False,
        listed: int = 0,
    ) -> None:
        super().__init__(domain, forall, spans, extents)
        self.tiles = tuple(tiles)
        self.has_scratch = has_scratch
        self.beyond = beyond
        self.listed = listed
        self.staged: dict[ir.Value, Staged] = {}
        self._keeps = has_scratch and bool(columns_of(domain))
        self._kept: dict[Hashable, ir.Value] = {}
        self._used: list[ir.Value] = []
        self._free: list[ir.Value] = []

    @contextmanager
    def turn(self, spans: dict[Dim, Span]) -> Iterator[None]:
        """As everywhere; scratch taken there is free behind the loop, for the one through the rest, say."""
        before, kept = len(self._used), dict(self._kept)
        with super().turn(spans):
            yield
        self._kept = kept
        self._free += self._used[before:]
        del self._used[before:]

    def tile(self, value: ir.Value) -> ir.Value:
        """The tile of a value that is made in the kernel, in the value's own order of dims."""
        found = self.domain.writer(value)
        assert found is not None, "an input has no tile of its own"
        nest, _ = found
        key = self._key(value)
        if key in self._kept:
            return self.kept(self._kept[key])
        known = self.recall(key)
        if known is not None:
            return known
        self._check_whole(nest)
        with nest.op.location:
            tiles = rule_of(nest).emit(self, nest)
        for write, made in zip(nest.writes, tiles, strict=True):
            self.remember(self._key(write.value), made)
        return self._memo[-1][key]

    def carry(self, nest: Nest, before: ir.Value) -> None:
        """Let ``before`` be the totals of a scan up to the step that we are in."""
        self.remember(("before", nest), before)

    def before(self, nest: Nest) -> ir.Value | None:
        """The totals of a scan up to the step that we are in, if steps carry them."""
        return self.recall(("before", nest))

    def _check_whole(self, nest: Nest) -> None:
        """Refuse to reduce a part of a dim for all of it, in a loop along that dim, say."""
        for loop in nest.reductions if self.before(nest) is None else ():
            dim = self.dim(nest, loop)
            span = self._spans[-1].get(dim)
            if span is not None and (span.start != 0 or span.size != max(dim.extent or 0, 1)):
                reason = f"loop {loop} would be reduced in part: the task is at a part of that dim here"
                raise PassError(nest.op, reason)

    def assume(self, value: ir.Value, tile: ir.Value) -> None:
        """Let ``tile`` be what the kernel would make of ``value`` where we are, in its own order of dims."""
        self.remember(self._key(value), tile)

    def tile_of_slice(self, nest: Nest) -> ir.Value:
        """What an insert_slice puts in, with the rank of the tensor that it is put into."""
        (tile,) = rule_of(nest).emit(self, nest)
        (write,) = nest.writes
        return self.result(tile, range(len(nest.kinds)), write)

    def _key(self, value: ir.Value) -> Hashable:
        dims = self.domain.value_dims(value)
        return value, tuple(self._spans[-1][dim] if dim is not None else None for dim in dims)

    def operand(self, nest: Nest, access: Access, loops: Sequence[int]) -> ir.Value:
        """What ``nest`` reads, as a vector over ``loops``, stretched along those that it does not have."""
        shape = self.sizes(nest, loops)
        literal = literal_of(access.value)
        if literal is not None:
            return self.splat(literal, shape)
        if not shape_of(access.value):
            return self.stretch(self.scalar_of(access.value), shape)
        axes = self.axes(nest, access, loops)
        present = [axis for axis in axes if axis is not None]
        turned = sorted(present, key=loops.index)
        is_whole = access.padding is not None or self.domain.writer(access.value) is not None
        is_whole = is_whole or any(index.stride != 1 for index in access.indices)
        if turned == present or is_whole:
            return self.arrange(self.own(nest, access), axes, loops, shape)
        own = self.read(nest, access, [axes.index(axis) for axis in turned])
        return self.arrange(own, turned, loops, shape)

    def ahead(self, nest: Nest, dims: Collection[Dim]) -> None:
        """Emit what ``nest`` reads and no step along ``dims`` changes: once, before a loop over them.

        The maximum in a sum of exp(x - max), say. Of several columns it is kept in a task's scratch: strips
        of registers lie within each step, and would make it again there.
        """
        seen = set()
        nests = [nest]
        while dims and nests:
            for access in nests.pop().reads:
                made = None if access is None else self.domain.writer(access.value)
                if access is None or made is None:
                    continue
                if not any(dim in dims for dim in self.domain.value_dims(access.value)):
                    self._make_ahead(access.value, made[0], dims)
                elif made[0] not in seen:
                    seen.add(made[0])
                    nests.append(made[0])

    def _make_ahead(self, value: ir.Value, nest: Nest, dims: Collection[Dim]) -> None:
        is_truth = value.type.element_type == ir.IntegerType.get_signless(1)
        if is_truth:  # has no place in memory; what it is made from has
            self.ahead(nest, dims)
        tile, key = self.tile(value), self._key(value)
        if self.can_keep(tile) and key not in self._kept and literal_of(tile) is None:
            self._kept[key] = self.keep(tile)

    def can_keep(self, tile: ir.Value) -> bool:
        """Whether a tile of several columns of unknown length may lie in a task's scratch."""
        is_truth = tile.type.element_type == ir.IntegerType.get_signless(1)
        return self._keeps and not is_truth and prod(tile.type.shape) > 1

    def keep(self, tile: ir.Value, memory: ir.Value | None = None) -> ir.Value:
        """Write a tile to ``memory``, or to scratch that is free; where it is now."""
        shape = tile.type.shape
        memory = memory or self._scratch(ir.MemRefType.get(shape, tile.type.element_type))
        order = ir.AffineMapAttr.get(ir.AffineMap.get_identity(len(shape)))
        bounds = ir.ArrayAttr.get([ir.BoolAttr.get(True)] * len(shape))
        vector.TransferWriteOp(None, tile, memory, [self.index(0)] * len(shape), order, bounds)
        return memory

    def _scratch(self, kind: ir.MemRefType) -> ir.Value:
        """Memory that is ours up to the end of the loop that we are in."""
        memory = next((each for each in self._free if each.type == kind), None)
        if memory is None:
            with ir.InsertionPoint.at_block_begin(self.forall.body):
                memory = memref.AllocaOp(kind, [], [], alignment=ALIGNMENT).result
        else:
            self._free.remove(memory)
        self._used.append(memory)
        return memory

    def kept(self, memory: ir.Value) -> ir.Value:
        """The tile that lies in scratch."""
        shape = memory.type.shape
        zeros = [self.index(0)] * len(shape)
        return self.transfer_read(memory, zeros, shape, [True] * len(shape), range(len(shape)))

    def own(self, nest: Nest, access: Access) -> ir.Value:
        """What ``nest`` reads, in the value's own order of dims."""
        if self.domain.writer(access.value) is not None:
            return self.tile(access.value)
        return self.read(nest, access)

    def scalar_of(self, value: ir.Value) -> ir.Value:
        """A scalar or a 0-d tensor: the scalar itself, or the 0-d vector of one made here."""
        if not isinstance(value.type, ir.RankedTensorType):
            return value
        if self.domain.writer(value) is not None:
            return self.tile(value)
        return self.recall(value) or self.remember(value, tensor.ExtractOp(value, []).result)

    def axes(self, nest: Nest, access: Access, loops: Sequence[int]) -> list[int | None]:
        """The loop that runs along each dim of a tile that is read; None along dims of one element."""
        axes: list[int | None] = []
        for index in access.indices:
            among = [loop for loop in index.loops if loop in loops]
            wide = [loop for loop in among if self.span(nest, loop).size != 1]
            assert len(wide) <= 1, "two tiled loops in one dim"
            axes.append(next(iter(wide or among), None))
        return axes

    def read(self, nest: Nest, access: Access, order: Sequence[int] | None = None) -> ir.Value:
        """The transfer_read of an input; ``order`` picks and orders the dims of the vector.

        Where every other element is wanted of the last dim, those between are read, too, and dropped.
        """
        order = range(len(access.indices)) if order is None else order
        staged = self.staged.get(access.value)
        if staged is not None:
            return staged.read(self, nest, access, order)
        stage = self.domain.stages.get(access.value)
        if stage is not None:
            return read_and_compute(self, nest, stage, order)
        starts, sizes, exact = [], [], []
        halved = False
        for dim, index in enumerate(access.indices):
            starts.append(self.position(nest, index))
            spans = [self.span(nest, loop) for loop in index.loops]
            size = max((span.size for span in spans), default=1)
            step = index.stride * max((span.step for span in spans), default=1)
            if step != 1 and size != 1:
                assert step == HALVED and dim == order[-1] == len(access.indices) - 1, "no row's elements"
                halved, size = True, HALVED * size
            sizes.append(size)
            exact.append(not index.padded and all(span.exact for span in spans) and not halved)
        read = self.transfer_read(access.value, starts, sizes, exact, order, access.padding)
        return vector.DeinterleaveOp(read).results[0] if halved else read

    def transfer_read(
        self,
        source: ir.Value,
        starts: Sequence[ir.Value],
        sizes: Sequence[int],
        exact: Sequence[bool],
        order: Sequence[int],
        padding: ir.Value | None = None,
    ) -> ir.Value:
        """A vector of ``sizes[d]`` elements along each dim d in ``order``, and one along the others.

        A dim that is not exact may start below 0 and end beyond its size: there ``padding`` (else 0) is read.
        """
        known_padding = None if padding is None else hash(padding)  # a value cannot be compared with None
        key = ("read", source, tuple(starts), tuple(sizes), tuple(order), known_padding)
        known = self.recall(key)
        if known is not None:
            return known
        element = source.type.element_type
        dims = [ir.AffineDimExpr.get(dim) for dim in order]
        where = ir.AffineMapAttr.get(ir.AffineMap.get(len(sizes), 0, dims))
        bounds = ir.ArrayAttr.get([ir.BoolAttr.get(exact[dim]) for dim in order])
        result = ir.VectorType.get([sizes[dim] for dim in order], element)
        padding = self.constant(zero_of(element)) if padding is None else padding
        read = vector.TransferReadOp(result, source, list(starts), where, padding, bounds)
        return self.remember(key, read.result)

    def of_stage(self, domain: Domain, spans: dict[Dim, Span]) -> Emitter:
        """Writes here what makes a stage, at the part of it that a task reads."""
        extents: dict[Dim, int | ir.Value] = {dim: dim.extent for dim in spans if dim.extent is not None}
        tiles = [0] * len(domain.dims)
        return Emitter(domain, tiles, self.forall, spans, extents, has_scratch=self.has_scratch)

    def result(self, value: ir.Value, loops: Sequence[int], write: Access) -> ir.Value:
        """A vector over ``loops`` as the tile of what is written, in the value's own order of dims."""
        order = [index.loops[0] for index in write.indices if index.loops]
        if not isinstance(value.type, ir.VectorType):
            return self.stretch(value, [1] * len(write.indices))
        shape = dict(zip(loops, value.type.shape, strict=True))
        value = self.arrange(value, loops, order, [shape[loop] for loop in order])
        return reshape(value, [shape[index.loops[0]] if index.loops else 1 for index in write.indices])
