"""Machine code (SASS, as nvdisasm prints it): each kernel's instructions, and in which order it loads."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_SECTION = re.compile(r"\s*\.section\s+\.text\.([\w$.]+)")
_LABEL = re.compile(r"\s*\.(L_x_\d+):")
_CODE = re.compile(r"\s*/\*[0-9a-f]{4,}\*/\s+(?P<guard>@!?\w+\s+)?(?P<name>[A-Z][\w.]*)\s*(?P<rest>[^;]*);")
_REGISTER = re.compile(r"\bR(\d+)(?:\.64)?\b")
_TARGET = re.compile(r"\.(L_x_\d+)")
_ANY_REGISTER = re.compile(r"(?<!desc\[)\b(U?R\d+)")
_CONSTANT = re.compile(r"c\[0x0\]\[(?:R\d+\+)?(0x[0-9a-f]+)\]")
_SYMBOL = re.compile(r"c\[0x4\]")
_PARAMETERS = 0x160  # where they begin, or later
_REPORTS = ("ATOMG.E.CAS", "CALL.ABS")  # ours to the status cell, Triton's call of the driver's assertion
_EXCHANGES = ("SHFL", "BAR")
_LOADS = ("LDG", "LDS", "LDL")
_NOTHING, _UNKNOWN = frozenset[int](), frozenset({0})
_BLOCK = -1  # beside the places of parameters: what an address has of the block's number, or from memory


@dataclass(frozen=True)
class Instruction:
    """One instruction: its name with modifiers, the first register that it writes, those that it reads."""

    name: str
    writes: int | None
    reads: frozenset[int]
    target: str = ""  # of a branch
    rest: str = ""  # the operands
    guarded: bool = False  # by a predicate

    @property
    def bits(self) -> int:
        """The width of an access to memory."""
        found = re.search(r"\.(?:U|S)?(8|16|64|128)\b", self.name)
        return int(found.group(1)) if found else 32


@dataclass(frozen=True)
class Code:
    """A kernel: its instructions, and where labels stand (the number of the instruction after each)."""

    instructions: tuple[Instruction, ...]
    labels: dict[str, int]

    def named(self, *names: str) -> list[Instruction]:
        """The instructions whose names begin with one of ``names``."""
        return [each for each in self.instructions if each.name.split(".")[0] in names]

    def reports(self) -> list[Instruction]:
        """The blocks that tell of a failed assertion, which no thread runs if none fails."""
        found, block, starts = list[Instruction](), list[Instruction](), set(self.labels.values())
        for number, each in enumerate(self.instructions):
            block = [each] if number in starts else [*block, each]
            following = number + 1
            ends = each.name.startswith(("BRA", "EXIT")) or following in (*starts, len(self.instructions))
            if ends:
                tells = any(one.name.startswith(_REPORTS) and not one.guarded for one in block)
                found += block if tells else []
                block = []
        return found

    def late_loads(self) -> int:
        """The 128-bit loads whose latency adds to another one's.

        Those that come after an instruction that waits for one of their tile (what is loaded from one buffer,
        told by the parameters that addresses come from); or that waits for any one, unless threads exchange
        values before they are used: then they are on their way during a reduction; or unless all blocks load
        the same, which caches have. Counted within straight code, and within the body of each loop for
        itself; a forward branch does not part the code.
        """
        late, edges, tiles = set[int](), self._loop_edges(), self._tiles()
        flying, after, used, exchanges = dict[int, int](), dict[int, int](), set[int](), 0
        for number, each in enumerate(self.instructions):
            if number in edges:
                flying, after, used = {}, {}, set()
            exchanges += each.name.split(".")[0] in _EXCHANGES
            landed = {flying[register] for register in each.reads & flying.keys()}
            flying = {register: load for register, load in flying.items() if load not in landed}
            late |= {load for load in landed if after.get(load) == exchanges}
            used = used.union(*(tiles[load] for load in landed))
            if each.name.startswith("LDG") and each.bits == 128 and each.writes is not None:
                if tiles[number] & used - {_BLOCK}:
                    late.add(number)
                if used and _BLOCK in tiles[number]:
                    after[number] = exchanges
                flying |= dict.fromkeys(range(each.writes, each.writes + 4), number)
        return len(late)

    def _tiles(self) -> dict[int, frozenset[int]]:
        """For each load the parameters' places from which its address has come; `_BLOCK` if from more."""
        found, origins = {}, dict[str, frozenset[int]]()
        for number, each in enumerate(self.instructions):
            first, _, others = each.rest.partition(",")
            loads = each.name.split(".")[0] in _LOADS
            given = [origins.get(register, _NOTHING) for register in _ANY_REGISTER.findall(others)]
            places = (int(place, 16) & -8 for place in _CONSTANT.findall(others))
            come = frozenset(place for place in places if place >= _PARAMETERS).union(*given)
            if "SR_CTAID" in others:
                come |= {_BLOCK}
            if loads:
                found[number] = come if come - {_BLOCK} else _UNKNOWN | {_BLOCK}
            if own := re.fullmatch(r"(U?R)(\d+)", first.strip()):
                wide = max(each.bits // 32, 1) if loads else 2 if re.search(r"WIDE|\.64", each.name) else 1
                written = [f"{own[1]}{int(own[2]) + more}" for more in range(wide)]
                origins |= dict.fromkeys(written, frozenset({_BLOCK}) if loads else come)
        return found

    def table_loads(self) -> list[Instruction]:
        """The loads of tables that are part of the code: addresses come from its symbols (bank 4)."""
        found, symbols = list[Instruction](), set[str]()
        for each in self.instructions:
            first, _, others = each.rest.partition(",")
            comes = bool(_SYMBOL.search(others)) or not symbols.isdisjoint(_ANY_REGISTER.findall(others))
            loads = each.name.split(".")[0] in _LOADS
            if loads and comes:
                found.append(each)
            if own := re.fullmatch(r"(U?R)(\d+)", first.strip()):
                wide = 2 if re.search(r"WIDE|\.64", each.name) else 1
                written = {f"{own[1]}{int(own[2]) + more}" for more in range(wide)}
                symbols = symbols | written if comes and not loads else symbols - written
        return found

    def loops(self) -> list[Sequence[Instruction]]:
        """What runs more than once, outermost loops alone; behind each kernel stands a branch to itself."""
        found = [(start, end) for start, end in self._loops() if end - start > 1]
        return [
            self.instructions[start:end]
            for start, end in found
            if not any(one <= start and end <= other and (one, other) != (start, end) for one, other in found)
        ]

    def loop_with(self, *names: str) -> Sequence[Instruction]:
        """The innermost loop with the most instructions whose names begin with one of ``names``."""
        found = [self.instructions[start:end] for start, end in self._loops() if end - start > 1]
        counts = [(sum(each.name.startswith(names) for each in loop), -len(loop), loop) for loop in found]
        most = max(counts, key=lambda each: each[:2], default=(0, 0, ()))
        return most[2] if most[0] else ()

    def _loop_edges(self) -> set[int]:
        """Where loops begin and end."""
        return {edge for loop in self._loops() for edge in loop}

    def _loops(self) -> list[tuple[int, int]]:
        """From the branch's target to what stands behind the branch."""
        found = []
        for number, each in enumerate(self.instructions):
            start = self.labels.get(each.target)
            if start is not None and start <= number:
                found.append((start, number + 1))
        return found


def parse(printed: str) -> dict[str, Code]:
    """The kernels of a cubin from nvdisasm's text, by name."""
    found: dict[str, tuple[list[Instruction], dict[str, int]]] = {}
    code: list[Instruction] = []
    labels: dict[str, int] = {}
    for line in printed.splitlines():
        section = _SECTION.match(line)
        if section:
            code, labels = found.setdefault(section.group(1), ([], {}))
        elif label := _LABEL.match(line):
            labels[label.group(1)] = len(code)
        elif instruction := _CODE.match(line):
            code.append(_instruction(instruction["name"], instruction["rest"], instruction["guard"]))
    return {name: Code(tuple(code), labels) for name, (code, labels) in found.items()}


def _instruction(name: str, rest: str, guard: str | None) -> Instruction:
    """One instruction from its name and operands: the first of them is written, unless it stores."""
    first, _, others = rest.partition(",")
    stores = name.split(".")[0] in ("STG", "STS", "STL", "RED", "BAR", "BRA", "EXIT")
    own = None if stores else re.fullmatch(r"R(\d+)", first.strip())
    sources = _REGISTER.findall(others if own else rest)
    target = _TARGET.search(rest) if name.startswith("BRA") else None
    return Instruction(
        name,
        int(own.group(1)) if own else None,
        frozenset(map(int, sources)),
        target.group(1) if target else "",
        rest,
        guard is not None,
    )
