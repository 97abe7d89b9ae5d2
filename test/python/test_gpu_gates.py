"""Gates of memory-bound GPU kernels: what misses one stands in bench/gpu/known.py, with the reason."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
import torch
from mlopt.bench.gpu.__main__ import CHIP, results_of
from mlopt.bench.gpu.gates import GATES, element_bits, narrow_accesses
from mlopt.bench.gpu.known import MISSES
from mlopt.bench.gpu.machine_code import parse
from mlopt.bench.gpu.measured import all_rows, measure
from mlopt.bench.gpu.modules import PRODUCTS, SAME, SIZED
from mlopt.bench.gpu.operations import OPERATIONS, Operation
from mlopt.bench.gpu.table import stale, surprises, table
from mlopt.bench.gpu.timed import TIMED
from mlopt.runtime.cache_key import code_version
from mlopt.runtime.emulator.counters import Line
from mlopt.test.corpus import CASES
from mlopt.test.corpus.basic import Function
from mlopt.test.corpus.cases import Case, randn

# Of the benchmark's rows a few, others when mlopt is changed.
TIMED_ROWS = sorted(all_rows().keys() & TIMED.keys())
SOME = Random(code_version()).sample(TIMED_ROWS, 3)
MEASURED = "measured"

LISTING = """
    .section .text.sum,"ax",@progbits
        /*0000*/                   LDG.E.128.CONSTANT R4, [R2.64] ;
.L_x_0:
        /*0010*/                   LDG.E.128.CONSTANT R8, [R2.64+0x10] ;
        /*0020*/                   FADD R12, R7, R8 ;
        /*0030*/              @!P0 LDG.E.128 R16, [R2.64+0x20] ;
        /*0040*/              @P1 BRA `(.L_x_0) ;
        /*0050*/                   STG.E.64 [R2.64], R12 ;
        /*0060*/                   EXIT ;
"""


@pytest.mark.parametrize("name", OPERATIONS)
def test_gates_hold_or_the_reason_is_known(name: str) -> None:
    found = measure(OPERATIONS[name], "sm_80")
    assert surprises(name, found) == []
    assert stale(name, found, results_of(CHIP).read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("name", SIZED)
def test_gates_of_the_corpus_hold_or_the_reason_is_known(name: str) -> None:
    found = all_rows()[name]("sm_80")
    assert surprises(name, found) == []
    assert stale(name, found, results_of(CHIP).read_text(encoding="utf-8")) == []


def test_every_module_of_the_corpus_has_gates() -> None:
    """Of large sizes, or the same kernels as another row, or products alone (test_corpus_cuda.py)."""
    sized = [operation.case.name for operation in SIZED.values()]
    assert sorted([*sized, *SAME, *PRODUCTS]) == sorted(CASES)
    assert set(SAME.values()) <= all_rows().keys()


@pytest.mark.parametrize("name", SOME)
def test_gates_of_the_benchmark_hold_or_the_reason_is_known(name: str) -> None:
    found = all_rows()[name]("sm_80")
    assert surprises(name, found) == []
    assert stale(name, found, results_of(CHIP).read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("chip", ["sm_80", "sm_90a"])
def test_the_tables_have_all_rows(chip: str) -> None:
    """Each as the emulator ran it, and nothing that `known` does not name is missed."""
    text = results_of(chip).read_text(encoding="utf-8")
    missed = {name: set[str]() for name in all_rows()}
    for row in (line.strip("| \n").split(" | ") for line in text.splitlines()):
        if row[0] in missed and len(row) > 1:
            missed[row[0]] |= {gate for gate in row[-1].split(", ") if gate != "-"} | {MEASURED}
    assert all(MEASURED in gates for gates in missed.values())
    for name, gates in missed.items():
        assert gates - {MEASURED} == set(MISSES.get(name, {})), name


@pytest.mark.parametrize(
    "name",
    [
        "relu_scale bf16", "layer_norm_1024 f32", "transpose f32", "gather f32", "softmax_inner, bf16",
        "batch_norm, bf16", "scatter, f32", "swiglu-bf16",
    ],
)  # fmt: skip
def test_gates_of_another_chip_hold(name: str) -> None:
    found = all_rows()[name]("sm_90a")
    assert surprises(name, found) == []
    assert stale(name, found, results_of("sm_90a").read_text(encoding="utf-8")) == []


def test_reasons_are_of_operations_and_gates_that_there_are() -> None:
    assert set(MISSES) <= set(all_rows())
    assert all(set(gates) <= set(GATES) and all(gates.values()) for gates in MISSES.values())


def test_loads_are_late_after_a_use_in_the_same_loop() -> None:
    code = parse(LISTING)["sum"]
    assert [each.bits for each in code.named("LDG", "STG")] == [128, 128, 128, 64]
    assert code.late_loads() == 1
    assert parse(LISTING.replace("@P1 BRA `(.L_x_0)", "NOP"))["sum"].late_loads() == 1
    assert parse(LISTING.replace("FADD R12, R7, R8", "FADD R12, R0, R1"))["sum"].late_loads() == 0


