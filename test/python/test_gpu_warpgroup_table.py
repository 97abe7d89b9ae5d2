"""The table of products for Hopper: what misses a gate has its reason, and how code is counted."""

from __future__ import annotations

from mlopt.bench.gpu.machine_code import parse
from mlopt.bench.gpu.product_problems import HOPPER_PROBLEMS, Problem, told
from mlopt.bench.gpu.to_ptx import ToPtx
from mlopt.bench.gpu.warpgroups import (
    CHIP,
    MISSED,
    RESULTS,
    Facts,
    Row,
    compile_ours,
    has_maps,
    surprises,
)
from mlopt.runtime.cuda.chips import find_chip

CODE = """
    .section .text.k,"ax",@progbits
        /*0000*/                   UTMALDG.2D [UR4], [UR8] ;
.L_x_0:
        /*0010*/                   HGMMA.64x256x16.F32.BF16 R24, gdesc[UR12].tnspB, R24 ;
        /*0020*/                   HGMMA.64x256x16.F32.BF16 R24, gdesc[UR12].tnspB, R24, gsb0 ;
        /*0030*/              @!P0 BRA `(.L_x_0) ;
        /*0040*/                   STSM.16.M88.4 [R6], R28 ;
        /*0050*/                   EXIT ;
        /*0060*/                   NOP ;
"""
GELU = Problem(4096, 4096, 4096, epilogue="gelu")
QUICK = ToPtx(0.2, 2)


def _rows() -> dict[str, list[str]]:
    lines = [line.strip("| \n").split(" | ") for line in RESULTS.read_text().splitlines() if line[:2] == "| "]
    return {cells[0]: cells for cells in lines[1:] if not cells[0].startswith("---")}


def _facts(cells: list[str], spills: str) -> Facts:
    """From registers, spills, warnings, shared memory, columns, boxes, the loop and instructions."""
    loop, multiplies = cells[6].rstrip(")").split(" (")
    boxes = tuple(cells[5].split(", "))
    numbers = [int(each) for each in (cells[0], spills, *cells[2:5])]
    return Facts(*numbers, boxes, int(loop), int(multiplies), int(cells[7]))


def test_what_misses_a_gate_has_a_reason() -> None:
    """`bench/results/gpu_warpgroups.md`, as `python -m mlopt.bench.gpu.warpgroups --save` has written it."""
    rows, found = _rows(), set[tuple[str, str]]()
    assert list(rows) == [problem.name for problem in HOPPER_PROBLEMS]
    for problem in HOPPER_PROBLEMS:
        cells = rows[problem.name]
        own, twin = cells[3].split(", ")
        facts = _facts(cells[2:10], own)
        found |= {
            (problem.name, gate) for gate in Row(problem, cells[1], facts, int(twin), QUICK, facts).misses
        }
        assert told(problem, cells[1])["rows"] > 0  # Triton's has this block
    assert found == set(MISSED)
    assert all(f"- {name}, {gate}: {MISSED[name, gate]}" in RESULTS.read_text() for name, gate in MISSED)


def test_a_row_is_made_again() -> None:
    """Whose functions of the sums spill in the registers that the sums alone leave."""
    block, facts, twin, to_ptx = compile_ours(GELU, find_chip(CHIP))
    cells = _rows()[GELU.name]
    assert [block, f"{facts.spills}, {twin}"] == [cells[1], cells[3]] and not facts.spills
    assert facts == _facts(cells[2:10], cells[3].split(", ")[0])
    assert cells[10].endswith(f" ({to_ptx.kernels})") and to_ptx.kernels == 2


def test_what_is_counted() -> None:
    facts = Facts.of(parse(CODE)["k"], 168, 0, 0, 1000)
    assert facts == Facts(168, 0, 0, 1000, 256, ("UTMALDG", "STSM"), 3, 2, 6)
    assert facts.misses(GELU) == []
    bad = Facts(168, 8, 1, 1000, 64, (), 3, 2, 6)
    assert bad.misses(GELU) == ["spills", "warnings", "columns", "boxes"]
    assert bad.misses(Problem(16, 4096, 4096)) == ["spills", "warnings"]  # too few rows for warpgroups


def test_surprises() -> None:
    good, bad = (Facts(168, spills, 0, 1000, 256, ("UTMALDG",), 3, 2, 6) for spills in (0, 8))
    assert surprises([Row(GELU, "", good, 0, QUICK, bad)]) == []
    assert surprises([Row(GELU, "", bad, 16, QUICK, good)]) == [
        f"{GELU.name} misses a gate: spills",
        f"{GELU.name} misses a gate: the twin's spills",
    ]
    names = {problem.name: problem for problem in HOPPER_PROBLEMS}
    name, gate = next(iter(MISSED))
    assert f"{name} holds the gate now: {gate}" in surprises([Row(names[name], "", good, 0, QUICK, good)])


def test_tensor_maps() -> None:
    """Rows of 16 bytes' multiples: of the factors as they lie in memory, and of the result."""
    assert has_maps(Problem(4095, 4096, 4088)) and has_maps(Problem(100, 16, 32, "e4m3", right=True))
    assert not has_maps(Problem(4095, 4097, 4093))
    assert not has_maps(Problem(4095, 4096, 4096, left=True))
