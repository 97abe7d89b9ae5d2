"""What the emulator does not know exactly it does not run: modifiers, types, forms."""

from __future__ import annotations

import numpy as np
import pytest
from mlopt import emulator
from mlopt.runtime.emulator import arity, modifiers, registry
from mlopt.test.python.emulator.snippets import kernel, run

REFUSED = [
    ("add.sat.frob.s32 %r1, %r1, %r1", "frob"),
    ("add.sat.u32 %r1, %r1, %r1", "sat"),
    ("add.rz.f16 %h1, %h1, %h1", "rz"),
    ("ld.global.frob.u32 %r1, [%rd0]", "frob"),
    ("red.async.relaxed.cluster.global.add.u32 [%rd0], %r1, [buffer]", "global"),
    ("multimem.red.global.add.u32 [%rd0], %r1", "multimem"),
    ("atom.shared.v2.f32.add {%f1, %f1}, [buffer], {%f1, %f1}", "vectors"),
    ("red.global.add.v2.u32 [%rd0], {%r1, %r1}", "vectors"),
    ("tensormap.replace.tile.swizzle_atomicity.global.b1024.b32 [%rd0], 1", "swizzle_atomicity"),
    ("atom.global.frob.u32 %r1, [%rd0], 1", "with .frob"),
    ("shfl.sync.frob.b32 %r1, %r1, 1, 31, -1", "with .frob"),
    ("setp.frob.s32 %p1, %r1, %r1", "with .frob"),
    ("cvt.rs.f16x2.f32 %r1, %f1, %f1, %r1", "rs"),
    ("cvt.rn.s32.f32 %r1, %f1", "integer rounding"),
    ("cvt.rz.satfinite.ue8m0x2.f32 %h1, %f1, %f1", "ue8m0x2, which sm_100 has"),
    ("cvt.rn.bf16x2.ue8m0x2 %r1, %h1", "ue8m0x2, which sm_100 has"),
    ("cvt.rn.satfinite.e2m3x2.f32 %h1, %f1, %f1", "e2m3x2, which sm_100 has"),
    ("cvt.rn.f16x2.e3m2x2 %r1, %h1", "e3m2x2, which sm_100 has"),
    ("cvt.rn.satfinite.e2m1x2.f32 %b1, %f1, %f1", "e2m1x2, which sm_100 has"),
    ("cvt.rn.f32 %f1, %f1", "two types"),
    ("fma.rn.f32 %f1, %f1, %f1", "3 operands of 4"),
    ("add.f32 %f1, %f1, %f1, %f1", "4 operands of 3"),
    ("mov.u32 %r1", "1 operands of 2"),
    ("red.global.add.u32 [%rd0]", "1 operands of 2 or 3"),
    ("atom.global.add.u32 %r1, %rd0, 1", "an operand of another kind"),
    ("atom.global.cas.b32 %r1, [%rd0], %r1", "without what it exchanges for"),
    ("cvt.rn.bf16x2.f32 %r1, !%p1, %f1", "negated operand of f32"),
    ("dp4a.s32 %r1, %r1, %r1, %r1", "an operand of another kind"),
    ("red.global.min.f32 [%rd0], %f1", "min of f32"),
    ("cp.reduce.async.bulk.global.shared::cta.bulk_group.max.f64 [%rd0], [buffer], 16", "max of f64"),
    ("stmatrix.sync.aligned.m8n8.x2.shared.b16 [buffer], {%r1}", "1 registers for 2 matrices"),
    ("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1, %r2}, [buffer]", "2 registers for 1 matrices"),
    ("tensormap.replace.tile.global.b1024.b32 [%rd0], 16", "lacks a modifier"),
    ("mbarrier.arrive.expect_tx.shared::cta.b64 _, [buffer]", "without a count"),
    ("mbarrier.arrive_drop.expect_tx.shared::cta.b64 _, [buffer]", "without a count"),
    ("mbarrier.arrive.noComplete.shared::cta.b64 %rd3, [buffer]", "without a count"),
    (
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.f32 [%rd0], [buffer], 16",
        "add of f32 with .noftz",
    ),
    (
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f16 [%rd0], [buffer], 16",
        "add of f16 without .noftz",
    ),
    ("cvt.rn.satfinite.e4m3x2.f32 %r1, %f1, %f1", "a register of 32 bits, as .e4m3x2"),
    ("cvt.rn.f16x2.e4m3x2 %r1, %r2", "a register of 32 bits, as .u16"),
    ("cvt.rn.bf16.f32 %r1, %f1", "a register of 32 bits, as .bf16"),
    ("st.global.u32 [%rd0], %h1", "a register of 16 bits"),
    ("ld.global.u32 %p1, [%rd0]", "a register of 1 bits, as .u32"),
    ("add.u32 %r1, %rd1, %r1", "a register of 64 bits, as .u32"),
    ("setp.eq.u32 %r1, %r1, 0", "a register of 32 bits, as .pred"),
    ("@%r1 mov.u32 %r2, 0", "a register of 32 bits, as .pred"),
    ("mbarrier.try_wait.parity.shared::cta.b64 %p1, [buffer], %rd0", "a register of 64 bits, as .u32"),
    (
        "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes"
        " [buffer], [%rd0, {%rd1}], [buffer]",
        "a register of 64 bits, as .s32",
    ),
    (
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f2, %f3, %f4, %f5}, %rd1, %r1, 0, 1, 1, 0, 0",
        "a register of 32 bits, as .b64",
    ),
    ("mapa.u32 %r1, %r1, 0", "generic addresses have 64 bits"),
    ("getctarank.u32 %r1, %r1", "generic addresses have 64 bits"),
    ("mov.u32 %r1, %reserved_smem_offset_begin", "'%reserved_smem_offset_begin' is neither declared"),
    ("mov.u32 %r1, %r99", "'%r99' is neither declared"),
    ("sin.approx.f16 %h1, %h1", "f16"),
    ("div.approx.f64 %fd1, %fd1, %fd1", "approx"),
    ("fma.rn.f32.f16 %f1, %h1, %h1, %f1", "f32"),
    ("bar.frob 0", "frob"),
    ("membar.frob", "frob"),
    ("fence.frob", "frob"),
    ("fence.proxy.tensormap::generic.acquire.gpu [%rd0], 64", "128 bytes"),
    ("fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster", "async::generic"),
    (
        "mma.sync.aligned.m16n8k8.col.row.f32.f16.f16.f32"
        " {%f2, %f3, %f4, %f5}, {%r1, %r1}, {%r1}, {%f1, %f1, %f1, %f1}",
        "col.row",
    ),
]


