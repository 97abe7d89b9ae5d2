"""The discardable ``mlopt.*`` attributes: what each is called, holds, and may stand on.

Everything that mlopt says about upstream operations is one of these. `mlopt-verify` checks
that an attribute is known, of its type, and on an operation that it belongs to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from mlir import ir

from .decisions import DECISIONS_KIND, REWRITES_KIND
from .kinds import FLAG, INTEGER, LAUNCHES_KIND, LAYOUTS_KIND, PART_KIND, SCHEDULE_KIND, STRING, STRINGS, Kind

T = TypeVar("T")

_FUNCTION = ("func.func", "llvm.func")
_MODULE = ("builtin.module",)
_LOOP = ("scf.forall", "scf.parallel", "scf.for")


@dataclass(frozen=True)
class Mark(Generic[T]):
    """One attribute; ``on`` are the operations that may carry it, none means any."""

    name: str
    kind: Kind[T]
    on: tuple[str, ...] = ()

    def get(self, op: ir.Operation | ir.OpView) -> T | None:
        """The value on ``op``, or None if it is not there or is malformed."""
        return self.kind.read(op.attributes[self.name]) if self.name in op.attributes else None

    def set(self, op: ir.Operation | ir.OpView, value: T) -> None:
        """Put the attribute with ``value`` on ``op``."""
        op.attributes[self.name] = self.kind.build(value)

    def drop(self, op: ir.Operation | ir.OpView) -> None:
        """Take the attribute off ``op``, if it is there."""
        if self.name in op.attributes:
            del op.attributes[self.name]


@dataclass(frozen=True)
class ArgumentMark(Generic[T]):
    """One attribute of a function's arguments, each of which has a dictionary of them."""

    name: str
    kind: Kind[T]

    def get(self, attributes: ir.Attribute) -> T | None:
        """The value in an argument's dictionary, or None if it is not there or is malformed."""
        named = ir.DictAttr(attributes)
        return self.kind.read(named[self.name]) if self.name in named else None

    def dropped(self, attributes: ir.Attribute) -> ir.DictAttr:
        """An argument's dictionary without this attribute."""
        return ir.DictAttr.get({it.name: it.attr for it in ir.DictAttr(attributes) if it.name != self.name})

    def added(self, attributes: ir.Attribute | None, value: T) -> ir.DictAttr:
        """An argument's dictionary (None: it has none yet) with this attribute."""
        old = {} if attributes is None else {each.name: each.attr for each in ir.DictAttr(attributes)}
        return ir.DictAttr.get({**old, self.name: self.kind.build(value)})


def argument_attributes(function: ir.Operation | ir.OpView) -> list[ir.DictAttr]:
    """The dictionary of each argument of a function, lowered or not."""
    if "arg_attrs" in function.attributes:
        return [ir.DictAttr(each) for each in ir.ArrayAttr(function.attributes["arg_attrs"])]
    blocks = function.regions[0].blocks
    return [ir.DictAttr.get({}) for _ in (blocks[0].arguments if len(blocks) else ())]


