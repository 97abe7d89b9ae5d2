"""ldmatrix, stmatrix and movmatrix: matrices of 8 by 8 between shared memory and the lanes of a warp."""

from __future__ import annotations

import numpy as np
import pytest
from mlopt import emulator
from mlopt.test.python.emulator.snippets import kernel

RNG = np.random.default_rng(914)


def shared_matrices(body: str, results: int) -> np.ndarray:
    """Copies 32 rows of 16 bytes to shared memory; gives ``results`` registers of each lane, from %r10 on."""
    rows = np.arange(256, dtype=np.uint16)
    lines = "  mul.wide.u32 %rd20, %r0, 16;\n  add.s64 %rd20, %rd20, %rd1;\n  mov.u32 %r1, buffer;\n"
    lines += "  ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd20];\n  mad.lo.u32 %r7, %r0, 16, %r1;\n"
    lines += "  st.shared.v4.u32 [%r7], {%r2, %r3, %r4, %r5};\n  bar.sync 0;\n" + body
    lines += f"  mul.wide.u32 %rd20, %r0, {4 * results};\n  add.s64 %rd20, %rd20, %rd0;\n"
    lines += "".join(f"  st.global.u32 [%rd20+{4 * at}], %r{10 + at};\n" for at in range(results))
    found = np.zeros((32, results), np.uint32)
    emulator.load(kernel(lines, 2, 1024, target="sm_90")).launch("k", 1, 32, [found, rows])
    return found


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_ldmatrix(count: int, transposed: bool) -> None:
    names = ", ".join(f"%r{10 + at}" for at in range(count))
    trans = ".trans" if transposed else ""
    found = shared_matrices(
        f"  ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 {{{names}}}, [%r7];\n", count
    )
    for lane in range(32):
        for matrix in range(count):
            row, column = (lane % 4 * 2, lane // 4) if transposed else (lane // 4, lane % 4 * 2)
            other = (row + 1, column) if transposed else (row, column + 1)
            elements = [matrix * 64 + r * 8 + c for r, c in ((row, column), other)]
            assert found[lane, matrix] == elements[0] | elements[1] << 16


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_stmatrix(count: int, transposed: bool) -> None:
    """Lane l gives pieces 2 l and 2 l + 1 of each matrix; rows go to the addresses of lanes 8 m on."""
    names = ", ".join(f"%r{20 + at}" for at in range(count))
    trans = ".trans" if transposed else ""
    body = "".join(
        f"  mad.lo.u32 %r30, %r0, 2, {64 * at};\n  shl.b32 %r31, %r30, 16;\n"
        f"  add.u32 %r31, %r31, 65536;\n  or.b32 %r{20 + at}, %r30, %r31;\n"
        for at in range(count)
    )
    body += f"  stmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 [%r7], {{{names}}};\n  bar.sync 0;\n"
    body += "  ld.shared.v4.u32 {%r10, %r11, %r12, %r13}, [%r7];\n"
    rows = shared_matrices(body, 4).view(np.uint16)[: 8 * count].reshape(count, 8, 8)
    expected = np.arange(64 * count).reshape(count, 8, 8)
    np.testing.assert_array_equal(rows, expected.swapaxes(1, 2) if transposed else expected)


def test_stmatrix_and_movmatrix() -> None:
    body = (
        "  ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r20, %r21, %r22, %r23}, [%r7];\n  bar.sync 0;\n"
        "  stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%r7], {%r20, %r21, %r22, %r23};\n  bar.sync 0;\n"
        "  ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r24, %r25, %r26, %r27}, [%r7];\n"
        "  movmatrix.sync.aligned.m8n8.trans.b16 %r28, %r20;\n"
        "  sub.u32 %r10, %r24, %r20;\n  sub.u32 %r11, %r27, %r23;\n  mov.u32 %r12, %r28;\n"
    )
    found = shared_matrices(body, 3)
    assert not found[:, :2].any()
    lanes = np.arange(32)
    row, column = lanes // 4, lanes % 4 * 2
    np.testing.assert_array_equal(found[:, 2], (column * 8 + row) | ((column + 1) * 8 + row) << 16)