TWO_TILES = """
    .section .text.norm,"ax",@progbits
        /*0000*/                   S2R R0, SR_CTAID.X ;
        /*0010*/                   IMAD.WIDE.U32 R2, R0, R1, c[0x0][0x160] ;
        /*0020*/                   IMAD.WIDE.U32 R20, R0, R1, c[0x0][0x168] ;
        /*0030*/                   LDG.E.128.CONSTANT R4, desc[UR4][R2.64] ;
        /*0040*/                   FADD R12, R7, R8 ;
        /*0048*/                   LDG.E.128.CONSTANT R24, desc[UR4][R20.64] ;
        /*0050*/                   SHFL.BFLY PT, R13, R12, 0x1, 0x1f ;
        /*0060*/                   FADD R12, R24, R13 ;
        /*0070*/                   EXIT ;
"""


def test_another_tile_may_be_on_its_way_during_an_exchange() -> None:
    assert parse(TWO_TILES)["norm"].late_loads() == 0
    assert parse(TWO_TILES.replace("SHFL.BFLY PT,", "FADD"))["norm"].late_loads() == 1
    assert parse(TWO_TILES.replace("[R20.64]", "[R2.64+0x10]"))["norm"].late_loads() == 1
    moved = TWO_TILES.replace("IMAD.WIDE.U32 R20, R0, R1, c[0x0][0x168]", "IADD3 R20, P0, R2, 0x10, RZ")
    assert parse(moved)["norm"].late_loads() == 1


def test_what_all_blocks_load_comes_from_a_cache() -> None:
    waits = TWO_TILES.replace("SHFL.BFLY PT,", "FADD")
    alike = waits.replace("R20, R0, R1, c", "R20, R9, R1, c")
    assert parse(alike)["norm"].late_loads() == 0
    assert parse(alike.replace("[R20.64]", "[R2.64+0x10]"))["norm"].late_loads() == 1
    found = alike.replace("FADD R12, R7, R8", "IMAD.WIDE.U32 R20, R7, R1, c[0x0][0x168]")
    assert parse(found)["norm"].late_loads() == 1


SINE = """
	.section	.text.sine,"ax",@progbits
        /*0000*/                   IADD3 R22, P0, R24, c[0x4][0x0], RZ ;
        /*0010*/                   IADD3.X R23, R26, c[0x4][0x4], RZ, P0, !PT ;
        /*0020*/                   LDG.E.CONSTANT R22, [R22.64] ;
        /*0030*/                   LDG.E.CONSTANT R4, [R22.64] ;
        /*0040*/                   IMAD.WIDE.U32 R22, R0, R1, c[0x0][0x160] ;
        /*0050*/                   LDG.E.CONSTANT R5, [R22.64] ;
"""


def test_loads_of_tables_come_from_symbols_of_the_code() -> None:
    loads = parse(SINE)["sine"].table_loads()
    assert [each.writes for each in loads] == [22]


