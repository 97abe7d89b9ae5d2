"""Planted faults: each is found, and its fixed twin is clean."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from mlopt import emulator
from mlopt.runtime.emulator.machine import SCHEDULES
from mlopt.test.python.emulator.snippets import kernel, kinds, run


def planted() -> dict[str, tuple[str, str, str, int, int, int]]:
    """The faults in the files: kind, faulty lines, fixed lines, threads, bytes of shared memory, blocks."""
    found = {}
    for path in sorted(Path(__file__).parent.glob("faults*.txt")):
        before, *sections = path.read_text().split("\n== ")
        start = "".join(line + "\n" for line in before.splitlines() if not line.startswith("#"))
        for section in sections:
            header, _, body = section.partition("\n")
            name, kind, threads, shared, *blocks = (part.strip() for part in header.split("|"))
            faulty, _, fixed = body.partition("-- fixed\n")
            sizes = int(threads), int(shared), int(blocks[0]) if blocks else 0
            found[name] = (kind, start + faulty, start + fixed, *sizes)
    return found


FAULTS = planted()


@pytest.mark.parametrize("name", FAULTS)
def test_the_fault_is_found_and_its_twin_is_clean(name: str) -> None:
    kind, faulty, fixed, threads, shared, blocks = FAULTS[name]
    more = {"grid": blocks, "cluster": blocks} if blocks else {}
    broken, right = (emulator.load(kernel(text, 1, shared)) for text in (faulty, fixed))
    for schedule in SCHEDULES:
        arguments = [np.arange(64, dtype=np.uint32)]
        report = run(broken, arguments, threads, schedule=schedule, **more)
        # When one warp runs ahead of the others, it also reads what they have not written yet.
        found = kinds(report) if schedule == "together" else [each for each in kinds(report) if each == kind]
        assert found == [kind], (schedule, [str(finding) for finding in report.findings])
        finding = next(each for each in report.findings if each.kind == kind)
        assert finding.line and finding.block in [(block, 0, 0) for block in range(max(1, blocks))]
        assert finding.lane is not None
        arguments = [np.arange(64, dtype=np.uint32)]
        clean = run(right, arguments, threads, schedule=schedule, **more)
        assert clean.findings == [], (schedule, [str(finding) for finding in clean.findings])


def test_there_are_enough_faults() -> None:
    assert len(FAULTS) >= 50


def test_a_part_of_what_is_packed_may_be_left_open() -> None:
    # A half that nothing ever writes: no bit of it is used. One that another path writes is forgotten there.
    body = """
  cvt.u16.u32 %h0, %r0;
  mov.b32 %r1, {%h0, %h1};
  shl.b32 %r1, %r1, 16;
  add.s64 %rd2, %rd0, %rd31;
  st.global.u32 [%rd2], %r1;
"""
    out = np.zeros(32, np.uint32)
    assert run(kernel(body, 1), [out]).findings == []
    assert out.tolist() == [lane << 16 for lane in range(32)]
    other = "  setp.lt.u32 %p1, %r0, 5;\n  @%p1 mov.u16 %h1, 1;\n"
    assert kinds(run(kernel(other + body, 1), [out])) == ["uninitialized-register"]


@pytest.mark.parametrize(("selector", "found"), [("0x123", 0), ("0x8123", 0), ("0x4123", 1)])
def test_a_register_that_no_byte_is_taken_of(selector: str, found: int) -> None:
    body = f"""
  prmt.b32 %r2, %r0, %r3, {selector}U;
  add.s64 %rd2, %rd0, %rd31;
  st.global.u32 [%rd2], %r2;
"""
    out = np.zeros(32, np.uint32)
    assert kinds(run(kernel(body, 1), [out])) == ["uninitialized-register"] * found


def test_uninitialized_global_memory() -> None:
    device = emulator.Device()
    kernels = device.load(kernel("  ld.global.u32 %r1, [%rd0+4];\n", 1))
    address = device.alloc(8, "scratch")
    raw = address.to_bytes(8, "little")
    report = kernels.launch_raw("k", 1, 1, raw, check=False)
    assert kinds(report) == ["uninitialized-memory"]
    assert "scratch" in report.findings[0].detail
    device.write(address, np.arange(2, dtype=np.uint32))
    assert kernels.launch_raw("k", 1, 1, raw).findings == []


def test_memory_that_was_freed() -> None:
    device = emulator.Device()
    kernels = device.load(kernel("  st.global.u32 [%rd0], 1;\n", 1))
    address = device.alloc(64, "scratch")
    device.free(address)
    report = kernels.launch_raw("k", 1, 1, address.to_bytes(8, "little"), check=False)
    assert kinds(report) == ["out-of-bounds"]
    assert "freed" in report.findings[0].detail


def test_a_write_to_constants() -> None:
    before = ".const .u32 table[2] = {1, 2};"
    report = run(
        kernel("  mov.u64 %rd2, table;\n  st.u32 [%rd2], 1;\n", 1, before=before), [np.zeros(1, np.uint32)]
    )
    assert kinds(report) == ["read-only"]


def test_launch_limits() -> None:
    text = kernel("  bar.sync 0;\n", 1, 0, "sm_80")
    array = np.zeros(1, np.uint32)
    assert kinds(run(text, [array], 1025)) == ["launch"]
    assert kinds(run(text, [array], 32, (1, 70000))) == ["launch"]
    assert kinds(run(text, [array], 32, dynamic_smem=200_000)) == ["launch"]
    assert run(text, [array], 1024, dynamic_smem=160_000).findings == []
    limited = text.replace(")\n{", ")\n.maxntid 64\n{")
    assert kinds(run(limited, [array], 128)) == ["launch"]
    assert run(limited, [array], 64).findings == []


def test_shared_memory_of_less_than_nothing() -> None:
    with pytest.raises(emulator.EmulatorError, match="-4 bytes of dynamic shared memory"):
        run(kernel("  bar.sync 0;\n", 1), [np.zeros(1, np.uint32)], 32, dynamic_smem=-4)


def test_a_finding_raises_unless_told_not_to() -> None:
    text = kernel("  st.global.u32 [%rd0+4], 1;\n", 1)
    with pytest.raises(emulator.KernelError, match="out-of-bounds in kernel k") as caught:
        emulator.load(text).launch("k", 1, 1, [np.zeros(1, np.uint32)])
    assert caught.value.findings[0].address is not None
    assert "PTX line" in str(caught.value)


def test_an_endless_loop_is_reported() -> None:
    text = kernel("L:\n  bra L;\n", 1)
    options = emulator.Options(steps=1000)
    report = emulator.load(text).launch("k", 1, 32, [np.zeros(1, np.uint32)], check=False, options=options)
    assert kinds(report) == ["livelock"]
