"""Tensor maps that kernels make and change, and the fences that this takes."""

from __future__ import annotations

import numpy as np
import pytest
from mlopt import emulator
from mlopt.runtime.emulator import tensor_maps
from mlopt.runtime.emulator.machine import SCHEDULES
from mlopt.test.python.emulator.snippets import each_schedule, kernel, kinds

RNG = np.random.default_rng(26)
SIZE = 16 * 8 * 4
# One warp makes a map of x in shared memory, field by field, and copies a box by it. %rd0 is a place for the
# map, %rd1 is x of 20 by 24 floats, %rd2 is where the box goes.
FIELDS = """
  tensormap.replace.tile.global_address.shared::cta.b1024.b64 [map], %rd1;
  tensormap.replace.tile.rank.shared::cta.b1024.b32 [map], 1;
  tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [map], 0, 16;
  tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [map], 1, 8;
  tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [map], 0, 24;
  tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [map], 1, 20;
  tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [map], 0, 96;
  tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [map], 0, 1;
  tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [map], 1, 1;
  tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [map], 7;
  tensormap.replace.tile.interleave_layout.shared::cta.b1024.b32 [map], 0;
  tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [map], 0;
  tensormap.replace.tile.fill_mode.shared::cta.b1024.b32 [map], 0;
"""
PUBLISHED = """
  tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd0], [map], 128;
"""
ACQUIRED = "  fence.proxy.tensormap::generic.acquire.gpu [%rd0], 128;\n"
COPIED = f"""
  @!%p1 bra E;
  mbarrier.init.shared::cta.b64 [bar], 1;
  mbarrier.arrive.expect_tx.shared::cta.b64 %rd3, [bar], {SIZE};
  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes
    [buffer], [%rd0, {{12, 3}}], [bar];
L:
  mbarrier.try_wait.shared::cta.b64 %p2, [bar], %rd3;
  @!%p2 bra L;
  cp.async.bulk.global.shared::cta.bulk_group [%rd2], [buffer], {SIZE};
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
E:
"""
TOGETHER = "  bar.warp.sync -1;\n"
OTHER = "  setp.eq.u32 %p1, %r0, 1;\n"
ZEROED = """
  mov.u32 %r1, map;
  shl.b32 %r2, %r0, 2;
  add.u32 %r1, %r1, %r2;
  mov.u32 %r3, 0;
  st.shared.u32 [%r1], %r3;
  setp.eq.u32 %p1, %r0, 0;
  bar.warp.sync -1;
"""


def program(*parts: str) -> str:
    text = kernel("".join(parts), 3, 0, "sm_90a")
    variables = f"  .shared .align 1024 .b8 buffer[{SIZE}];\n  .shared .align 8 .b8 bar[8];\n"
    variables += "  .shared .align 128 .b8 map[128];\n"
    return text.replace("  mov.u32 %r0", variables + "  mov.u32 %r0", 1)


def guarded(lines: str) -> str:
    """The same by the first thread alone."""
    return lines.replace("  tensormap", "  @%p1 tensormap") + TOGETHER


def launch(text: str, schedule: str = "together") -> tuple[emulator.Report, np.ndarray, np.ndarray]:
    device = emulator.Device()
    x, out = RNG.standard_normal((20, 24)).astype(np.float32), np.zeros((8, 16), np.float32)
    places = [device.alloc(size) for size in (128, x.nbytes, out.nbytes)]
    for place, array in zip(places[1:], (x, out), strict=True):
        device.write(place, array)
    options = emulator.Options(schedule=schedule, seed=2)
    raw = b"".join(place.to_bytes(8, "little") for place in places)
    report = device.load(text).launch_raw("k", 1, 32, raw, check=False, options=options)
    device.read(places[2], out)
    return report, x, out


@each_schedule
def test_a_map_is_made_field_by_field(schedule: str) -> None:
    report, x, out = launch(program(ZEROED, guarded(FIELDS), PUBLISHED, ACQUIRED, COPIED), schedule)
    assert report.findings == [], [str(finding) for finding in report.findings]
    expected = np.zeros((8, 16), np.float32)
    expected[:, :12] = x[3:11, 12:]
    np.testing.assert_array_equal(out, expected)


