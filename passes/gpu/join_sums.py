"""Sums of a product's parts move into the product's kernel, where the last block of each tile makes them.

Before, two kernels: 96 blocks make parts of 24 tiles, then others add these up and do what follows::

    func.func private @kernel_0_matmul(%a, %b, %p) -> tensor<4x128x768xf32>
        attributes {mlopt.schedule = {tile = array<i64: 1, 64, 64, 64>, …}}
    func.func private @kernel_1_sum_add(%p: tensor<4x128x768xf32>, %bias, %out) -> tensor<128x768xbf16>
    func.func @main(…) {
      %parts = call @kernel_0_matmul(%a, %b, %empty)
      %r = call @kernel_1_sum_add(%parts, %bias, %other)

After, one kernel with the ops of both; ``mlopt.sums`` is the schedule of those of the second::

    func.func private @kernel_0_matmul_sum_add(%a, %b, %bias, %p, %out)
        -> (tensor<4x128x768xf32>, tensor<128x768xbf16>)
        attributes {mlopt.schedule = …, mlopt.sums = {tile = array<i64: 16, 64, 0>, warps = array<i64: 4>},
                    mlopt.last_blocks = "the last block of each tile adds up its 4 parts: 2.6 µs, …"}

mlopt-tile writes an scf.forall for either, mlopt-gpu-last-blocks makes one of the two. Parts are added up in
their order, by whichever block is the last: the same numbers at each call.

Legal where one kernel alone reads the parts, and all else in it runs along the parts' other dims: what it
does with an element needs no other block's sums. A row's norm does. Done where the steps that a block needs
for its sums, and the three round trips to the cache before them (a fence, an atomic, a fence), are predicted
to take less time than a launch, memory's answer, and the parts' way through the cache. Why it is not done is
in the module's ``mlopt.fusion``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from mlir import ir

from ...dialects.attributes import (
    BYTES,
    CONSIDERED,
    FLOPS,
    FUSION,
    JOINED,
    KERNEL,
    LAST_BLOCKS,
    OPS,
    SCHEDULE,
    SUMS,
)
from ...dialects.layouts import WARP
from ..base import Pass
from ..costs.machine import DEFAULT_GPU, Machine, machine_of
from ..cpu.functions import fresh_name, hosts_of
from ..domain import Domain
from ..groups import operands_of
from ..operations import block_ops, callee_of, defining_op, ops_named
from ..tile import kernel_domain
from .added_parts import Parts, can_join, should_join, sum_tiles


@dataclass(frozen=True)
class JoinSums(Pass):
    """Join products in parts and the sums of these; ``machine``: whose times decide."""

    name: ClassVar[str] = "mlopt-gpu-join-sums"
    machine: str = DEFAULT_GPU

    def run(self, op: ir.Operation) -> None:
        """Look at each call of a kernel that reads another one's result."""
        machine = machine_of(op, self.machine)
        kernels = {_name(each): each.operation for each in block_ops(op) if KERNEL.get(each)}
        joined: dict[tuple[str, str, int], str] = {}
        for host in hosts_of(op):
            for call in ops_named(host, "func.call"):
                place = _place_of_parts(call, kernels)
                if place is None:
                    continue
                product = call.operands[place].owner.operation
                first, second = (kernels[callee_of(each)] for each in (product, call))
                key = _name(first), _name(second), place
                if key not in joined:
                    joined[key] = _joined(op, first, second, place, machine)
                if joined[key]:
                    _call_joined(product, call, place, joined[key])
        called = {callee_of(call) for host in hosts_of(op) for call in ops_named(host, "func.call")}
        for name in {name for key, made in joined.items() if made for name in key[:2]} - called:
            kernels[name].erase()


def _joined(
    module: ir.Operation, first: ir.Operation, second: ir.Operation, place: int, machine: Machine
) -> str:
    """The name of the kernel that two become, or "" where they stay apart."""
    parts = can_join(first, second, place)
    if parts is None:
        return ""
    who = f"{' '.join((OPS.get(first) or ())[:1])} -> {' '.join((OPS.get(second) or ())[:1])}"
    if isinstance(parts, str):
        _note(module, f"{who}: the last block of each tile cannot add up its parts: {parts}")
        return ""
    (warps,) = (SCHEDULE.get(first) or {}).get("warps", (1,))
    tiles = sum_tiles(parts, warps * WARP)
    last, alone = should_join(parts, tiles, second, machine)
    one, other = (f"{seconds * 1e6:.1f} µs" for seconds in (last, alone))
    if last >= alone:
        _note(
            module,
            f"{who}: the last block of each tile would add up its {parts.number} parts in {one},"
            f" a kernel of its own takes {other}",
        )
        return ""
    note = f"the last block of each tile adds up its {parts.number} parts: {one}, a kernel of its own {other}"
    return _join(module, first, second, place, _sums_schedule(second, parts, tiles, warps), note)


