"""Random programs with branches, loops, breaks, early exits and calls: every thread as if it ran alone."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np
import pytest
from mlopt.test.python.emulator.snippets import kernel, run

THREADS = 96
MASK = 0xFFFFFFFF


class ExitError(Exception):
    """The thread has ended."""


class BreakError(Exception):
    """The thread leaves the innermost loop."""


@dataclass
class Writer:
    """PTX of a program, with labels and registers of its own for each construct."""

    lines: list[str] = field(default_factory=list)
    labels: int = 0
    loops: list[tuple[str, str]] = field(default_factory=list)

    def emit(self, line: str) -> None:
        self.lines.append("  " + line + ";")

    def label(self) -> str:
        self.labels += 1
        return f"L{self.labels}"


Statement = tuple


def program(chance: random.Random, depth: int, in_loop: bool) -> list[Statement]:
    """Some statements: ("mix", a, b), ("if", bit, then, else), ("loop", bits, body), ("break", bit) …"""
    out: list[Statement] = []
    for _ in range(chance.randrange(1, 4)):
        kind = chance.choice(
            ["mix", "if", "if", "loop", "break", "exit", "call", "mix"] if depth else ["mix", "call"]
        )
        if kind == "if":
            branches = [program(chance, depth - 1, in_loop) for _ in range(2)]
            out.append(("if", chance.randrange(32), *branches))
        elif kind == "loop":
            out.append(("loop", chance.randrange(28), program(chance, depth - 1, True)))
        elif kind == "break" and in_loop:
            out.append(("break", chance.randrange(32)))
        elif kind == "exit" and chance.random() < 0.3:
            out.append(("exit", chance.randrange(32), chance.randrange(32)))
        elif kind == "call":
            out.append(("call",))
        else:
            out.append(("mix", chance.randrange(MASK) | 1, chance.randrange(MASK)))
    return out


def write(statements: list[Statement], out: Writer) -> None:
    """The PTX of statements: %r1 is the thread's state."""
    for statement in statements:
        kind = statement[0]
        if kind == "mix":
            out.emit(f"mad.lo.u32 %r1, %r1, {statement[1]}, {statement[2]}")
        elif kind == "call":
            out.lines.append("  { .param .b32 give; .param .b32 take; st.param.b32 [give], %r1;")
            out.lines.append("  call (take), turn, (give); ld.param.b32 %r1, [take]; }")
        elif kind in ("if", "break", "exit"):
            write_condition(statement, out)
        else:
            top, after = out.label(), out.label()
            counter = f"count{out.labels}"
            out.lines.append(f"  .reg .b32 {counter};")
            out.emit(f"bfe.u32 {counter}, %r1, {statement[1]}, 2")
            out.lines.append(f"{top}:")
            out.loops.append((top, after))
            write(statement[2], out)
            out.loops.pop()
            out.emit(f"sub.u32 {counter}, {counter}, 1")
            out.emit(f"setp.lt.s32 %p1, {counter}, 0")
            out.emit(f"@!%p1 bra {top}")
            out.lines.append(f"{after}:")


def write_condition(statement: Statement, out: Writer) -> None:
    out.emit(f"bfe.u32 %r2, %r1, {statement[1]}, 1")
    out.emit("setp.ne.u32 %p1, %r2, 0")
    if statement[0] == "break":
        out.emit(f"@%p1 bra {out.loops[-1][1]}")
    elif statement[0] == "exit":
        out.emit(f"bfe.u32 %r2, %r1, {statement[2]}, 1")
        out.emit("setp.ne.and.u32 %p2, %r2, 0, %p1")
        out.emit("@%p2 st.global.u32 [%rd5], %r1")
        out.emit("@%p2 exit")
    else:
        other, after = out.label(), out.label()
        out.emit(f"@!%p1 bra {other}")
        write(statement[2], out)
        out.emit(f"bra {after}")
        out.lines.append(f"{other}:")
        write(statement[3], out)
        out.lines.append(f"{after}:")


def turned(state: int) -> int:
    """What the device function does."""
    if state % 3 == 0:
        return state // 3
    return (state << 7 | state >> 25) & MASK


TURN = """
.func (.param .b32 out) turn(.param .b32 in)
{
  .reg .b32 %r<4>; .reg .pred %p<2>;
  ld.param.b32 %r1, [in];
  rem.u32 %r2, %r1, 3;
  setp.eq.u32 %p1, %r2, 0;
  @%p1 bra THIRD;
  shf.l.wrap.b32 %r3, %r1, %r1, 7;
  st.param.b32 [out], %r3;
  ret;
THIRD:
  div.u32 %r3, %r1, 3;
  st.param.b32 [out], %r3;
  ret;
}
"""


def execute(statements: list[Statement], state: int) -> int:
    """The state after the statements, for one thread."""
    for statement in statements:
        kind = statement[0]
        if kind == "mix":
            state = (state * statement[1] + statement[2]) & MASK
        elif kind == "call":
            state = turned(state)
        elif kind == "if":
            state = execute(statement[2] if state >> statement[1] & 1 else statement[3], state)
        elif kind == "break":
            if state >> statement[1] & 1:
                raise BreakError(state)
        elif kind == "exit":
            if state >> statement[1] & 1 and state >> statement[2] & 1:
                raise ExitError(state)
        else:
            for _ in range((state >> statement[1] & 3) + 1):
                try:
                    state = execute(statement[2], state)
                except BreakError as left:
                    state = left.args[0]
                    break
    return state


@pytest.mark.parametrize("seed", range(12))
def test_random_programs(seed: int) -> None:
    chance = random.Random(seed)
    statements = [("mix", 0x9E3779B1, seed), *program(chance, 4, False), ("mix", 0x85EBCA6B, 1)]
    out = Writer()
    write(statements, out)
    body = "  add.s64 %rd5, %rd0, %rd31;\n  mov.u32 %r1, %r0;\n" + "\n".join(out.lines)
    text = kernel(body + "\n  st.global.u32 [%rd5], %r1;", 1, before=TURN)
    expected = []
    for thread in range(THREADS):
        try:
            expected.append(execute(statements, thread))
        except ExitError as ended:
            expected.append(ended.args[0])
    for schedule in ("together", "round-robin", "ahead", "random"):
        found = np.zeros(THREADS, np.uint32)
        assert run(text, [found], THREADS, schedule=schedule).findings == []
        assert found.tolist() == expected, schedule