# What a structured op does, in the user's words, for names and reports.
OP = Mark("mlopt.op", STRING)
# The op that generics of a kernel are together, "softmax", and which one of the module it is; mlopt-outline
# takes it off.
PART_OF = Mark("mlopt.part_of", PART_KIND, ("linalg.generic",))
# Ops with the same number become one kernel.
GROUP = Mark("mlopt.group", INTEGER)
# Why the parts that this view has, or that are read of an op's result, are not made apart, and why a concat
# is not read part by part; mlopt-fuse takes it off.
WHOLE = Mark("mlopt.whole", STRING, ("tensor.expand_shape", "tensor.insert_slice", "linalg.generic"))
# Why contractions are to read what an op makes from memory; mlopt-fuse takes it off.
STORED = Mark("mlopt.stored", STRING, ("linalg.generic",))
# Why a product is made in parts, which are added up; mlopt-fuse takes it off.
IN_PARTS = Mark("mlopt.in_parts", STRING, ("linalg.generic",))
# Of what makes a weight wider, for a product, at each call: the bytes of an element in memory; mlopt-hoist
# leaves it there, and takes this off.
WIDENS = Mark("mlopt.widens", INTEGER, ("linalg.generic",))
# What mlopt-fuse refused to fuse, and why.
FUSION = Mark("mlopt.fusion", STRINGS, _MODULE)
# Each fusion made or refused, and each joining of products, with what that saves; mlopt-outline takes it off.
DECISIONS = Mark("mlopt.decisions", DECISIONS_KIND, _MODULE)
# What passes rewrote before there were kernels, or left, and what that saves, by the names of the passes.
REWRITES = Mark("mlopt.rewrites", REWRITES_KIND, _MODULE)
# The front end has shown that sizes agree wherever ops want it: mlopt-check-sizes has nothing to do.
SIZES_AGREE = Mark("mlopt.sizes_agree", FLAG, _MODULE)
# A function that is one kernel, what it fuses, and what it costs.
KERNEL = Mark("mlopt.kernel", FLAG, _FUNCTION)
OPS = Mark("mlopt.ops", STRINGS, _FUNCTION)
BYTES = Mark("mlopt.bytes", INTEGER, (*_FUNCTION, *_LOOP))
FLOPS = Mark("mlopt.flops", INTEGER, (*_FUNCTION, *_LOOP))
# Tasks run from the last to the first, so many at a time, which go forward.
BACKWARD = Mark("mlopt.backward", INTEGER, ("scf.forall",))
# Tile sizes, one a dim of the kernel's domain (0: all of it); on the kernel and on its scf.forall.
SCHEDULE = Mark("mlopt.schedule", SCHEDULE_KIND, (*_FUNCTION, *_LOOP))
# The blocks that mlopt-schedule compared, each with the time predicted; the first is the schedule's.
CONSIDERED = Mark("mlopt.considered", STRINGS, _FUNCTION)
# Of a kernel that adds up the parts that its blocks make: the schedule of that, what is predicted for it, and
# the two kernels that it was.
SUMS = Mark("mlopt.sums", SCHEDULE_KIND, _FUNCTION)
LAST_BLOCKS = Mark("mlopt.last_blocks", STRING, _FUNCTION)
JOINED = Mark("mlopt.joined", STRINGS, _FUNCTION)
# How many counters of blocks a kernel has, or the kernels that a host function launches, at most.
COUNTED = Mark("mlopt.counted", INTEGER, _FUNCTION)
# Why no tile rule takes the kernel.
SLOW = Mark("mlopt.slow", STRING, _FUNCTION)
# Sizes of dynamic results, as Python expressions over `aI_D`, dim D of argument I.
RESULT_SIZES = Mark("mlopt.result_sizes", STRINGS, _FUNCTION)
# Sizes of arguments that whoever calls has compared: "a0_0 = a1_0".
EQUAL_SIZES = Mark("mlopt.equal_sizes", STRINGS, _FUNCTION)
# Bytes that a host function needs, and the messages of its run-time checks.
WORKSPACE = Mark("mlopt.workspace", INTEGER, _FUNCTION)
# Which thread holds which elements of a tile (layouts.py); bytes of shared memory of a block.
LAYOUT = Mark("mlopt.layout", LAYOUTS_KIND)
SHARED = Mark("mlopt.shared", INTEGER, _FUNCTION)
# The instruction of tensor cores that makes a product.
MMA = Mark("mlopt.mma", STRING)
# Why warps make it on their own, on a chip with instructions of warpgroups.
BY_WARPS = Mark("mlopt.by_warps", STRING, ("vector.contract",))
# Why threads copy what warpgroups multiply, and not the engine for tensors.
BY_THREADS = Mark("mlopt.by_threads", STRING, ("mlopt.warpgroup_mma", "mlopt.warpgroup_mma_held"))
# Why threads store what warpgroups have made, and not the engine.
STORED_BY_THREADS = Mark("mlopt.stored_by_threads", STRING, ("vector.transfer_write",))
# The type that the program rounds the first factor of a product to.
ROUNDS = Mark("mlopt.rounds", STRING)
# A maximum that may leave NaN out.
DROPS_NAN = Mark("mlopt.drops_nan", FLAG)
# An exponential of a number that is 0 at most, or NaN.
NOT_POSITIVE = Mark("mlopt.not_positive", FLAG, ("math.exp",))
# A scan that adds what its elements are the logarithms of.
BY_LOGARITHMS = Mark("mlopt.by_logarithms", FLAG, ("vector.scan",))
# A division by a sum of exponentials relative to their maximum: it is 1 at least, or NaN.
BY_SOFTMAX_SUM = Mark("mlopt.by_softmax_sum", FLAG, ("arith.divf",))
ASSERTS = Mark("mlopt.asserts", STRINGS, _MODULE)
# The kernels that the host part of a GPU program looks up, and each launch that it makes.
DEVICE_KERNELS = Mark("mlopt.device_kernels", STRINGS, _MODULE)
LAUNCHES = Mark("mlopt.launches", LAUNCHES_KIND, _MODULE)

MARKS: dict[str, Mark[Any]] = {each.name: each for each in list(globals().values()) if isinstance(each, Mark)}

# On arguments of host functions: a weight or buffer, a tensor that @prepare makes, the n-th
# result's memory, bools and 8-bit floats stored as bytes.
WEIGHT = ArgumentMark("mlopt.weight", FLAG)
PREPARED = ArgumentMark("mlopt.prepared", FLAG)
RESULT = ArgumentMark("mlopt.result", INTEGER)
BOOL = ArgumentMark("mlopt.bool", FLAG)
FLOAT8 = ArgumentMark("mlopt.float8", STRING)
# The one of equal layers that reads it, while most of the layers are left out (passes/layers).
LAYER = ArgumentMark("mlopt.layer", INTEGER)
# On arguments of kernels: nobody reads soon what is stored there.
STREAMED = ArgumentMark("mlopt.streamed", FLAG)
# On those of lowered functions: the number of threads, the status cell, the arena, the profiler's
# hook, the CUDA stream, the address of the status cell that kernels write.
THREADS = ArgumentMark("mlopt.threads", FLAG)
STATUS = ArgumentMark("mlopt.status", FLAG)
ARENA = ArgumentMark("mlopt.workspace", FLAG)
HOOK = ArgumentMark("mlopt.hook", FLAG)
STREAM = ArgumentMark("mlopt.stream", FLAG)
DEVICE_STATUS = ArgumentMark("mlopt.device_status", FLAG)
# The address of counters of blocks that have come, 0 before a launch and behind it.
COUNTERS = ArgumentMark("mlopt.counters", FLAG)

ARGUMENT_MARKS: dict[str, ArgumentMark[Any]] = {
    each.name: each for each in list(globals().values()) if isinstance(each, ArgumentMark)
}
