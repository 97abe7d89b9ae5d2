"""What warpgroups multiply is copied to shared memory a few steps ahead, and multiplied there.

Before::

    %d = scf.for %k = %c0 to %n step %c64 iter_args(%s = %zero) -> (vector<128x256xf32>) {
      %x = vector.transfer_read %a[%i, %k], %pad {mlopt.layout = "…"} : memref<…xbf16>, vector<128x64xbf16>
      %y = vector.transfer_read %b[%j, %k], %pad {mlopt.layout = "…"} : memref<…xbf16>, vector<256x64xbf16>
      %t = vector.contract {…, mlopt.mma = "m64n256k16.bf16"} %x, %y, %s
      scf.yield %t
    }

After, in four stages::

    %ring = "mlopt.shared_ring"() : () -> memref<4x128x64xbf16, #gpu.address_space<workgroup>>
    … mlopt.async_copy of the first two steps, each with an mlopt.async_commit …
    %d = scf.for %k = %c0 to %n step %c64 iter_args(%s = %zero) -> (vector<128x256xf32>) {
      "mlopt.async_wait"() {pending = 1, proxy = 1}
      %x = vector.transfer_read %a[%i, %later], %pad {mlopt.layout = "…"}
      "mlopt.async_copy"(%x, %ring, %free, %later, %n)                  // of the step after the next
      "mlopt.async_commit"()
      %t = "mlopt.warpgroup_mma"(%ring, %slot, %other, %slot, %s) {…}   // the slot is (%k / 64) mod 4
      "mlopt.warpgroup_wait"() {pending = 1}
      scf.yield %t
    }
    %e = "mlopt.warpgroup_result"(%d)
    "mlopt.release"(%ring)

A product runs while the next step's copies begin: one is under way when a step ends, so that the slot which
is written to is that of the step before the last, which all warps have waited for when they meet. Nothing is
computed between a product and the end of its step: ptxas would wait for it to move a register. With two
stages there is no such slot, and a step waits for its product.

Legal behind mlopt-gpu-assign-layouts for loops whose products mlopt-gpu-warpgroup-products has marked: it
has asked for all that is needed here. As many stages as the schedule says (``stages``), or as there is room
for, two at least.

Lowering: mlopt-gpu-distribute knows no wgmma whose factors are elsewhere. 0.02 s of compile time for
a product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from mlir import ir

from ...dialects.attributes import LAYOUT, MMA, SCHEDULE
from ..base import Pass
from ..constants import index_constant, integer_of
from ..operations import block_ops, nested_ops
from .grids import grids_of
from .layouts.access import bytes_of
from .layouts.order import last_read_behind
from .layouts.roles import Roles, roles_of
from .layouts.tiles import contract_loops, sizes_of
from .layouts.warpgroup import PATTERN_BYTES, PRODUCT, Factor, Warpgroup, factor_of, warpgroup_of
from .layouts.warps import BLOCK_SHARED
from .rings import at_later, copy_step, create, make_ring, slot_of
from .warpgroup_products import STAGES


@dataclass(frozen=True)
class WarpgroupLoads(Pass):
    """Copy factors of warpgroups ahead; ``shared``: the bytes of shared memory that a block may have."""

    name: ClassVar[str] = "mlopt-gpu-warpgroup-loads"
    shared: int = BLOCK_SHARED

    def run(self, op: ir.Operation) -> None:
        """Rewrite the loops of each kernel with marked products."""
        for forall in grids_of(op):
            (wanted,) = (SCHEDULE.get(forall) or {}).get("stages", (STAGES,))
            for loop in [each for each in nested_ops(forall) if each.name == "scf.for"]:
                products = [each for each in block_ops(loop) if _is_marked(each)]
                if products:
                    _Rewrite(loop, products).run(wanted, self.shared)


def _is_marked(op: ir.Operation) -> bool:
    return MMA.name in op.attributes and warpgroup_of(op) is not None


class _Rewrite:
    """One loop and its products."""

    def __init__(self, loop: ir.Operation, products: list[ir.Operation]) -> None:
        self.loop, self.products = loop, products
        reads = [factor.owner.operation for product in products for factor in list(product.operands)[:2]]
        self.reads = list(dict.fromkeys(reads))
        self.first, self.at = loop.operands[0], loop.regions[0].blocks[0].arguments[0]
        step = integer_of(loop.operands[2])
        assert step is not None, "mlopt-gpu-warpgroup-products has asked"
        self.step = step
        self.summed = [product for product in products if not _instruction(product).apart]

    def run(self, wanted: int, shared: int) -> None:
        """Put ``wanted`` steps into shared memory at once, if there is room."""
        room = shared - PATTERN_BYTES * len(self.reads)
        stages = max(min(wanted, room // sum(map(_bytes, self.reads))), STAGES)
        running = stages > STAGES and self.summed == self.products
        ahead = stages - 1 - running
        with ir.InsertionPoint(self.loop), self.loop.location:
            self.rings = {read: make_ring(read, stages) for read in self.reads}
            for stage in range(ahead):
                self._copy(index_constant(stage), at_later(self.first, stage * self.step))
        last = self.loop.regions[0].blocks[0].operations[-1]
        with ir.InsertionPoint(last), self.loop.location:
            create("mlopt.async_wait", pending=ahead - 1, proxy=1)
            free = slot_of(self.at, self.first, self.step, ahead, stages)
            self._copy(free, at_later(self.at, ahead * self.step))
            slot = slot_of(self.at, self.first, self.step, 0, stages)
            made = {product: self._multiply(product, slot) for product in self.products}
            if running:
                create("mlopt.warpgroup_wait", pending=len(made))
            finished = [made[product] for product in self.summed]
        for op in (*self.products, *self.reads):
            op.erase()
        last = last_read_behind(self.loop)
        with ir.InsertionPoint.after(last), self.loop.location:
            for ring in self.rings.values():
                create("mlopt.release", [ring])
        for product in finished:
            self._finish(product, last if running else None)

    def _copy(self, slot: ir.Value, at: ir.Value) -> None:
        for read, ring in self.rings.items():
            copy_step(self.loop, read, ring, slot, at)
        create("mlopt.async_commit")

    def _multiply(self, product: ir.Operation, slot: ir.Value) -> ir.Operation:
        """The product of what is in a slot of its rings."""
        left, right = (self.rings[factor.owner.operation] for factor in list(product.operands)[:2])
        apart = _instruction(product).apart
        start = product.operands[2]
        if apart:
            start = _made_like(product, "arith.constant", [], value=_zeros(start.type))
        made = make_product(PRODUCT, product, [left, slot, right, slot, start])
        result = made.results[0]
        if apart:
            result = _made_like(product, "mlopt.warpgroup_result", [result])
            result = _made_like(product, "arith.addf", [product.operands[2], result])
        product.results[0].replace_all_uses_with(result)
        return made

    def _finish(self, product: ir.Operation, last: ir.Operation | None) -> None:
        """Who has the result waits for it: behind ``last``, behind the loop, or the next step."""
        (use,) = product.results[0].uses
        value = product.results[0] if last is None else self.loop.results[use.operand_number]
        uses = [(use.owner.operation, use.operand_number) for use in value.uses]
        with ir.InsertionPoint.after(product if last is None else last), self.loop.location:
            made = ir.Operation.create("mlopt.warpgroup_result", [value.type], [value])
        made.attributes[LAYOUT.name] = product.attributes[LAYOUT.name]
        for user, place in uses:
            user.operands[place] = made.results[0]


def _instruction(product: ir.Operation) -> Warpgroup:
    found = warpgroup_of(product)
    assert found is not None, "only marked products are here"
    return found


def _made_like(
    product: ir.Operation, name: str, operands: list[ir.Value], **attributes: ir.Attribute
) -> ir.Value:
    """The result of a new op, which threads have as they have a product's."""
    attributes[LAYOUT.name] = product.attributes[LAYOUT.name]
    return ir.Operation.create(name, [product.results[0].type], operands, attributes).results[0]


