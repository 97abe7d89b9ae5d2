"""Kernels that are planted to be bad miss the gate that is there for them."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import cast

import numpy as np
from mlopt import emulator
from mlopt.bench.gpu.amounts import small
from mlopt.bench.gpu.gates import FEW, MOST_AGAIN, SECTOR, Found, found_in, narrow_accesses
from mlopt.bench.gpu.named import named_sectors
from mlopt.bench.gpu.places import anywhere, places_of, single_accesses, smaller_shares
from mlopt.compiled import Compiled
from mlopt.gpu_report import GpuKernel, GpuReport
from mlopt.report import Report
from mlopt.runtime.cuda.chips import find_chip
from mlopt.runtime.cuda.occupancy import occupancy
from mlopt.runtime.cuda.ptxas import assemble, disassemble_cubin, find_ptxas
from mlopt.runtime.emulator.counters import Line

GOOD = Found(
    "op", "kernel", 32, 0, 1.0, 80, (4, 4), 0, (2, 2), math.inf, 1 << 20, 1 << 20, 1 << 20, 0, 1.0, True, 1.0
)  # fmt: skip


def test_a_row_that_is_read_three_times() -> None:
    """Written once, it asks for twice what must be moved, as norms with their weights do."""
    vars_ = {**vars(GOOD), "requested": 2 << 20, "again": 2.0}
    assert GOOD.misses == ()
    assert Found(**vars_).misses == ("requested",)
    assert Found(**{**vars_, "again": MOST_AGAIN}).misses == ()


def test_fewer_blocks_than_the_schedule_wants() -> None:
    assert Found(**{**vars(GOOD), "resident": False}).misses == ("residency",)


def test_warps_that_ask_for_a_sector_each() -> None:
    """Eight lanes have the data of a request: four times as many as whole warps would make."""
    text = "ld.global.nc.b32 %r1, [%rd1];"
    requests = 1000
    line = Line(
        0, text, "", "memory", 1, 8, bytes=SECTOR * requests, sectors=requests, requests=requests
    )  # fmt: skip
    least = SECTOR * requests
    assert narrow_accesses([line], {32}, least / FEW) == {("ld", 32)}  # parameters, say
    assert narrow_accesses([line], {32}, 2 * least) == set()


def test_a_kernel_that_adds_two_numbers_up() -> None:
    """Its lines ask for a sector each, once: there is nothing that wider ones would save."""
    line = Line(
        0, "ld.global.nc.v2.b32 {%r1, %r2}, [%rd1];", "", "memory", 1, 1, bytes=8, sectors=1, requests=1
    )
    least = 3 * SECTOR
    assert narrow_accesses([line], {32}, least) == {("ld", 64)}
    twice = replace(line, requests=2, sectors=2)
    assert narrow_accesses([twice], {32}, least) == set()


def _lines(*texts: str, **bytes_of: int) -> list[Line]:
    """Lines of a kernel, numbered from 0; those that access memory fill their sectors."""
    found = []
    for number, text in enumerate(texts):
        size = bytes_of.get(f"line{number}", 0)
        sectors, requests = size // SECTOR, size // 128
        found.append(
            Line(number, text, "", "", 1, 32, bytes=size, sectors=sectors, requests=requests, distinct=size)
        )
    return found


OWN = "mov.u32 %r1, %tid.x"
GATHER = (
    "ld.param.b64 %rd1, [k_param_0]",
    "ld.param.b64 %rd2, [k_param_1]",
    OWN,
    "mul.wide.u32 %rd3, %r1, 8",
    "add.s64 %rd4, %rd1, %rd3",
    "ld.global.nc.b64 %rd5, [%rd4]",
    "shl.b64 %rd6, %rd5, 2",
    "add.s64 %rd7, %rd2, %rd6",
    "ld.global.nc.b32 %r2, [%rd7]",
)
ONE_EACH = {"line5": 1024 * 8, "line8": 1024 * 4}


def test_an_element_for_each_place_may_lie_anywhere() -> None:
    places = places_of(_lines(*GATHER, **ONE_EACH))
    assert [each.buffers for each in places] == [{"k_param_0"}, {"k_param_1"}]
    assert [each.found for each in places] == [frozenset(), {5}]
    assert anywhere(places) == {8}


def test_a_lane_that_walks_along_a_row_knows_its_neighbours() -> None:
    """An embedding with a row a lane: 32 sectors a request, which wide accesses of a warp would not touch."""
    assert anywhere(places_of(_lines(*GATHER, **{**ONE_EACH, "line8": 768 * 1024 * 4}))) == set()


def test_a_row_that_all_lanes_read_is_no_scattered_element() -> None:
    block = [text.replace("%tid.x", "%ctaid.x") for text in GATHER]
    assert anywhere(places_of(_lines(*block, **ONE_EACH))) == set()
    known = [text.replace("%rd6, %rd5", "%rd6, %rd3") for text in GATHER]
    assert anywhere(places_of(_lines(*known, **ONE_EACH))) == set()


def test_a_thread_may_have_less_of_a_smaller_buffer() -> None:
    """Two pairs of numbers, 16 bytes, and 8 of their angles; but not twice 8 bytes instead of 16."""
    head = ("ld.param.b64 %rd1, [k_param_0]", "ld.param.b64 %rd2, [k_param_1]")
    wide = "ld.global.nc.v4.b32 {%r1, %r2, %r3, %r4}, [%rd1]"
    narrow = "ld.global.nc.v2.b32 {%r5, %r6}, [%rd2]"
    fine = _lines(*head, wide, narrow, line2=4096, line3=2048)
    assert smaller_shares(places_of(fine)) == {3}
    again = _lines(*head, wide, narrow, narrow.replace("]", "+8]"), line2=4096, line3=2048, line4=2048)
    as_many = _lines(*head, wide, narrow, line2=2048, line3=2048)
    alone = _lines(*head, narrow, line2=2048)
    gaps = [*fine[:3], replace(fine[3], sectors=128)]
    assert [smaller_shares(places_of(lines)) for lines in (again, as_many, alone, gaps)] == [set()] * 4


def test_a_thread_with_one_element_of_a_buffer() -> None:
    """In a small launch; not two halves of what one access could bring, and not once more in a loop."""
    head, narrow = "ld.param.b64 %rd1, [k_param_0]", "ld.global.nc.b64 %rd2, [%rd1]"
    once = _lines(head, narrow, line1=8192)
    twice = _lines(head, narrow, narrow.replace("]", "+8]"), line1=8192, line2=8192)
    assert single_accesses(places_of(once), threads=32) == {1}
    assert single_accesses(places_of(once), threads=16) == set()
    assert single_accesses(places_of(twice), threads=32) == set()


# Every other float of rows of 64, but of the first row; each tenth; two at once.
NAMED = """
func.func private @{name}(%x: memref<32x64xf32>, %out: memref<31x32xf32>) attributes {{mlopt.kernel}} {{
  %zero = arith.constant 0.0 : f32
  scf.forall (%i, %j) in ({rows}, {columns}) {{
    %row = affine.apply affine_map<(d0) -> (d0 + 1)>(%i)
    %at = affine.apply affine_map<(d0) -> (d0 * {step})>(%j)
    %v = vector.transfer_read %x[%row, %at], %zero {inside} : memref<32x64xf32>, {tile}
    vector.transfer_write %v, %out[%i, %j] {inside} : {tile}, memref<31x32xf32>
  }}
  return
}}
"""


def test_sectors_that_elements_lie_in() -> None:
    inside, one, two = "{in_bounds = [true, true]}", "vector<1x1xf32>", "vector<1x2xf32>"
    text = NAMED.format(name="halves", rows=31, columns=32, step=2, tile=one, inside=inside)
    text += NAMED.format(name="tenths", rows=3, columns=7, step=10, tile=one, inside=inside)
    text += NAMED.format(name="pairs", rows=31, columns=16, step=4, tile=two, inside=inside)
    halves, tenths = 31 * (256 + 128), 3 * SECTOR * (7 + 1)
    found = [named_sectors(text, name) for name in ("halves", "tenths", "pairs", "none")]
    assert found == [halves, tenths, 0, 0]


# A block of 128 threads copies 1024 floats by two wide loads a thread.
COPY = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry copy(.param .u64 copy_param_0, .param .u64 copy_param_1, .param .u32 zero)
.maxntid 128
.minnctapersm {blocks}
{{
  .reg .b32 %r<90>; .reg .b64 %rd<20>; .reg .pred %p<3>;
  .shared .align 16 .b8 tile[8192];
  ld.param.b64 %rd1, [copy_param_0];
  ld.param.b64 %rd2, [copy_param_1];
  ld.param.b32 %r1, [zero];
  mov.u32 %r2, %tid.x;
  mov.u32 %r3, %ctaid.x;
  shl.b32 %r4, %r3, 10;
  shl.b32 %r5, %r2, 2;
  add.u32 %r6, %r4, %r5;
  mul.wide.u32 %rd3, %r6, 4;
  add.s64 %rd4, %rd1, %rd3;
  add.s64 %rd5, %rd2, %rd3;
  ld.global.nc.v4.b32 {{%r10, %r11, %r12, %r13}}, [%rd4];
{between}
  ld.global.nc.v4.b32 {{%r14, %r15, %r16, %r17}}, [%rd4+{other}];
{after}
  st.global.v4.b32 [%rd5], {{%r10, %r11, %r12, %r13}};
  st.global.v4.b32 [%rd5+2048], {{%r14, %r15, %r16, %r17}};
  ret;
}}
"""
WAITS = "  and.b32 %r20, %r13, %r1; mul.wide.u32 %rd6, %r20, 4; add.s64 %rd4, %rd4, %rd6;"
# Lanes store words so many bytes apart, and read them again.
MEETS = """
  mov.u32 %r21, tile; and.b32 %r22, %r2, 31; mad.lo.u32 %r23, %r22, {step}, %r21;
  st.shared.b32 [%r23], %r10; bar.sync 0; ld.shared.b32 %r10, [%r23];
"""
# The second load is of the block 32 before.
FAR = """
  setp.lt.u32 %p1, %r3, 32; mov.b64 %rd7, -131072; selp.b64 %rd7, 0, %rd7, %p1; add.s64 %rd4, %rd4, %rd7;
"""
_BLOCKS = 64