def _sums_schedule(
    second: ir.Operation, parts: Parts, tiles: Sequence[int], warps: int
) -> dict[str, tuple[int, ...]]:
    domain = kernel_domain(second)
    assert isinstance(domain, Domain), "can_join has asked"
    own = {dim: tile for dim, tile in zip(parts.dims, tiles, strict=True) if dim is not None}
    sizes = tuple(0 if own.get(dim) in (None, dim.extent) else own[dim] for dim in domain.dims)
    return {"tile": sizes, "warps": (warps,)}


def _join(
    module: ir.Operation,
    first: ir.Operation,
    second: ir.Operation,
    place: int,
    schedule: dict[str, tuple[int, ...]],
    note: str,
) -> str:
    """Write the kernel that does what both do, before the second one; inputs come before what it makes."""
    name = fresh_name(module, "_".join([_name(first), *_name(second).split("_")[2:]]))
    own, others = (list(each.regions[0].blocks[0].arguments) for each in (first, second))
    made = len(block_ops(second)[-1].operands)
    inputs, outs = others[: len(others) - made], others[len(others) - made :]
    arguments = [*own[:-1], *(each for each in inputs if each != others[place]), own[-1], *outs]
    results = [own[-1].type, *(each.type for each in outs)]
    with ir.InsertionPoint(second), second.location:
        kinds = ir.FunctionType.get([each.type for each in arguments], results)
        names = {"sym_name": name, "sym_visibility": "private"}
        attributes = {key: ir.StringAttr.get(text) for key, text in names.items()}
        joined = ir.Operation.create(
            "func.func", attributes={**attributes, "function_type": ir.TypeAttr.get(kinds)}, regions=1
        )
        body = joined.regions[0].blocks.append(*kinds.inputs)
    found: dict[ir.Value, ir.Value] = dict(zip(arguments, body.arguments, strict=True))
    (parts,) = _copy(first, body, found)
    found[others[place]] = parts
    rest = _copy(second, body, found)
    with ir.InsertionPoint(body), second.location:
        ir.Operation.create("func.return", [], [parts, *rest])
    KERNEL.set(joined, True)
    OPS.set(joined, (*(OPS.get(first) or ()), *(OPS.get(second) or ())))
    for mark in (BYTES, FLOPS):
        mark.set(joined, (mark.get(first) or 0) + (mark.get(second) or 0))
    SCHEDULE.set(joined, SCHEDULE.get(first) or {})
    CONSIDERED.set(joined, CONSIDERED.get(first) or ())
    SUMS.set(joined, schedule)
    LAST_BLOCKS.set(joined, note)
    JOINED.set(joined, (_name(first), _name(second)))
    return name


def _copy(kernel: ir.Operation, body: ir.Block, found: dict[ir.Value, ir.Value]) -> list[ir.Value]:
    """The ops of a kernel again, with the values that are ``found`` for its own; what they return."""
    *ops, end = block_ops(kernel)
    for op in ops:
        with ir.InsertionPoint(body):
            copy = op.clone().operation
        for owner, number, value in operands_of(copy):
            owner.operands[number] = found.get(value, value)
        found.update(zip(op.results, copy.results, strict=True))
    return [found[value] for value in end.operands]


def _call_joined(product: ir.Operation, call: ir.Operation, place: int, name: str) -> None:
    """Call the kernel ``name`` in the place of both."""
    made = len(call.results)
    *first, parts = product.operands
    inputs = [value for number, value in enumerate(call.operands) if number != place]
    operands = [*first, *inputs[: len(inputs) - made], parts, *inputs[len(inputs) - made :]]
    results = [each.type for each in (*product.results, *call.results)]
    with ir.InsertionPoint(call), call.location:
        attributes = {"callee": ir.FlatSymbolRefAttr.get(name)}
        joined = ir.Operation.create("func.call", results, operands, attributes)
    for old, new in zip(call.results, list(joined.results)[1:], strict=True):
        old.replace_all_uses_with(new)
    call.erase()
    product.erase()


def _place_of_parts(call: ir.Operation, kernels: Mapping[str, ir.Operation]) -> int | None:
    """The number of the operand that another kernel makes for this call alone."""
    if callee_of(call) not in kernels:
        return None
    for number, value in enumerate(call.operands):
        maker = defining_op(value, "func.call")
        if (
            maker is not None
            and callee_of(maker) in kernels
            and len(maker.results) == len(list(value.uses)) == 1
        ):
            return number
    return None


def _name(kernel: ir.Operation) -> str:
    return str(ir.StringAttr(kernel.attributes["sym_name"]).value)


def _note(module: ir.Operation, text: str) -> None:
    notes = FUSION.get(module) or ()
    if text not in notes:
        FUSION.set(module, (*notes, text))
