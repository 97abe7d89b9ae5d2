"""Instructions of tensor cores, mma.sync: their types and sizes, and the products that they make."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from mlir import ir

from ....dialects.attributes import MMA
from ...base import PassError
from .tiles import ELEMENTWISE

ROWS, COLUMNS = 16, 8

REGISTER = 4  # bytes

TF32 = "tf32"

FLOATS8 = ("e4m3", "e5m2")  # of which mma.sync makes no product here: it keeps few bits of the sums

MACHINE_KINDS = {"s8": "i8"} | dict.fromkeys(FLOATS8, "f8")  # where a machine calls a type otherwise


@dataclass(frozen=True)
class Instruction:
    """An mma.sync of 16 rows by 8 columns: its factors' type as PTX and LLVM call it, and their size."""

    kind: str
    element_bytes: int

    @property
    def machine_kind(self) -> str:
        """The factors' type as machines call it."""
        return MACHINE_KINDS.get(self.kind, self.kind)

    @property
    def packed(self) -> int:
        """The elements of a factor in a register."""
        return REGISTER // self.element_bytes

    @property
    def depth(self) -> int:
        """The length that is summed over."""
        return 2 * 4 * self.packed

    def __str__(self) -> str:
        return f"m{ROWS}n{COLUMNS}k{self.depth}.{self.kind}"


# By the types of the factors and of the accumulator. ("Multiply-and-Accumulate Instruction: mma", sm_80.)
_INSTRUCTIONS = {
    ("bf16", "f32"): Instruction("bf16", 2),
    ("f16", "f32"): Instruction("f16", 2),
    ("i8", "i32"): Instruction("s8", 1),
    ("f8E4M3FN", "f32"): Instruction("e4m3", 1),
    ("f8E5M2", "f32"): Instruction("e5m2", 1),
    ("f32", "f32"): Instruction(TF32, 4),
}


def instruction_for(factor: ir.Type, total: ir.Type, tf32: bool = False) -> Instruction | None:
    """The instruction for factors and an accumulator of these types, if there is one.

    ``tf32``: whether factors of f32 may be rounded to 11 bits of their 24.
    """
    found = _INSTRUCTIONS.get((str(factor), str(total)))
    return found if found is None or tf32 or found.kind != TF32 else None


def instruction_of(contract: ir.Operation) -> Instruction | None:
    """The instruction that mlopt-gpu-tensor-cores has chosen for a product; PassError if nobody knows it."""
    if MMA.name not in contract.attributes:
        return None
    found = next((each for each in _INSTRUCTIONS.values() if str(each) == MMA.get(contract)), None)
    if found is None:
        known = ", ".join(map(str, _INSTRUCTIONS.values()))
        raise PassError(contract, f"mlopt.mma is {MMA.get(contract)!r}; known are {known}")
    return found


@cache
def warp_grid(rows: int, columns: int, warps: int) -> int:
    """How many of the warps stand below each other, the others beside, over so many blocks of an instruction.

    Both factors are read least where a warp's part is square; warps that have nothing are worst.
    """

    def read(below: int) -> tuple[int, int]:
        high, wide = -(-rows // below), -(-columns * below // warps)
        return high * wide, high * ROWS + wide * COLUMNS

    return min((1 << bit for bit in range(warps.bit_length())), key=read)


def makes_factor(op: ir.Operation) -> bool:
    """Whether another product on tensor cores has this one's result, or what is made of it, for its rows.

    A warp with whole rows of both has the second one's factor in its registers already.
    """
    pending, seen = list(op.results), set(op.results)
    while pending:
        for use in pending.pop().uses:
            reader = use.owner.operation
            if MMA.name in reader.attributes and use.operand_number == 0:
                return True
            further = [reader.parent.results[use.operand_number]] if reader.name == "scf.yield" else []
            if reader.name.startswith(ELEMENTWISE):
                further = list(reader.results)
            pending += [value for value in further if value not in seen]
            seen.update(further)
    return False
