"""What a kernel for memory must be like, found without a GPU: its machine code, and what the emulator counts.

| gate | holds if |
|---|---|
| spills | ptxas kept everything in registers |
| residency | a multiprocessor holds as many blocks as the schedule wants, by registers and shared memory |
| wide | every access to global memory has 128 bits (64-bit elements: two of them), or may be narrower |
| first | no wide load comes after an instruction that waits for another one of its tile or phase |
| nc | every load is of memory that the kernel does not write (ld.global.nc) |
| bytes | memory moves at most 2 % more than must be moved, and that is at most 2 % more than is needed, or \
of its sectors no byte is used that is not needed, or they are those that needed elements lie in |
| requested | the sectors of all requests are at most twice what must be moved: the caches give them; and a \
block's warps ask for a sector at most 1.125 times on average: a row that is read again makes that more |
| banks | no conflicts in shared memory |
| sectors | no access touches more sectors than its bytes fill: 4 for 4 bytes a lane, 16 for 16; a sector of \
which the kernel uses few bytes, as of a column, is filled by all of these; one more a request if \
rows begin anywhere in a sector, as of x[:, 1:] (`Used.is_aligned`) |

An access may be narrower than 128 bits where each request of a warp touches one sector (a row's result, an
index, a channel's parameter: it could not be less) and its line touches few of them (a sixteenth of what must
be moved, or one in all, as where two numbers are added up), and where it is of a narrower dtype than the
kernel's widest one, takes as many elements as 128 bits hold of that, and fills its sectors: wider ones would
make the others more than 128 bits. So they would where a thread has 128 bits of another buffer for fewer of
this one (`places.smaller_shares`). A buffer of fewer than 128 bits, as of one result, is no reason: no access
to it is wide. What an access touches is what the emulator has counted for its line of PTX; what several lanes
of a warp read fills a sector once.

So may those that no thread makes, of a kernel whose sizes are known at the call only: they are for what is
left of a size that is no multiple of an access's, and this one is.

Tables that are part of the code, as the digits of 2/pi for sines of large numbers, lie in a cache as the code
does: words of them may be read one by one, if all are few bytes (a sixteenth of what must be moved).

An access that has no neighbours may be narrow: no byte beside it, of the 16 aligned ones that it lies in, is
used, as where every other element is, or one of each row (`Used.has_no_neighbours`). And so may one that
brings all that a thread has of a buffer, once, in a launch that has not blocks for all multiprocessors: wider
ones would leave the work to fewer threads, which wait as long (`places.single_accesses`).

A tile's loads all come before the first use of one. Another tile's may come after it if they are on their way
during a reduction, or if all blocks load the same, as weights: all but the first have them from a cache, and
registers that wait for them are blocks that do not (`machine_code.Code.late_loads`).

Single elements whose places the lanes have loaded, one for each place, may lie anywhere: each is a sector,
however it is loaded, which is not held against the kernel (`places.anywhere`).

What must be moved is each sector that the kernel touches, once: the emulator's ``dram_read`` and
``dram_written``. What is needed are the elements that the kernel's maps name (`Kernel.bytes`), and a sector a
buffer, filled in part; of dynamic sizes that is not known, and not asked. Elements may lie apart, in sectors
of which nothing else is needed: a kernel that uses no more bytes than its elements have touches these sectors
and no others, since it must load and store all of its elements. One that uses more, as what lies between
every other element, needs the sectors that its tasks' elements lie in, if that is known
(`named.named_sectors`). What memory moves: `amounts`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from ...compiled import Compiled
from ...passes.costs.machine import find_machine, machine_for_code
from ...runtime.cuda.chips import find_chip
from ...runtime.cuda.ptxas import find_ptxas, tool_paths
from ...runtime.emulator.counters import Line
from ...runtime.emulator.launch import Report
from .amounts import Amounts
from .machine_code import Code, parse
from .named import named_sectors
from .places import SECTOR, WIDEST, anywhere, places_of, single_accesses, smaller_shares
from .residency import wanted_blocks

MOST_OVER = 1.02
MOST_REQUESTED = 2.0
MOST_AGAIN = 1.125  # a channel's parameter is asked for by several warps
FEW = 1 / 16  # of the sectors: what lanes may leave most of
GATES = ("spills", "residency", "wide", "first", "nc", "bytes", "requested", "banks", "sectors")
_LINE = re.compile(r"(?P<kind>ld|st)\.global\S*?(?:\.v(?P<count>\d))?\.[a-z](?P<bits>\d+)\s")
_CODES = {"LDG": "ld", "STG": "st"}


@dataclass(frozen=True)
class Found:
    """One kernel of an operation as it was launched. Bytes are a launch's; ``misses`` the gates it misses."""

    operation: str
    kernel: str
    registers: int
    spills: int
    occupancy: float
    instructions: int
    wide: tuple[int, int]  # accesses that are as wide as they can be, of all
    late: int
    nc: tuple[int, int]
    needed: float  # infinite for dynamic sizes
    least: float
    moved: float
    requested: float
    conflicts: int
    sectors: float  # of the worst access, over what its bytes fill
    resident: bool  # whether a multiprocessor holds as many blocks as are wanted
    again: float  # how often a block asks for a sector
    blocks: tuple[int, int] = (1, 1)  # that ran, of the grid's

    @property
    def misses(self) -> tuple[str, ...]:
        """The gates that do not hold."""
        holds = (
            self.spills == 0,
            self.resident,
            self.wide[0] == self.wide[1],
            self.late == 0,
            self.nc[0] == self.nc[1],
            self.moved <= MOST_OVER * self.least and self.least <= MOST_OVER * self.needed,
            self.requested <= MOST_REQUESTED * self.least and self.again <= MOST_AGAIN,
            self.conflicts == 0,
            self.sectors <= 1,
        )
        return tuple(gate for gate, held in zip(GATES, holds, strict=True) if not held)