@pytest.mark.parametrize(("line", "named"), REFUSED, ids=[line.split()[0] for line, _ in REFUSED])
def test_what_it_does_not_know_is_refused(line: str, named: str) -> None:
    body = f"  mov.u32 %r1, 1;\n  mov.f32 %f1, 0f3F800000;\n  {line};\n"
    with pytest.raises(emulator.UnsupportedInstructionError) as caught:
        run(kernel(body, 1, 64), [np.zeros(64, np.uint32)])
    assert named in str(caught.value) and "PTX line" in str(caught.value) and "9.7." in str(caught.value)


@pytest.mark.parametrize(
    "line",
    [
        "cvt.rn.f16x2.f32 %rd2, %f1, %f1",
        "cvt.rn.f16.f32 %r2, %f1",
        "st.global.u8 [%rd0], %rd0",
        "ld.global.b16 %rd2, [%rd0]",
    ],
)
def test_registers_that_are_wider(line: str) -> None:
    body = f"  mov.f32 %f1, 0f3F800000;\n  {line};\n"
    assert run(kernel(body, 1), [np.zeros(64, np.uint32)]).findings == []


@pytest.mark.parametrize(
    "line",
    [
        "membar.gl",
        "fence.sc.cta",
        "fence.acq_rel.gpu",
        "fence.proxy.alias",
        "fence.proxy.async",
        "fence.proxy.tensormap::generic.release.gpu",
        "fence.acquire.sync_restrict::shared::cluster.cluster",
    ],
)
def test_fences_that_it_knows(line: str) -> None:
    assert run(kernel(f"  {line};\n", 1), [np.zeros(1, np.uint32)]).findings == []


