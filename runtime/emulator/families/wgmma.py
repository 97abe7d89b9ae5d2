"""wgmma: matrix multiply-accumulate of a warpgroup, asynchronously. Section 9.7.15 of the PTX ISA.

The ISA leaves the order and rounding of the sums open. As for mma.sync, each element is summed in float64 and
rounded once; integers are exact. A GPU keeps fewer bits of the sums of e4m3 and e5m2, some 14 of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from ..context import Context
from ..decode import Decoder
from ..lanes import GROUP, Lanes
from ..machine import Group, Machine
from ..operands import Read
from ..ptx import TYPES, Array, Instruction, Name, Not, Number, Operand, Vector
from ..registry import Run, Step, control, instruction
from ..warpgroup_matrices import (
    BITS,
    K_BYTES,
    THREADS,
    Form,
    M,
    accumulators,
    give,
    in_registers,
    in_shared,
)
from .control import taken

WGMMA = "9.7.15 Asynchronous Warpgroup-Level Matrix Multiply-Accumulate"
_RESULTS = {"f16": ("f16", "f32"), "bf16": ("f32",), "tf32": ("f32",), "e4m3": ("f16", "f32"), "u8": ("s32",)}
_RESULTS |= {"e5m2": _RESULTS["e4m3"], "s8": ("s32",), "b1": ("s32",)}


def form_of(i: Instruction, d: Decoder) -> Form:
    """The sizes, types and immediate operands; an error for those that the ISA does not have."""
    if i.has("sp"):
        raise d.fail("of sparse matrices")
    sizes = next((re.fullmatch(r"m64n(\d+)k(\d+)", mod) for mod in i.mods if mod.startswith("m64n")), None)
    names = [mod for mod in i.mods if mod in BITS or mod in ("f32", "s32")]
    if sizes is None or len(names) != 3:
        raise d.fail("without a shape and three types")
    (n, k), (result, a, b) = (int(size) for size in sizes.groups()), names
    integers = result == "s32"
    step = 16 if integers and n not in (8, 24) else 8
    pairs = ({"e4m3", "e5m2"}, {"u8", "s8"}) if a != b else ({a},)
    if n % step or not 8 <= n <= 256 or {a, b} not in pairs or k * BITS[a] != 8 * K_BYTES:
        raise d.fail(f"shape m64n{n}k{k} of {a} and {b}")
    if result not in _RESULTS[a] or (i.has("satfinite") and a not in ("u8", "s8")):
        raise d.fail(f"a result of {result}, or .satfinite, for {a}")
    if (a == "b1") != (i.has("and") and i.has("popc")):
        raise d.fail("b1 without .and.popc, or these without b1")
    more = [int(item.value) for item in i.operands[4:] if isinstance(item, Number)]
    held = isinstance(i.operands[1], Vector)
    transposable = a in ("f16", "bf16")
    wanted = (0 if integers else 2) + ((1 if held else 2) if transposable else 0)
    if len(more) != wanted or len(i.operands) != 4 + wanted:
        raise d.fail(f"{len(i.operands) - 4} immediate operands of {wanted}")
    scales, transposes = more[:2], more[2:]
    if not all(scale in (-1, 1) for scale in scales) or not all(each in (0, 1) for each in transposes):
        raise d.fail("scales other than -1 and 1, or transpositions other than 0 and 1")
    by_columns = bool(transposes and not held and transposes[0])
    negative = bool(scales) and scales[0] != scales[1]
    return Form(n, k, result, a, b, negative, by_columns, bool(transposes and transposes[-1]))


@control("wgmma.mma_async", section=WGMMA + ": wgmma.mma_async", kind="matrix")
def mma_async(i: Instruction, d: Decoder) -> Step:
    """D = A B + D for a warpgroup: B in shared memory, A there or in registers, D in registers."""
    form, guard = form_of(i, d), d.guard(i)
    b32 = TYPES["b32"]
    reads, writes = d.reads(i.operands[0], b32), d.writes(i.operands[0], b32)
    expected = form.n // (4 if form.d == "f16" else 2)
    matrix_a, b_of = _operand_a(i, d, form), d.read(i.operands[2], TYPES["b64"])
    adds = _predicate(d, i.operands[3])
    same = {"descriptors of B": b_of, "scale-d": adds}
    if len(reads) != expected:
        raise d.fail(f"{len(reads)} accumulators of {expected}")
    sums = _rows(d, i.operands[0])
    operands = np.zeros(0, np.intp)
    if isinstance(i.operands[1], Vector):
        operands = _rows(d, i.operands[1])
    else:
        same["descriptors of A"] = d.read(i.operands[1], TYPES["b64"])
    shape = form.n << 16 | form.k
    limits = (-(2.0**31), 2.0**31 - 1) if i.has("satfinite") else None

    def run(x: Context) -> None:
        x.batch.warpgroups.check(x, i, sums, operands, shape)
        a, units = matrix_a(x)
        b, more = in_shared(x, i, b_of, form.n, form.k, form.b, by_columns=form.b_by_rows)
        product = a @ b.swapaxes(1, 2)
        if form.negative:
            product = -product
        add, lanes = x.dense(adds(x))[::THREADS], x.lanes
        if add.any():
            x.enter(lanes.where(np.repeat(add, THREADS)))
            product[add] += accumulators(x, reads, form)
            x.enter(lanes)
        if limits is not None:
            product = np.clip(product, *limits)
        give(x, product, form, writes)
        read = [np.concatenate(pair) for pair in zip(units, more, strict=True)]
        x.batch.warpgroups.issue(x, i, sums, operands, shape, read)

    def step(machine: Machine, group: Group) -> None:
        lanes = taken(machine, group, guard)
        if lanes is None:
            return
        group = machine.unpark(Group(group.frame, group.pc, lanes), GROUP)
        complete, waiting = machine.part(group, _complete(group.lanes, machine))
        if waiting is not None:
            machine.park(group, waiting, GROUP)
        if complete is None:
            return
        x = Context(machine.batch, group.frame, complete)
        _leave_out(x, i)
        if x.count:
            _check_same(x, i, same)
            run(x)
        machine.move(group, group.pc + 1, complete)

    return step


def _predicate(d: Decoder, operand: Operand) -> Read:
    if isinstance(operand, Number):
        value = np.bool_(operand.value != 0)
        return lambda _: value
    if isinstance(operand, Not):
        read = d.read(operand.name, TYPES["pred"])
        return lambda x: ~read(x)
    return d.read(operand, TYPES["pred"])


def _operand_a(i: Instruction, d: Decoder, form: Form) -> Callable[[Context], tuple[Array, list[Array]]]:
    """Gives A for each warpgroup, and which units of shared memory it is read from."""
    operand = i.operands[1]
    if not isinstance(operand, Vector):
        a_of = d.read(operand, TYPES["b64"])
        return lambda x: in_shared(x, i, a_of, M, form.k, form.a, by_columns=form.a_by_columns)
    reads = d.reads(operand, TYPES["b32"])
    if len(reads) != 4:
        raise d.fail(f"{len(reads)} registers of A, not 4")

    def gathered(x: Context) -> tuple[Array, list[Array]]:
        matrix = in_registers(x, reads, form)
        return matrix, [np.zeros(0, np.int64)] * len(matrix)

    return gathered


def _rows(d: Decoder, operand: Operand) -> Array:
    """The numbers of registers among those that wgmma uses."""
    assert isinstance(operand, Vector)
    return np.array([d.awaited[item.text] for item in operand.items if isinstance(item, Name)], np.intp)


# -- who takes part --------------------------------------------------------------------------------


def _numbers(lanes: Lanes) -> Array:
    """The warpgroup of each lane."""
    shape = lanes.shape
    found: Array = lanes.warp - lanes.warp % shape.warps_in_block % GROUP
    return found


def _complete(lanes: Lanes, machine: Machine) -> Array:
    """Whether all threads of a lane's warpgroup that are alive are among these."""
    alive = machine.batch.alive_in_warp
    missing = (alive & ~lanes.present) != 0
    groups = _numbers(lanes)
    last = (lanes.block + 1) * lanes.shape.warps_in_block - 1
    late = np.zeros(lanes.count, np.bool_)
    for warp in range(GROUP):
        late |= missing[np.minimum(groups + warp, last)]
    return ~late