IN_PLACE = FIELDS.replace(".shared::cta", ".global").replace("[map]", "[%rd0]")
CLEARED = "  add.s64 %rd4, %rd0, %rd31;\n  st.global.u32 [%rd4], %r3;\n  bar.warp.sync -1;\n"
RELEASED = "  fence.proxy.tensormap::generic.release.gpu;\n"


@each_schedule
def test_a_map_in_global_memory_with_fences_of_its_own(schedule: str) -> None:
    parts = [ZEROED, CLEARED, guarded(IN_PLACE), RELEASED, "  bar.warp.sync -1;\n", ACQUIRED, COPIED]
    report, x, out = launch(program(*parts), schedule)
    assert report.findings == [], [str(finding) for finding in report.findings]
    np.testing.assert_array_equal(out[:, :12], x[3:11, 12:])


FAULTS = {
    "no acquire": ([ZEROED, guarded(FIELDS), PUBLISHED, COPIED], "proxy-fence"),
    "an acquire too early": ([ZEROED, ACQUIRED, guarded(FIELDS), PUBLISHED, COPIED], "proxy-fence"),
    "an acquire of another map": (
        [ZEROED, guarded(FIELDS), PUBLISHED, ACQUIRED.replace("%rd0", "%rd1"), COPIED],
        "proxy-fence",
    ),
    "no release": (
        [ZEROED, CLEARED, guarded(IN_PLACE), ACQUIRED, COPIED],
        "proxy-fence",
    ),
    "a release before the change": (
        [ZEROED, CLEARED, RELEASED, guarded(IN_PLACE), ACQUIRED, COPIED],
        "proxy-fence",
    ),
    "an acquire before the release": (
        [ZEROED, CLEARED, guarded(IN_PLACE), ACQUIRED, RELEASED, COPIED],
        "proxy-fence",
    ),
    "a copy by another thread without a barrier": (
        [ZEROED, CLEARED, guarded(IN_PLACE)[: -len(TOGETHER)], RELEASED, ACQUIRED, OTHER, COPIED],
        "race",
    ),
    "no zeros before": (
        [ZEROED.replace("  st.shared.u32 [%r1], %r3;\n", ""), guarded(FIELDS), PUBLISHED, ACQUIRED, COPIED],
        "uninitialized-memory",
    ),
    "a box that is too great": (
        [ZEROED, guarded(FIELDS.replace("0, 16;", "0, 512;")), PUBLISHED, ACQUIRED, COPIED],
        "tensor-map",
    ),
    "a type that is none": (
        [ZEROED, guarded(FIELDS.replace("[map], 7", "[map], 99")), PUBLISHED, ACQUIRED, COPIED],
        "tensor-map",
    ),
    "other bytes than a map": ([ZEROED.replace("%r3, 0", "%r3, 9"), guarded(FIELDS)], "tensor-map"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults(name: str) -> None:
    parts, kind = FAULTS[name]
    for schedule in SCHEDULES:
        report, _, _ = launch(program(*parts), schedule)
        assert kind in kinds(report), (schedule, [str(finding) for finding in report.findings])


def test_fields_of_a_map_that_the_host_made() -> None:
    from mlopt.runtime.emulator.tensor_map_fields import replaced

    raw = tensor_maps.tiled("f16", 1 << 20, (64, 8), (128,), (64, 8), swizzle="128B")
    for field, place, value in (("global_address", 0, 1 << 21), ("global_dim", 1, 5), ("elemtype", 0, 10)):
        changed = replaced(raw, field, place, value)
        assert changed is not None
        raw = changed
    expected = tensor_maps.tiled("bf16", 1 << 21, (64, 5), (128,), (64, 8), swizzle="128B")
    assert raw == expected
    for number, name in ((8, "f32.ftz"), (9, "f64"), (11, "tf32"), (12, "tf32.ftz")):
        assert (found := replaced(raw, "elemtype", 0, number)) is not None
        assert (decoded := tensor_maps.TensorMap.decode(found)) is not None and decoded.type == name
    with pytest.raises(emulator.EmulatorError, match="elemtype"):
        replaced(raw, "elemtype", 0, 13)
    with pytest.raises(emulator.EmulatorError, match="fits"):
        replaced(raw, "box_dim", 0, 1 << 16)