def _zeros(kind: ir.Type) -> ir.Attribute:
    return ir.DenseElementsAttr.get_splat(kind, ir.FloatAttr.get(ir.VectorType(kind).element_type, 0.0))


def make_product(name: str, product: ir.Operation, operands: Sequence[ir.Value]) -> ir.Operation:
    """A marked product as the op ``name`` of factors and sums, at the insertion point."""
    roles = roles_of(product)
    assert isinstance(roles, Roles), "mlopt-gpu-tensor-cores has asked"
    loops = contract_loops(product)[2]
    sides = [loops.index(loop) for side in (roles.rows, roles.columns) for loop in side.loops]
    attributes = {
        "instruction": product.attributes[MMA.name],
        "left": _numbers(*_dims(product, 0)),
        "right": _numbers(*_dims(product, 1)),
        "result": _numbers(*sides),
        LAYOUT.name: product.attributes[LAYOUT.name],
    }
    return ir.Operation.create(name, [product.results[0].type], list(operands), attributes)


def _dims(product: ir.Operation, number: int) -> tuple[int, int, int]:
    """The dims of a factor: the result's, the depth, and the one along memory; in registers the depth."""
    factor, roles = factor_of(product, number), roles_of(product)
    if isinstance(factor, Factor):
        return factor.own, factor.depth, factor.inner
    assert isinstance(roles, Roles) and roles.depth is not None, "mlopt-gpu-tensor-cores has asked"
    loops = contract_loops(product)[number]
    depth = loops.index(roles.depth)
    return loops.index(roles.rows.loops[0]), depth, depth


def _numbers(*numbers: int) -> ir.Attribute:
    return ir.DenseI64ArrayAttr.get(list(numbers))


def _bytes(read: ir.Operation) -> int:
    tile = read.results[0]
    return prod(sizes_of(tile)) * bytes_of(ir.VectorType(tile.type).element_type)