def _measured(ptx: str, needed: int = 2 * _BLOCKS * 4096, floats: int = 1 << 16) -> Found:
    """A kernel as `gates.found_in` finds it, ``needed`` bytes of ``floats`` being what it is to move."""
    chip = find_chip("sm_80")
    ptxas = find_ptxas(chip)
    assert ptxas is not None
    assembled = assemble(ptx, chip, ptxas)
    code = assembled.kernels["copy"]
    fits = occupancy(chip.limits, 128, code.registers, code.shared)
    spills = code.spill_stores + code.spill_loads
    kernel = GpuKernel("copy", 128, (_BLOCKS, 1, 1), code.shared, code.registers, spills, fits)
    operands = "%a: memref<65536xf32>, %b: memref<65536xf32>"
    layouts = f"func.func private @copy({operands}) attributes {{mlopt.bytes = {needed}}}"
    wanted = re.search(r"\.minnctapersm (\d+)", ptx)
    assert wanted is not None
    threads = f"llvm.func @copy() attributes {{nvvm.minctasm = {wanted[1]} : i32}}"
    cubin = disassemble_cubin(assembled.cubin)
    asm = {"ptx": ptx, "threads": threads, "cubin": cubin, "layouts": layouts}
    compiled = cast(
        Compiled, SimpleNamespace(asm=asm, report=Report(gpu=GpuReport("sm_80", "", (kernel,), ())))
    )
    x, y = np.zeros(floats, np.float32), np.zeros(floats, np.float32)
    with emulator.record(trace=True) as launches:
        emulator.load(ptx).launch("copy", _BLOCKS, 128, [x, y, 0])
    (found,) = found_in("planted", compiled, launches, partial(small, chip="sm_80"))
    return found


