"""The text of a function that makes a launch's tensor map, or has it from before.

A map rests on its buffer's address and dynamic sizes; all else is known when the program is compiled. The
last ones are kept: `KEPT` places, chosen by the address, each with the key of what is there and a mark that a
thread is at it. A thread that finds it taken, or another key, has the driver make the map; so nobody waits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...dialects.launch_state import ENCODE
from .load_text import STATE

KEPT = 64  # so many layers may share a kernel and have weights of their own
WORDS = 16  # of 64 bits, of a map
_ODD = -7046029254386353131  # 2^64 / the golden ratio: its multiples' high bits are spread evenly

# Numbers of cuda.h: CUtensorMapDataType by an element's bytes, as zeros are zeros in any type;
# CU_TENSOR_MAP_DATA_TYPE_TFLOAT32; CUtensorMapSwizzle by a row's; CU_TENSOR_MAP_L2_PROMOTION_L2_128B.
_TYPES = {1: 0, 2: 1}
_TF32 = 11
_SWIZZLES = {32: 1, 64: 2, 128: 3}
_PROMOTION = 2


@dataclass(frozen=True)
class TensorMap:
    """A buffer's ``sizes`` (None: given at the call), from the outermost on, and the box of it.

    ``rounds``: what is copied of f32 becomes the nearest TF32.
    """

    sizes: tuple[int | None, ...]
    box: tuple[int, ...]
    element_bytes: int
    span: int
    rounds: bool = False


def map_text(name: str, tensor: TensorMap) -> str:
    """``@name(to, address, dynamic sizes…) -> i1``: writes the map, and says whether there is one."""
    keys = 1 + tensor.sizes.count(None)
    entry = f"struct<(array<{WORDS} x i64>, array<{keys} x i64>, i64)>"
    kept = f"!llvm.array<{KEPT} x {entry}>"
    given = "".join(f", %key{number}: i64" for number in range(1, keys))
    yes = [f"%same{number}" for number in range(keys)]
    return "\n".join(
        [
            f"llvm.mlir.global internal @{name}_kept() {{alignment = 64 : i64}} : {kept} {{",
            f"  %none = llvm.mlir.zero : {kept}",
            f"  llvm.return %none : {kept}",
            "}",
            f"llvm.func internal @{name}(%to: !llvm.ptr, %address: !llvm.ptr{given}) -> i1 {{",
            *_numbers(
                {"one": 1, "zero": 0, "odd": _ODD, "shift": 65 - KEPT.bit_length(), "bytes": 8 * WORDS}
            ),
            *_room(len(tensor.sizes)),
            "  %key0 = llvm.ptrtoint %address : !llvm.ptr to i64",
            f"  %all = llvm.mlir.addressof @{name}_kept : !llvm.ptr",
            "  %mixed = llvm.mul %key0, %odd : i64",
            "  %place = llvm.lshr %mixed, %shift : i64",
            f"  %kept = llvm.getelementptr %all[0, %place] : (!llvm.ptr, i64) -> !llvm.ptr, {kept}",
            f"  %busy = llvm.getelementptr %kept[0, 2] : (!llvm.ptr) -> !llvm.ptr, !llvm.{entry}",
            *(
                f"  %key_at{number} = llvm.getelementptr %kept[0, 1, {number}] : (!llvm.ptr) -> !llvm.ptr,"
                f" !llvm.{entry}"
                for number in range(keys)
            ),
            "  %claim = llvm.cmpxchg %busy, %zero, %one acquire monotonic : !llvm.ptr, i64",
            "  %mine = llvm.extractvalue %claim[1] : !llvm.struct<(i64, i1)>",
            "  llvm.cond_br %mine, ^look, ^make",
            "^look:",
            *(line for number in range(keys) for line in _compare(number)),
            *_both(yes, "found", "llvm.and", "i1"),
            "  llvm.cond_br %found, ^take, ^make",
            "^take:",
            _copy("to", "kept"),
            *_give_back(),
            "  llvm.return %found : i1",
            "^make:",
            *_encode(tensor),
            "  llvm.cond_br %mine, ^keep, ^end",
            "^keep:",
            _copy("kept", "to"),
            # Of what the driver refuses nothing is found later: no buffer is at address 0.
            "  %known = llvm.select %made, %key0, %zero : i1, i64",
            "  llvm.store %known, %key_at0 : i64, !llvm.ptr",
            *(f"  llvm.store %key{number}, %key_at{number} : i64, !llvm.ptr" for number in range(1, keys)),
            *_give_back(),
            "  llvm.br ^end",
            "^end:",
            "  llvm.return %made : i1",
            "}",
        ]
    )


def _numbers(values: dict[str, int], kind: str = "i64") -> list[str]:
    return [f"  %{name} = llvm.mlir.constant({value} : {kind}) : {kind}" for name, value in values.items()]


def _room(rank: int) -> list[str]:
    """The arrays that the driver reads, on the stack."""
    kinds = {"dims": "i64", "strides": "i64", "box": "i32", "steps": "i32"}
    return [
        f"  %{name} = llvm.alloca %one x !llvm.array<{rank} x {kind}> : (i64) -> !llvm.ptr"
        for name, kind in kinds.items()
    ]


def _compare(number: int) -> list[str]:
    return [
        f"  %known{number} = llvm.load %key_at{number} : !llvm.ptr -> i64",
        f'  %same{number} = llvm.icmp "eq" %known{number}, %key{number} : i64',
    ]


def _both(names: Sequence[str], result: str, op: str, kind: str) -> list[str]:
    """``result``: all of some values joined by an op."""
    lines, last = [], names[0]
    for number, name in enumerate(names[1:]):
        lines.append(f"  %{result}_{number} = {op} {last}, {name} : {kind}")
        last = f"%{result}_{number}"
    return [*lines, f"  %{result} = {op} {last}, {last} : {kind}"]


def _copy(to: str, source: str) -> str:
    kinds = "(!llvm.ptr, !llvm.ptr, i64) -> ()"
    return f'  "llvm.intr.memcpy"(%{to}, %{source}, %bytes) <{{isVolatile = false}}> : {kinds}'


def _give_back() -> list[str]:
    return ["  llvm.store %zero, %busy atomic release {alignment = 8 : i64} : i64, !llvm.ptr"]


def _encode(tensor: TensorMap) -> list[str]:
    """The driver's call; what it refuses it leaves as it was: zeros."""
    rank, dynamic = len(tensor.sizes), iter(range(1, 1 + tensor.sizes.count(None)))
    sizes = [f"%key{next(dynamic)}" if size is None else size for size in tensor.sizes]
    lines = _numbers({"fill": 0}, "i8")
    lines.append(
        '  "llvm.intr.memset"(%to, %fill, %bytes) <{isVolatile = false}> : (!llvm.ptr, i8, i64) -> ()'
    )
    lines += _numbers({"apart0": tensor.element_bytes})
    for number, size in enumerate(reversed(sizes)):
        name = f"%dim{number}"
        if isinstance(size, int):
            lines += _numbers({name[1:]: size})
        else:
            name = size
        lines += _put("dims", number, name, rank, "i64")
        if number < rank - 1:
            lines.append(f"  %apart{number + 1} = llvm.mul %apart{number}, {name} : i64")
            lines += _put("strides", number, f"%apart{number + 1}", rank, "i64")
    for number, size in enumerate(reversed(tensor.box)):
        lines += _numbers({f"box{number}": size, f"step{number}": 1}, "i32")
        lines += _put("box", number, f"%box{number}", rank, "i32")
        lines += _put("steps", number, f"%step{number}", rank, "i32")
    kind = _TF32 if tensor.rounds else _TYPES[tensor.element_bytes]
    words = {"type": kind, "rank": rank, "plain": 0}
    lines += _numbers({**words, "swizzle": _SWIZZLES[tensor.span], "promotion": _PROMOTION}, "i32")
    arguments = (
        "%to, %type, %rank, %address, %dims, %strides, %box, %steps, %plain, %swizzle, %promotion, %plain"
    )
    pointers = ", ".join(["!llvm.ptr"] * 5)
    lines += [
        f"  %state_at = llvm.mlir.addressof @{STATE} : !llvm.ptr",
        "  %state = llvm.load %state_at : !llvm.ptr -> !llvm.ptr",
        f"  %encode_at = llvm.getelementptr %state[{ENCODE}] : (!llvm.ptr) -> !llvm.ptr, i64",
        "  %encode = llvm.load %encode_at : !llvm.ptr -> !llvm.ptr",
        f"  llvm.call %encode({arguments}) : !llvm.ptr,"
        f" (!llvm.ptr, i32, i32, {pointers}, i32, i32, i32, i32) -> ()",
    ]
    for number in range(WORDS):
        lines += _at("to", number, WORDS, "i64", f"word_at{number}")
        lines.append(f"  %word{number} = llvm.load %word_at{number} : !llvm.ptr -> i64")
    lines += _both([f"%word{number}" for number in range(WORDS)], "any", "llvm.or", "i64")
    return [*lines, '  %made = llvm.icmp "ne" %any, %zero : i64']


def _put(array: str, number: int, value: str, count: int, kind: str) -> list[str]:
    name = f"{array}_at{number}"
    return [*_at(array, number, count, kind, name), f"  llvm.store {value}, %{name} : {kind}, !llvm.ptr"]


def _at(array: str, number: int, count: int, kind: str, name: str) -> list[str]:
    where = f"!llvm.array<{count} x {kind}>"
    return [f"  %{name} = llvm.getelementptr %{array}[0, {number}] : (!llvm.ptr) -> !llvm.ptr, {where}"]
