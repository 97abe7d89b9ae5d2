"""How small the pieces of memory are in which races are looked for."""

from __future__ import annotations

from .ptx import Function

NONE = 1 << 20  # where nothing is accessed
SHARED_ELSEWHERE = {"global", "local", "param", "const"}
GLOBAL_ELSEWHERE = {"shared", "local", "param", "const"}


def granule(function: Function, elsewhere: set[str]) -> int:
    """The smallest access of a function that names no state space ``elsewhere``, at most 16 bytes."""
    least = NONE
    for found in function.code:
        opcode = found.opcode
        if opcode in ("ldmatrix", "stmatrix", "tensormap") or found.has("mma_async"):
            least = min(least, 16)
        elif opcode == "mbarrier":
            least = min(least, 8)
        elif opcode == "cp" and found.has("bulk"):
            least = min(least, 16)
        elif opcode == "cp" and found.has("async") and found.has("ca", "cg"):
            size = getattr(found.operands[2], "value", 4)
            least = min(least, int(size))
        elif opcode in ("ld", "st", "atom", "red", "ldu"):
            spaces = {mod.partition("::")[0] for mod in found.mods}
            if not elsewhere & spaces:
                least = min(least, found.types[-1].bytes)
    return least