def _copy(between: str = "", after: str = "", other: int = 2048, blocks: int = 8) -> str:
    return COPY.format(between=between, after=after, other=other, blocks=blocks)


def test_a_good_kernel_misses_nothing() -> None:
    assert _measured(_copy()).misses == ()
    assert _measured(_copy(after=MEETS.format(step=4))).misses == ()


def test_halves_of_sectors_of_which_no_more_is_needed() -> None:
    """Twice the sectors of a copy, half of each used: a miss only if less is needed, or halves come apart."""
    apart = _copy(other=4096).replace("+2048", "+4096").replace("%r6, 4", "%r6, 8")
    needed = 2 * _BLOCKS * 4096
    found = _measured(apart, needed, 1 << 17)
    assert (found.least, found.sectors, found.misses) == (2 * needed, 1.0, ())
    assert _measured(apart, needed - 1, 1 << 17).misses == ("bytes",)
    halves = apart.replace("+4096", "+16")
    assert "sectors" in _measured(halves, 4 * needed, 1 << 17).misses


def test_warps_that_begin_within_a_sector() -> None:
    """17 sectors instead of 16 are right where the next ones begin elsewhere, as rows do, and else a miss."""
    shifted = "  {which} and.b32 %r24, %r24, 16; cvt.u64.u32 %rd8, %r24; add.s64 %rd4, %rd4, %rd8;\n"
    load, floats = "  ld.global.nc.v4.b32 {%r10", (1 << 16) + 4
    rows = _copy().replace(load, shifted.format(which="shl.b32 %r24, %r3, 4;") + load)
    assert _measured(rows, floats=floats).misses == ()
    all_alike = _copy().replace(load, shifted.format(which="mov.b32 %r24, 16;") + load)
    assert _measured(all_alike, floats=floats).misses == ("sectors",)