def _leave_out(x: Context, i: Instruction) -> None:
    """Report warpgroups of less than 128 threads: the others go on without them."""
    groups = _numbers(x.lanes)
    _, number, counts = np.unique(groups, return_inverse=True, return_counts=True)
    small = (counts < THREADS)[number]
    if small.any():
        detail = f"not all {THREADS} threads of a warpgroup execute it: the others have ended, or never were"
        x.report(i, "warpgroup", detail, small)
        x.enter(x.lanes.where(~small))


def _check_same(x: Context, i: Instruction, reads: dict[str, Read]) -> None:
    for what, read in reads.items():
        values = x.dense(read(x)).reshape(-1, THREADS)
        differ = (values != values[:, :1]).reshape(-1)
        if differ.any():
            x.report(i, "warpgroup", f"the threads of a warpgroup differ in their {what}", differ)


# -- groups ----------------------------------------------------------------------------------------


@instruction("wgmma.fence", section=WGMMA + ": wgmma.fence", kind="barrier", sync=True)
def fence(i: Instruction, d: Decoder) -> Run:
    """Orders accesses to registers before the wgmma that use them."""
    return lambda x: x.batch.warpgroups.fence(x)


@instruction("wgmma.commit_group", section=WGMMA + ": wgmma.commit_group", kind="barrier", sync=True)
def commit(i: Instruction, d: Decoder) -> Run:
    """Makes a group of the wgmma since the last one."""
    return lambda x: x.batch.warpgroups.commit(x)


@instruction("wgmma.wait_group", section=WGMMA + ": wgmma.wait_group", kind="barrier", sync=True)
def wait(i: Instruction, d: Decoder) -> Run:
    """Waits for all groups of wgmma but the last few."""
    count = i.operands[0]
    if not isinstance(count, Number):
        raise d.fail("a number of groups that is no constant")
    keep = int(count.value)
    return lambda x: x.batch.warpgroups.wait(x, keep)