def _line(text: str, lanes: int, bits: int, sectors: int) -> Line:
    size = lanes * bits // 8
    return Line(0, text, "", "memory", 1, lanes, bytes=size, sectors=sectors, requests=1, distinct=size)


def test_accesses_may_be_narrow_for_a_reason() -> None:
    eighth, quarter = "ld.global.nc.b16 %rs1, [%rd1];", "ld.global.nc.b32 %r1, [%rd1];"
    assert narrow_accesses([_line(eighth, 32, 16, 2)], {8, 64}) == {("ld", 16)}
    assert narrow_accesses([_line(eighth, 32, 16, 2)], {8, 32}) == set()
    assert narrow_accesses([_line(quarter, 32, 32, 4)], {8, 32}) == {("ld", 32)}
    assert narrow_accesses([_line(quarter, 32, 32, 5)], {8, 32}) == set()
    assert narrow_accesses([_line(quarter, 32, 32, 4)], {32}) == set()
    one = _line("st.global.v2.b32 [%rd1], {%r1, %r2};", 1, 64, 1)
    copies = replace(_line(quarter, 32, 32, 4), distinct=64)  # two lanes each: half of the sectors
    assert narrow_accesses([copies], {8, 32}) == set()
    assert narrow_accesses([one], {32}) == {("st", 64)}
    assert narrow_accesses([one, _line(one.text, 32, 64, 8)], {32}) == set()


def test_copies_on_the_device_are_measured() -> None:
    function = Function(lambda x: torch.slice_scatter(x, x[:2].sum(0, keepdim=True).exp(), 0, 3, 4))
    case = Case("row", lambda: function, randn((64, 128)))
    found = measure(Operation("row f32", case, torch.float32), "sm_80")
    (copy,) = (each for each in found if each.kernel == f"copy_{64 * 128}xf32")
    assert copy.least == 2 * 64 * 128 * 4 and len(found) > 1


def test_bits_of_buffers() -> None:
    operands = "%a: memref<4x?xindex>, %b: memref<f64>, %n: index, %c: memref<16xi1, strided<[1], offset: ?>>"
    assert element_bits(operands) == {8, 64}
    assert element_bits("%a: memref<64xbf16>, %b: memref<64xi32>, %c: memref<i64>") == {16, 32}
    assert element_bits("%a: memref<2x3xcomplex<f32>>, %b: memref<16xf8E4M3FN>") == {8, 32}


def test_more_than_is_needed_is_missed() -> None:
    (found,) = measure(OPERATIONS["relu_scale f32"], "sm_80")
    assert found.least <= found.needed <= 1.02 * found.least
    assert "bytes" not in found.misses
    assert "bytes" in replace(found, needed=0.9 * found.needed).misses
    (dynamic,) = measure(OPERATIONS["relu_scale of any size"], "sm_80")
    assert dynamic.needed == float("inf")
    # What is left of a size is moved one by one; of a multiple of four elements nothing is.
    assert dynamic.wide[0] == dynamic.wide[1]


def test_the_table_names_what_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "interleaved_rotary f32"
    (good,) = measure(OPERATIONS[name], "sm_80")
    assert surprises(name, [good]) == []
    found = [replace(good, conflicts=2)]
    monkeypatch.setitem(MISSES, name, {"banks": "two lanes meet"})
    text = table({name: found}, "sm_80", {})
    assert "0 of 1 kernels hold all gates." in text
    assert f"- {name}, banks: two lanes meet" in text
    assert stale(name, found, text) == []
    assert stale(name, [replace(found[0], registers=255)], text) != []
    assert stale(name, [replace(found[0], instructions=found[0].instructions + 8)], text) != []
    assert stale(name, found[1:], text) != []
    assert surprises("relu_scale f32", found) == ["relu_scale f32: misses 'banks'"]
    assert surprises(name, [good]) == [f"{name}: holds 'banks' now; take it out of known.py"]