@pytest.mark.parametrize(
    ("line", "section"),
    [
        ("add.frob.s32 %r1, %r1, %r1", "9.7.1 Integer Arithmetic"),
        ("add.frob.f32 %f1, %f1, %f1", "9.7.3 Floating-Point: add"),
        ("fma.rn.frob.bf16x2 %r1, %r1, %r1, %r1", "9.7.4 Half Precision Floating-Point: fma"),
        ("add.rn.f32.f16 %f1, %h1, %f1", "9.7.5 Mixed Precision Floating-Point: add"),
        ("setp.lt.frob.f32 %p1, %f1, %f1", "9.7.6 Comparison and Selection: setp"),
        ("setp.lt.frob.f16 %p1, %h1, %h1", "9.7.7 Half Precision Comparison: setp"),
        ("cp.async.frob.ca.shared.global [buffer], [%rd0], 4", "9.7.9.25 Data Movement and Conversion"),
        ("cvt.rn.frob.f16.f32 %h1, %f1", "9.7.9 Data Movement and Conversion: cvt"),
        ("red.async.global.add.u32 [%rd0], 1", "9.7.13 Parallel Synchronization and Communication"),
    ],
)
def test_the_section_is_that_of_the_types(line: str, section: str) -> None:
    with pytest.raises(emulator.UnsupportedInstructionError) as caught:
        run(kernel(f"  {line};\n", 1, 64), [np.zeros(64, np.uint32)])
    assert f"PTX ISA 9.0, section {section}" in str(caught.value)


def test_every_instruction_has_its_forms() -> None:
    assert set(registry.ENTRIES) == set(modifiers.FORMS) == set(arity.COUNTS)


@pytest.mark.parametrize(
    ("offset", "kind"),
    [(8, "out-of-bounds"), (-8, "out-of-bounds"), (64, "out-of-bounds"), (12, "misaligned")],
)
def test_a_parameter_beyond_its_end(offset: int, kind: str) -> None:
    text = kernel(f"  ld.param.u64 %rd3, [more+{offset}];\n", 1)
    text = text.replace("k_param_0)", "k_param_0, .param .align 8 .b8 more[24])", 1)
    if kind == "out-of-bounds":
        text = text.replace("more[24]", "more[8]")
    size = 8 if kind == "out-of-bounds" else 24
    report = emulator.load(text).launch("k", 1, 32, [np.zeros(1, np.uint32), bytes(size)], check=False)
    assert [finding.kind for finding in report.findings] == [kind]
    assert report.findings[0].line and "more" in report.findings[0].detail


def test_what_no_family_defines_is_named() -> None:
    for line, section in (
        ("wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%f0}, %rd0, %rd1, %r1, 0, 1;", "9.7.15"),
        ("tex.1d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [%rd0, {%r1}];", "9.7.10"),
        ("vadd4.u32.u32.u32 %r1, %r2, %r3, %r4;", "9.7.18"),
        ("frobnicate.u32 %r1, %r2;", "not an instruction of the PTX ISA"),
        ("mma.sync.aligned.m16n8k24.row.col.f32.f16.f16.f32 {%f0}, {%r1}, {%r1}, {%f0};", "9.7.14"),
    ):
        with pytest.raises(emulator.UnsupportedInstructionError) as caught:
            run(kernel("  " + line + "\n"), [np.zeros(1, np.uint32)] * 2)
        assert section in str(caught.value) and "PTX line" in str(caught.value)


def test_text_that_is_no_ptx() -> None:
    for text, message in (
        (".version 8.0\n.target sm_80\n.entry k() { add.u32 %r1 %r2; }", "expected ','"),
        (".version 8.0\nhello", "is not a directive"),
        (".version 8.0\n.address_size 32", "32 bits"),
        (".version 8.0\n.visible .entry k() {", "ends too early"),
    ):
        with pytest.raises(emulator.EmulatorError, match=message):
            emulator.load(text)
