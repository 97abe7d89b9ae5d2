"""Machine code (SASS, as nvdisasm prints it): each kernel's instructions, and in which order it loads."""

from __future__ import annotations

import re
from dataclasses import dataclass

_SECTION = re.compile(r"\s*\.section\s+\.text\.([\w$.]+)")
_LABEL = re.compile(r"\s*\.(L_x_\d+):")
_CODE = re.compile(r"\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?\w+\s+)?(?P<name>[A-Z][\w.]*)\s*(?P<rest>[^;]*);")
_REGISTER = re.compile(r"\bR(\d+)(?:\.64)?\b")
_TARGET = re.compile(r"\.(L_x_\d+)")


@dataclass(frozen=True)
class Instruction:
    """One instruction: its name with modifiers, the first register that it writes, those that it reads."""

    name: str
    writes: int | None
    reads: frozenset[int]
    target: str = ""  # of a branch

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

    def late_loads(self) -> int:
        """The 128-bit loads that come after an instruction that waits for another one.

        Counted within straight code, and within the body of each loop for itself; a forward branch does
        not part the code.
        """
        late, waiting, used = 0, set[int](), False
        edges = self._loop_edges()
        for number, each in enumerate(self.instructions):
            if number in edges:
                waiting, used = set(), False
            used = used or bool(waiting & each.reads)
            if each.name.startswith("LDG") and each.bits == 128 and each.writes is not None:
                late += used
                waiting |= set(range(each.writes, each.writes + 4))
        return late

    def has_loop(self) -> bool:
        """Whether something runs more than once; behind each kernel stands a branch to itself."""
        return any(end - start > 1 for start, end in self._loops())

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
            code.append(_instruction(instruction["name"], instruction["rest"]))
    return {name: Code(tuple(code), labels) for name, (code, labels) in found.items()}


def _instruction(name: str, rest: str) -> Instruction:
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
    )
