"""The discardable ``mlopt.*`` attributes: what each is called, holds, and may stand on.

Everything that mlopt says about upstream operations is one of these. `mlopt-verify` checks
that an attribute is known, of its type, and on an operation that it belongs to.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from mlir import ir

from .layouts import Layout

T = TypeVar("T")

_FUNCTION = ("func.func", "llvm.func")
_MODULE = ("builtin.module",)
_LOOP = ("scf.forall", "scf.parallel", "scf.for")


@dataclass(frozen=True)
class Kind(Generic[T]):
    """A type of attribute: in words, and from and to Python (reading something else gives None)."""

    words: str
    read: Callable[[ir.Attribute], T | None]
    build: Callable[[T], ir.Attribute]


NO_GROUP = -1  # of what was decided before there were groups
BESIDE = " | "  # between two ops, neither of which reads what the other makes


@dataclass(frozen=True)
class Decision:
    """What became of the fusion of two groups, by their numbers, at an edge between two ops ("exp -> add").

    Or of running ops side by side that read one tensor ("sum | sum"); products that read one are joined, or
    not, before there are groups, and so are softmaxes and what is around them, and reductions of few results
    in parts: their ops come with a place ("file:line: matmul | matmul").
    ``reason`` says why they stayed apart, and is empty if they are one group now. ``bytes`` and ``seconds``
    are what the fusion saves or would save, less than nothing if it costs. ``places`` are the source lines of
    the two ops, or of all products, "file:line" each, or empty. ``kept``: bytes that @prepare makes for it,
    whenever weights change, and keeps.
    """

    producer: int
    consumer: int
    ops: str
    reason: str
    bytes: int
    seconds: float
    places: tuple[str, ...] = ()
    kept: int = 0

    @property
    def beside(self) -> bool:
        """Whether it is about kernels side by side."""
        return BESIDE in self.ops


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


def _read_part(attribute: ir.Attribute) -> tuple[str, int] | None:
    if not isinstance(attribute, ir.DictAttr) or {named.name for named in attribute} != {"op", "number"}:
        return None
    name, number = _read_string(attribute["op"]), _read_integer(attribute["number"])
    return None if name is None or number is None else (name, number)


def _build_part(part: tuple[str, int]) -> ir.Attribute:
    return ir.DictAttr.get({"op": ir.StringAttr.get(part[0]), "number": _build_integer(part[1])})


def _read_integer(attribute: ir.Attribute) -> int | None:
    return int(ir.IntegerAttr(attribute).value) if isinstance(attribute, ir.IntegerAttr) else None


def _read_string(attribute: ir.Attribute) -> str | None:
    return str(ir.StringAttr(attribute).value) if isinstance(attribute, ir.StringAttr) else None


def _read_strings(attribute: ir.Attribute) -> tuple[str, ...] | None:
    if not isinstance(attribute, ir.ArrayAttr):
        return None
    parts = [_read_string(part) for part in attribute]
    return None if None in parts else tuple(part for part in parts if part is not None)


def _read_schedule(attribute: ir.Attribute) -> dict[str, tuple[int, ...]] | None:
    if not isinstance(attribute, ir.DictAttr):
        return None
    schedule: dict[str, tuple[int, ...]] = {}
    for named in attribute:
        if not isinstance(named.attr, ir.DenseI64ArrayAttr):
            return None
        schedule[named.name] = tuple(named.attr)
    return schedule


def _read_decisions(attribute: ir.Attribute) -> tuple[Decision, ...] | None:
    if not isinstance(attribute, ir.ArrayAttr) or not all(isinstance(it, ir.DictAttr) for it in attribute):
        return None
    found = []
    for each in attribute:
        names = {named.name for named in each} - {"where", "kept"}
        if names != {"from", "to", "ops", "reason", "bytes", "seconds"}:
            return None
        numbers = [_read_integer(each[name]) for name in ("from", "to", "bytes")]
        kept = _read_integer(each["kept"]) if "kept" in each else 0
        words = _read_string(each["ops"]), _read_string(each["reason"])
        places = _read_strings(each["where"]) if "where" in each else ()
        seconds = each["seconds"]
        if None in (*numbers, *words, places, kept) or not isinstance(seconds, ir.FloatAttr):
            return None
        producer, consumer, size = numbers
        found.append(Decision(producer, consumer, *words, size, float(seconds.value), places, kept))  # type: ignore[arg-type]
    return tuple(found)


def _build_decisions(decisions: tuple[Decision, ...]) -> ir.Attribute:
    real = ir.F64Type.get()
    return ir.ArrayAttr.get(
        [
            ir.DictAttr.get(
                {
                    "from": _build_integer(each.producer),
                    "to": _build_integer(each.consumer),
                    "ops": ir.StringAttr.get(each.ops),
                    "reason": ir.StringAttr.get(each.reason),
                    "bytes": _build_integer(each.bytes),
                    "seconds": ir.FloatAttr.get(real, each.seconds),
                    **({"where": _build_strings(each.places)} if each.places else {}),
                    **({"kept": _build_integer(each.kept)} if each.kept else {}),
                }
            )
            for each in decisions
        ]
    )


def _read_rewrites(attribute: ir.Attribute) -> dict[str, tuple[Decision, ...]] | None:
    if not isinstance(attribute, ir.DictAttr):
        return None
    found = {named.name: _read_decisions(named.attr) for named in attribute}
    known = {name: decisions for name, decisions in found.items() if decisions is not None}
    return known if len(known) == len(found) else None


def _build_rewrites(rewrites: dict[str, tuple[Decision, ...]]) -> ir.Attribute:
    return ir.DictAttr.get({name: _build_decisions(decisions) for name, decisions in rewrites.items()})


def _read_launches(attribute: ir.Attribute) -> tuple[dict[str, Any], ...] | None:
    if not isinstance(attribute, ir.ArrayAttr) or not all(isinstance(it, ir.DictAttr) for it in attribute):
        return None
    found = []
    for launch in attribute:
        sizes = {named.name: named.attr for named in launch if named.name != "kernel"}
        if "kernel" not in launch or not all(isinstance(it, ir.DenseI64ArrayAttr) for it in sizes.values()):
            return None
        kernel = ir.StringAttr(launch["kernel"]).value
        found.append({"kernel": kernel, **{name: list(size) for name, size in sizes.items()}})
    return tuple(found)


def _build_launches(launches: tuple[dict[str, Any], ...]) -> ir.Attribute:
    return ir.ArrayAttr.get(
        [
            ir.DictAttr.get(
                {
                    name: ir.StringAttr.get(value) if name == "kernel" else ir.DenseI64ArrayAttr.get(value)
                    for name, value in launch.items()
                }
            )
            for launch in launches
        ]
    )


def _read_layouts(attribute: ir.Attribute) -> tuple[str, ...] | None:
    one = _read_string(attribute)
    texts = _read_strings(attribute) if one is None else (one,)
    try:
        for text in texts or ():
            if text:
                Layout.parse(text)
    except ValueError:
        return None
    return texts


def _build_layouts(texts: tuple[str, ...]) -> ir.Attribute:
    return ir.StringAttr.get(texts[0]) if len(texts) == 1 else _build_strings(texts)


def _build_integer(value: int) -> ir.Attribute:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)


def _build_strings(values: tuple[str, ...]) -> ir.Attribute:
    return ir.ArrayAttr.get([ir.StringAttr.get(value) for value in values])


def _build_schedule(schedule: dict[str, tuple[int, ...]]) -> ir.Attribute:
    return ir.DictAttr.get({key: ir.DenseI64ArrayAttr.get(value) for key, value in schedule.items()})


FLAG: Kind[bool] = Kind(
    "unit", lambda a: True if isinstance(a, ir.UnitAttr) else None, lambda _: ir.UnitAttr.get()
)
LAYOUTS_KIND: Kind[tuple[str, ...]] = Kind(
    'a layout, or an array of them with "" for what has none', _read_layouts, _build_layouts
)
INTEGER: Kind[int] = Kind("an integer", _read_integer, _build_integer)
STRING: Kind[str] = Kind("a string", _read_string, ir.StringAttr.get)
STRINGS: Kind[tuple[str, ...]] = Kind("an array of strings", _read_strings, _build_strings)
SCHEDULE_KIND: Kind[dict[str, tuple[int, ...]]] = Kind(
    "a dictionary of array<i64: …>", _read_schedule, _build_schedule
)
PART_KIND: Kind[tuple[str, int]] = Kind("{op = string, number = integer}", _read_part, _build_part)
LAUNCHES_KIND: Kind[tuple[dict[str, Any], ...]] = Kind(
    "an array of dictionaries of array<i64: …> and a kernel's name", _read_launches, _build_launches
)
DECISIONS_KIND: Kind[tuple[Decision, ...]] = Kind(
    "an array of {from = group, to = group, ops = string, reason = string, bytes = integer, seconds = float, "
    "where = [strings], kept = integer, which may both be missing}",
    _read_decisions,
    _build_decisions,
)
REWRITES_KIND: Kind[dict[str, tuple[Decision, ...]]] = Kind(
    "a dictionary of decisions, by the names of passes", _read_rewrites, _build_rewrites
)

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

MARKS: dict[str, Mark[Any]] = {
    mark.name: mark
    for mark in (
        OP, PART_OF, GROUP, WHOLE, IN_PARTS, WIDENS, FUSION, DECISIONS, REWRITES, SIZES_AGREE, KERNEL, OPS,
        BYTES, FLOPS, BACKWARD, SCHEDULE, CONSIDERED, SUMS, LAST_BLOCKS, JOINED, COUNTED,
        SLOW, RESULT_SIZES, EQUAL_SIZES, WORKSPACE, LAYOUT, SHARED, MMA, BY_WARPS,
        BY_THREADS, STORED_BY_THREADS, ROUNDS, DROPS_NAN, NOT_POSITIVE, BY_LOGARITHMS, BY_SOFTMAX_SUM,
        ASSERTS, DEVICE_KERNELS, LAUNCHES,
    )
}  # fmt: skip

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
    mark.name: mark
    for mark in (
        WEIGHT, PREPARED, RESULT, BOOL, FLOAT8, LAYER, STREAMED, THREADS, STATUS, ARENA, HOOK, STREAM,
        DEVICE_STATUS, COUNTERS,
    )
}  # fmt: skip
