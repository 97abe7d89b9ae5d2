"""Products of loops are made by warpgroups, whose factors stay in shared memory (wgmma).

Before (four warps)::

    %d = scf.for %k = … iter_args(%s = %zero) -> (vector<64x256xf32>) {
      %x = vector.transfer_read %a[%i, %k], %pad : memref<…xbf16>, vector<64x64xbf16>
      %y = vector.transfer_read %b[%k, %j], %pad : memref<…xbf16>, vector<64x256xbf16>
      %t = vector.contract {…, mlopt.mma = "m16n8k16.bf16"} %x, %y, %s
      scf.yield %t
    }

After, with the instruction of four warps::

      %t = vector.contract {…, mlopt.mma = "m64n256k16.bf16"} %x, %y, %s

An mma.sync wants its factors in registers, and ldmatrix to bring them there: on an H100 it reaches some two
thirds of the peak. A wgmma reads them where they were copied to, and runs while the next ones come.

Legal on sm_90a alone, where the result is added up by the loop and used behind it only; rows come by 64 for
each warpgroup (or as a power of two of them), columns by 8 (of 8-bit integers 16) up to 256; and factors are
tiles that the loop reads, padded with zeros, with 16 bytes of neighbours, whose rows in memory are 32, 64 or
a multiple of 128 bytes. Only rows of 16-bit elements may run along the result's. Two steps must fit
``shared`` bytes. Of f32 a wgmma cuts off the bits that TF32 has not, where factors are to be rounded: boxes
do that on their way (mlopt-gpu-tma-loads), so that products of it stay with mma.sync where these cannot
come. (Threads that copy, as those of a kernel's twin for what is unaligned, round, too, but wait for what
they load.) Kernels whose products are factors of others, as attention, are left to
mlopt-gpu-warpgroup-attention. What stays has the reason in mlopt.by_warps, which `mlopt explain --layout`
tells. Runs after mlopt-gpu-tensor-cores; mlopt-gpu-warpgroup-loads copies the factors.

Effect: 4096x4096x4096 in f16 has 1662 instructions of PTX instead of 2259, and no ldmatrix instead of 64;
in TF32, with both factors along the depth, a step has 68 of SASS instead of 452, and 154 registers instead of
241 (sm_90a).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from mlir import ir

from ...dialects.attributes import BY_WARPS, MMA
from ..base import Pass
from ..constants import integer_of
from ..operations import block_ops, defining_op, nested_ops
from ..structured import is_used
from .grids import grids_of
from .layouts.access import WIDE, access_of
from .layouts.instructions import TF32, makes_factor
from .layouts.tiles import sizes_of
from .layouts.warpgroup import PATTERN_BYTES, Factor, Warpgroup, factor_of, read_of, warpgroup_for
from .layouts.warps import BLOCK_SHARED, warps_of
from .rings import copy_problem
from .tma_loads import boxes_problem

STAGES = 2  # at least
_NO_LOOP = "no loop adds it up"


@dataclass(frozen=True)
class WarpgroupProducts(Pass):
    """Mark the products of warpgroups; ``shared``: the bytes of shared memory that a block may have."""

    name: ClassVar[str] = "mlopt-gpu-warpgroup-products"
    shared: int = BLOCK_SHARED

    def run(self, op: ir.Operation) -> None:
        """Mark products of each kernel, those of a loop together."""
        for forall in grids_of(op):
            products = [each for each in nested_ops(forall) if MMA.name in each.attributes]
            if any(map(makes_factor, products)):
                continue
            marks = dict.fromkeys(products, _NO_LOOP) | dict(_marks(forall, self.shared))
            if len({tuple(sizes_of(op.results[0])) for op, mark in marks.items() if _is_made(mark)}) > 1:
                marks = dict.fromkeys(products, "products of its kernel have tiles of two sizes")
            for product, mark in marks.items():
                (MMA if _is_made(mark) else BY_WARPS).set(product, str(mark))
                if _is_made(mark):
                    _take_bits(product)


def _is_made(mark: Warpgroup | str) -> bool:
    return isinstance(mark, Warpgroup)


def _take_bits(product: ir.Operation) -> None:
    """Let a product of 8-bit floats have their bits, as they are read: its instruction says what they are."""
    for number, factor in enumerate(list(product.operands)[:2]):
        bits = defining_op(factor, "arith.bitcast")
        if bits is not None:
            product.operands[number] = bits.operands[0]
            if not is_used(factor):
                bits.erase()


def _marks(forall: ir.Operation, shared: int) -> Iterator[tuple[ir.Operation, Warpgroup | str]]:
    """Of each product in a loop the instruction, or why there is none."""
    for loop in [each for each in nested_ops(forall) if each.name == "scf.for"]:
        found = can_use(forall, loop, shared)
        for product in [op for op in block_ops(loop) if MMA.name in op.attributes]:
            yield product, found if isinstance(found, str) else found[product]


def can_use(forall: ir.Operation, loop: ir.Operation, shared: int) -> dict[ir.Operation, Warpgroup] | str:
    """The instructions for the products of a loop, or why warpgroups cannot make them."""
    products = [op for op in block_ops(loop) if MMA.name in op.attributes]
    if not products:
        return "it has no product on tensor cores"
    if integer_of(loop.operands[2]) is None:
        return "its step is not a number"
    marks: dict[ir.Operation, Warpgroup] = {}
    for product in products:
        found = warpgroup_for(product, warps_of(forall))
        problem = found if isinstance(found, str) else _problem(loop, product)
        if problem is not None:
            return problem
        assert isinstance(found, Warpgroup)
        marks[product] = found
    factors = dict(_factors(products))
    if any(mark.kind == TF32 for mark in marks.values()):
        tiles = [(access_of(read), factor) for read, factor in factors.items()]
        if (problem := boxes_problem(forall, [loop], tiles)) is not None:
            return f"only boxes round its f32 while they copy, and {problem}"
    slot = sum(factor.bytes for factor in factors.values())
    if STAGES * slot > shared - PATTERN_BYTES * len(factors):
        return f"{STAGES} steps of {slot} bytes do not fit {shared} bytes of shared memory"
    return marks


def _factors(products: Sequence[ir.Operation]) -> Iterator[tuple[ir.Operation, Factor]]:
    """What reads the factors of a loop's products, and how these lie in shared memory."""
    for product in products:
        for number in (0, 1):
            read, factor = read_of(product.operands[number]), factor_of(product, number)
            assert read is not None and isinstance(factor, Factor), "warpgroup_for has asked"
            yield read, factor


