"""The table of kernels beside Triton's: what it says is above has its reason, and how code is counted."""

from __future__ import annotations

import pytest
from mlopt.bench.gpu.against_triton import MOST, OVER, RESULTS, Kernel, Row, operation_of, surprises
from mlopt.bench.gpu.machine_code import parse

STRAIGHT = """
    .section .text.k,"ax",@progbits
        /*0000*/                   LDG.E.128.CONSTANT R4, [R2.64] ;
        /*0010*/                   LDG.E.128.CONSTANT R8, [R2.64+0x10] ;
        /*0020*/                   STG.E.128 [R2.64], R4 ;
        /*0030*/                   EXIT ;
.L_x_0:
        /*0040*/                   BRA `(.L_x_0) ;
        /*0050*/                   NOP ;
"""


def test_what_the_table_has_above_has_a_reason() -> None:
    lines = [line.strip("| \n").split(" | ") for line in RESULTS.read_text().splitlines() if line[:2] == "| "]
    rows = {cells[0]: (float(cells[5]), float(cells[8])) for cells in lines[2:]}
    assert all(operation_of(name).name in name for name in rows)
    assert {"embedding f32", "embedding f32, unchecked", "gather f32", "gather f32, unchecked"} <= set(rows)
    assert sum("attention" in name for name in rows) == 4
    above = {(name, "instructions") for name, (ratio, _) in rows.items() if ratio > MOST}
    above |= {(name, "registers") for name, (_, ratio) in rows.items() if ratio > MOST}
    assert above == set(OVER)


def test_elements_of_a_thread() -> None:
    code = parse(STRAIGHT)["k"]
    assert not code.has_loop()
    assert Kernel.of(code, 20, threads=64, elements=1024, size=4) == Kernel(5, 20, 16)
    loop = parse(STRAIGHT.replace(".L_x_0:\n", "").replace("progbits\n", "progbits\n.L_x_0:\n"))["k"]
    assert loop.has_loop()
    assert Kernel.of(loop, 20, threads=64, elements=1024, size=4).share == 8
    assert Kernel.of(loop, 20, threads=64, elements=1024, size=4, passes=2).share == 4


def test_products_of_a_loop() -> None:
    lines = STRAIGHT.splitlines()
    product = "        /*0030*/                   HMMA.16816.F32.BF16 R4, R8, R12, R4 ;"
    back = "        /*0038*/               @P0 BRA `(.L_x_{0}) ;"
    short = [".L_x_7:", product, product, back.format(7)]
    code = parse(
        "\n".join([*lines[:2], ".L_x_6:", *lines[2:4], product, back.format(6), *short, *lines[4:]])
    )["k"]
    assert Kernel.of(code, 20, threads=64, elements=1024, size=2) == Kernel(3, 20, 2)


def test_registers_cost_what_is_handed_out() -> None:
    row = Row("softmax_1024 f32", (Kernel(60, 41, 8), Kernel(10, 9, 8)), (Kernel(140, 24, 16),))
    assert row.ratios == {"instructions": 1.0, "registers": pytest.approx(48 / 32)}
    assert surprises([row]) == ["softmax_1024 f32: more registers than Triton plus 5 %"]