def test_a_load_that_waits_for_another_of_its_tile() -> None:
    found = _measured(_copy(between=WAITS))
    assert (found.late, found.misses) == (1, ("first",))


def test_a_load_that_is_not_of_constant_memory() -> None:
    found = _measured(_copy().replace("ld.global.nc.v4.b32 {%r14", "ld.global.v4.b32 {%r14"))
    assert (found.nc, found.misses) == ((1, 2), ("nc",))


def test_lanes_that_meet_in_a_bank() -> None:
    found = _measured(_copy(after=MEETS.format(step=128)))
    assert found.misses == ("banks",)
    assert found.conflicts == _BLOCKS * 4 * 2 * 31


def test_a_kernel_that_moves_more_than_is_needed() -> None:
    """Of what it reads half is somebody else's."""
    assert _measured(_copy(), needed=_BLOCKS * 4096 * 3 // 2).misses == ("bytes",)


def test_memory_that_is_read_again_when_the_cache_has_lost_it() -> None:
    """Each block reads its part, and the part of the one 32 blocks before, which ran two waves ago."""
    assert "bytes" in _measured(_copy(between=FAR, other=0)).misses


def test_registers_that_run_out() -> None:
    """A thread of a full multiprocessor has 32, and 56 values that it needs twice."""
    names = [f"%r{number}" for number in range(30, 86)]
    places = range(0, 56, 4)
    loads = [f"ld.global.nc.v4.b32 {{{', '.join(names[at : at + 4])}}}, [%rd4+{32 * at}];" for at in places]
    sums = [f"add.u32 %r10, %r10, {name};" for name in names]
    products = [f"mul.lo.u32 %r11, %r11, {name};" for name in reversed(names)]
    found = _measured(_copy(after="\n".join([*loads, *sums, "bar.sync 0;", *products]), blocks=16))
    assert found.spills > 0
    assert "spills" in found.misses