def found_in(
    name: str, compiled: Compiled, launches: Sequence[Report], amounts: Callable[[Report], Amounts]
) -> list[Found]:
    """The kernels of a program, in the order of its traced ``launches``."""
    gpu = compiled.report.gpu
    assert gpu is not None, "the target is a GPU"
    codes = parse(compiled.asm["cubin"])
    built = {kernel.name: kernel for kernel in gpu.kernels}
    wanted = wanted_blocks(compiled.asm["threads"])
    found = []
    for report in launches:
        code, counters, kernel = codes[report.kernel], report.counters, built[report.kernel]
        assert counters is not None and kernel.occupancy is not None and report.trace is not None
        loads, stores = code.named("LDG"), code.named("STG")
        operands, needed, slack = _declared(compiled.asm["layouts"], report.kernel)
        amount, times = amounts(report), math.prod(report.grid) / report.blocks
        places, used = places_of(counters.lines), report.trace.used()
        scattered = anywhere(places)
        may = scattered | smaller_shares(places)
        may |= {each.line.line for each in places if used.has_no_neighbours(each.line.line, each.width // 8)}
        if math.prod(report.grid) < find_machine(machine_for_code(gpu.chip)).processors:
            may |= single_accesses(places, math.prod(report.grid) * math.prod(report.block))
        narrow = narrow_accesses(counters.lines, element_bits(operands), amount.least / times, may)
        if math.isinf(needed):
            narrow |= _never_made(code, counters.lines)
        tables = _tables(compiled.asm["ptx"]) <= FEW * amount.least / times
        aligned = [line for line in counters.lines if line.line not in scattered]
        beyond = SECTOR * sum(line.sectors for line in counters.lines if line.line in scattered)
        found.append(
            Found(
                name,
                report.kernel,
                kernel.registers or 0,
                kernel.spills or 0,
                kernel.occupancy.share,
                len(code.instructions),
                (_as_wide_as_can_be(code, narrow, tables), len(loads) + len(stores)),
                code.late_loads(),
                (sum(".CONSTANT" in each.name for each in loads), len(loads)),
                _needed(compiled, report, needed, slack, amount.least, used.bytes * times),
                amount.least,
                amount.moved,
                amount.requested - times * beyond,
                counters.bank_conflicts,
                max((_waste(line, used.filled(line.line)) for line in aligned), default=0.0),
                kernel.occupancy.blocks >= wanted[report.kernel],
                report.trace.asked_again(scattered),
                (report.blocks, math.prod(report.grid)),
            )
        )
    return found


def narrow_accesses(
    lines: Sequence[Line], elements: set[int], least: float = math.inf, may: Collection[int] = ()
) -> set[tuple[str, int]]:
    """Kinds ("ld", "st") and widths of accesses that need not have 128 bits; ``elements``: bits of dtypes.

    Those all of whose lines' requests touch one sector each, few of ``least`` bytes or one in all, or fill
    their sectors with as many elements of a narrower dtype as 128 bits hold of the widest one; or which are
    among the lines that ``may`` be narrow.
    """
    narrower = {WIDEST * bits // max(elements) for bits in elements} if elements else set()
    found: dict[tuple[str, int], bool] = {}
    for line in lines:
        access = _LINE.search(line.text)
        if access is None or not line.requests:
            continue
        bits = int(access["bits"]) * int(access["count"] or 1)
        fills = bits in narrower and line.distinct == SECTOR * line.sectors
        known = found.get((access["kind"], bits), True)
        few = line.sectors == line.requests and SECTOR * line.sectors <= max(SECTOR, FEW * least)
        found[access["kind"], bits] = known and (few or fills or line.line in may)
    return {each for each, may in found.items() if may}


def _never_made(code: Code, lines: Sequence[Line]) -> set[tuple[str, int]]:
    """Kinds and widths of accesses that the code has, and no thread has made."""
    made = [_LINE.search(line.text) for line in lines if line.requests]
    known = {(each["kind"], int(each["bits"]) * int(each["count"] or 1)) for each in made if each}
    return {(_CODES[each.name.split(".")[0]], each.bits) for each in code.named(*_CODES)} - known


def _needed(
    compiled: Compiled, report: Report, declared: float, slack: int, least: float, used: float
) -> float:
    """What a kernel must move, of whose sectors it touches ``least`` bytes, and uses so many of these."""
    needed = declared + slack
    if used <= declared:
        return max(needed, least)
    if least <= MOST_OVER * needed:
        return needed
    return max(needed, named_sectors(compiled.asm["layouts"], report.kernel.removesuffix("_unaligned")))


def _declared(text: str, kernel: str) -> tuple[str, float, int]:
    """The operands of a kernel, the bytes that it needs, and a sector a buffer.

    As its function in ``text`` says; infinity for dynamic sizes.
    """
    name = kernel.removesuffix("_unaligned")
    signature = re.search(rf"func private @{name}\((.*)\) attributes (.*)", text)
    assert signature is not None, f"{kernel} is a function"
    operands, known = signature[1], re.search(r"mlopt\.bytes = (\d+)", signature[2])
    if "?" in operands or known is None:
        return operands, math.inf, 0
    return operands, int(known[1]), SECTOR * operands.count("memref<")


def element_bits(operands: str) -> set[int]:
    """The sizes in memory of what a kernel's buffers hold; of complex numbers those of their parts.

    Of buffers of 128 bits or more: there is no wide access to others.
    """
    buffers = re.findall(r"memref<((?:[\d?]+x)*)(complex<)?([a-z]+)(\d*)", operands)
    found = set()
    for shape, pairs, name, number in buffers:
        bits = 64 if name == "index" else max(8, int(number))
        sizes = shape.split("x")[:-1]
        if "?" in sizes or math.prod(map(int, sizes)) * bits * (2 if pairs else 1) >= WIDEST:
            found.add(bits)
    return found


def _tables(ptx: str) -> int:
    """The bytes of the tables that are part of a program's code."""
    return sum(map(int, re.findall(r"^\.global .*?\.b8 \w+\[(\d+)\] = ", ptx, re.MULTILINE)))


def _as_wide_as_can_be(code: Code, narrow: set[tuple[str, int]], tables: bool) -> int:
    """``tables``: whether those that are part of the code may be read word by word."""
    of_tables = set(map(id, code.table_loads())) if tables else set()
    accesses = [(_CODES[each.name.split(".")[0]], each.bits, id(each)) for each in code.named(*_CODES)]
    return sum(bits == WIDEST or (kind, bits) in narrow or own in of_tables for kind, bits, own in accesses)


def _waste(line: Line, filled: float) -> float:
    """The sectors of a line's requests over those that their bytes fill, one of them in part.

    Lanes of one place fill one sector; ``filled``: those of which the requests ask for all that is used.
    """
    if not line.requests or not line.sectors:
        return 0.0
    fills = max(math.ceil(line.bytes / SECTOR), line.requests, filled)
    return line.sectors / fills


def problems(found: Sequence[Found]) -> set[str]:
    """The gates that some kernel of an operation misses."""
    return {gate for each in found for gate in each.misses}


def missing(chip: str) -> str | None:
    """What is missing for `measure`, or None."""
    if find_ptxas(find_chip(chip)) is None or next(tool_paths("nvdisasm"), None) is None:
        return "ptxas and nvdisasm: pip install 'mlopt[cuda]'"
    return None
