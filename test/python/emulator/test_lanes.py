"""Lanes know of each other's accesses by barriers alone: random programs, against a clock for each thread.

Lanes write and read words, arrive at mbarriers, wait for them and meet. All arrivals at an mbarrier precede
all waits at it, so that what is before what does not depend on the schedule.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np
from mlopt.test.python.emulator.snippets import each_schedule, kernel, kinds, run

WORDS, FIRST = 24, 64
EVERYONE = 0xFFFFFFFF


@dataclass
class Program:
    """Its lines by warps, and for which words two accesses race; ``knows[t, o]`` is what t knows of o."""

    warps: int
    mbarriers: int
    lines: list[list[str]] = field(default_factory=list)
    accesses: dict[int, list[tuple[int, bool, int]]] = field(default_factory=dict)
    racing: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.lines = [[] for _ in range(self.warps)]
        self.knows = np.eye(32 * self.warps, dtype=int)
        self.told = np.zeros((self.mbarriers, 32 * self.warps), int)
        self.counts = [0] * self.mbarriers
        self.closed: set[int] = set()
        self.labels = 0

    def lanes(self, warp: int, mask: int, lines: str) -> np.ndarray:
        """The lanes of a mask execute lines, and no others; gives their threads."""
        self.labels += 1
        test = f"  shr.u32 %r5, {mask:#x}, %r4;\n  and.b32 %r5, %r5, 1;\n  setp.eq.u32 %p3, %r5, 0;\n"
        lines = lines.replace("LABEL", f"L{self.labels}")
        self.lines[warp].append(f"{test}  @%p3 bra D{self.labels};\n{lines}D{self.labels}:\n")
        return 32 * warp + np.array([lane for lane in range(32) if mask >> lane & 1])

    def access(self, warp: int, lane: int, word: int, *, writes: bool) -> None:
        before = self.accesses.setdefault(word, [])
        thread = 32 * warp + lane
        if len(before) == 2 or (before and (before[0][0] == thread or not (before[0][1] or writes))):
            return
        place = f"[buffer+{FIRST + 4 * word}]"
        store, load = f"  st.shared.u32 {place}, %r9;\n", f"  ld.shared.u32 %r6, {place};\n"
        self.lanes(warp, 1 << lane, store if writes else load)
        if before and self.knows[thread, before[0][0]] < before[0][2]:
            self.racing.add(word)
        before.append((thread, writes, self.knows[thread, thread]))
        self.knows[thread, thread] += 1

    def arrive(self, warp: int, mask: int, mbarrier: int) -> None:
        if mbarrier in self.closed:
            return
        lines = f"  mbarrier.arrive.shared::cta.b64 _, [buffer+{8 * mbarrier}];\n"
        threads = self.lanes(warp, mask, lines)
        self.told[mbarrier] = np.maximum(self.told[mbarrier], self.knows[threads].max(axis=0))
        self.knows[threads, threads] += 1
        self.counts[mbarrier] += len(threads)

    def wait(self, warp: int, mask: int, mbarrier: int) -> None:
        if not self.counts[mbarrier]:
            return
        self.closed.add(mbarrier)
        look = f"  mbarrier.try_wait.parity.shared::cta.b64 %p4, [buffer+{8 * mbarrier}], 0;\n"
        threads = self.lanes(warp, mask, f"LABEL:\n{look}  @!%p4 bra LABEL;\n")
        self.knows[threads] = np.maximum(self.knows[threads], self.told[mbarrier])

    def meet(self, warp: int, mask: int) -> None:
        threads = self.lanes(warp, mask, f"  bar.warp.sync {mask:#x};\n")
        self.knows[threads] = self.knows[threads].max(axis=0)
        self.knows[threads, threads] += 1

    def text(self) -> str:
        """The kernel: its first thread has made the mbarriers and written all words."""
        start = "  shr.u32 %r3, %r0, 5;\n  and.b32 %r4, %r0, 31;\n  add.u32 %r9, %r0, 1000;\n"
        start += "  setp.ne.u32 %p1, %r0, 0;\n  @%p1 bra S;\n"
        for mbarrier, count in enumerate(self.counts):
            start += f"  mbarrier.init.shared::cta.b64 [buffer+{8 * mbarrier}], {max(1, count)};\n"
        for word in range(WORDS):
            start += f"  st.shared.u32 [buffer+{FIRST + 4 * word}], {word};\n"
        body = "".join(
            f"  setp.ne.u32 %p2, %r3, {warp};\n  @%p2 bra W{warp};\n{''.join(lines)}  bra E;\nW{warp}:\n"
            for warp, lines in enumerate(self.lines)
        )
        return kernel(f"{start}S:\n  bar.sync 0;\n{body}E:\n", 0, FIRST + 4 * WORDS)


def drawn(seed: int) -> Program:
    """A random program."""
    chance = random.Random(seed)
    program = Program(chance.randint(2, 3), chance.randint(2, 4))
    for _ in range(chance.randint(40, 80)):
        step, warp = chance.choice("aaattwwwwm"), chance.randrange(program.warps)
        mask = chance.choice([1, 3, 1 << chance.randrange(32), 0xFFFF, chance.getrandbits(32) | 1, EVERYONE])
        if step == "a":
            lane, word = chance.choice([0, 1, chance.randrange(32)]), chance.randrange(WORDS)
            program.access(warp, lane, word, writes=chance.random() < 0.5)
        elif step == "t":
            program.arrive(warp, mask, chance.randrange(program.mbarriers))
        elif step == "w":
            program.wait(warp, mask, chance.randrange(program.mbarriers))
        else:
            program.meet(warp, chance.choice([mask, EVERYONE]))
    return program


PROGRAMS = [drawn(seed) for seed in range(12)]


@each_schedule
def test_random_programs(schedule: str) -> None:
    found: set[str] = set()
    for program in PROGRAMS:
        report = run(program.text(), [], 32 * program.warps, schedule=schedule)
        racing = {((finding.address or 0) - FIRST) // 4 for finding in report.findings}
        assert racing == program.racing, [str(finding) for finding in report.findings]
        found |= {*kinds(report)}
    assert found == {"race", "warp-sync"}