def _problem(loop: ir.Operation, product: ir.Operation) -> str | None:
    """Why a loop's product must be in registers after each step, or a factor before."""
    carried, result = product.operands[2], product.results[0]
    arguments = list(loop.regions[0].blocks[0].arguments)[1:]
    uses = [use.owner.operation for use in result.uses]
    if carried not in arguments or [use.name for use in uses] != ["scf.yield"] or len(list(carried.uses)) > 1:
        return "its sums are used in each step"
    if uses[0].operands[arguments.index(carried)] != result:
        return "its sums are not those of the next step"
    for factor in list(product.operands)[:2]:
        read = read_of(factor)
        if read is None or read.block != product.block:
            return "a factor is that of all steps"
        if (problem := factor_problem(loop, factor)) is not None:
            return problem
    return None


def factor_problem(loop: ir.Operation, factor: ir.Value) -> str | None:
    """Why a factor of a loop's products, which is read, cannot be copied to where warpgroups read it."""
    read = read_of(factor)
    assert read is not None, "factor_of has asked"
    users = [use.owner.operation for value in {factor, read.results[0]} for use in value.uses]
    if not all(MMA.name in user.attributes or user.results[0] == factor for user in users):
        return "a factor is used for something else, too"
    access = access_of(read)
    if ir.MemRefType(access.buffer.type).memory_space is not None:
        return "a factor is in shared memory already"
    if access.width() * access.element_bytes < WIDE:
        return "a factor has less than 16 bytes of neighbours"
    return copy_problem(loop, read)
