"""How long kernels may take, in seconds of processor time."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from mlopt import emulator
from mlopt.runtime.emulator import formats
from mlopt.test.python.emulator.hopper import drawn, product
from mlopt.test.python.emulator.snippets import kernel

FOLDER = Path(__file__).parent / "cuda"
RNG = np.random.default_rng(1)


def test_a_million_floats_in_three_seconds() -> None:
    body = """
  mov.u32 %r1, %ctaid.x;
  mad.lo.u32 %r2, %r1, 256, %r0;
  setp.ge.u32 %p1, %r2, 1000000;
  @%p1 exit;
  mul.wide.u32 %rd3, %r2, 4;
  add.s64 %rd4, %rd1, %rd3;
  add.s64 %rd5, %rd2, %rd3;
  add.s64 %rd6, %rd0, %rd3;
  ld.global.nc.f32 %f1, [%rd4];
  ld.global.nc.f32 %f2, [%rd5];
  fma.rn.f32 %f3, %f1, %f2, %f1;
  mul.f32 %f4, %f3, 0f3FB8AA3B;
  ex2.approx.f32 %f5, %f4;
  max.f32 %f6, %f5, %f2;
  st.global.f32 [%rd6], %f6;
"""
    a, b = RNG.standard_normal((2, 1_000_000)).astype(np.float32)
    out = np.zeros_like(a)
    kernels = emulator.load(kernel(body, 3))
    started = time.process_time()
    kernels.launch("k", -(-a.size // 256), 256, [out, a, b])
    assert time.process_time() - started < 3
    np.testing.assert_allclose(out, np.maximum(np.exp(a.astype(float) * b + a), b), rtol=1e-5)


def test_a_gemm_in_ten_seconds() -> None:
    a, b = RNG.standard_normal((2, 256, 256)).astype(np.float16)
    c = np.zeros((256, 256), np.float32)
    kernels = emulator.load((FOLDER / "gemm.ptx").read_text())
    started = time.process_time()
    kernels.launch("gemm", (2, 2), 256, [a, b, c, 256, 256, 256])
    assert time.process_time() - started < 10
    np.testing.assert_allclose(c, a.astype(np.float64) @ b, rtol=1e-5, atol=1e-4)


def test_a_gemm_of_warpgroups_in_twenty_seconds() -> None:
    a, b = drawn("bf16", 256, 256), drawn("bf16", 512, 256)
    started = time.process_time()
    c, report = product(a, b, 4)
    assert time.process_time() - started < 20
    assert report.findings == [] and report.counters.flops["tensor"] == 2 * 256 * 512 * 256
    wide = [formats.widen(each, "bf16") for each in (a, b)]
    np.testing.assert_allclose(formats.widen(c, "bf16"), wide[0] @ wide[1].T, rtol=2.0**-8, atol=1e-3)


def test_many_groups_of_bulk_copies_in_five_seconds() -> None:
    # All of them are under way until the end: waits for what they read must not look at all of them.
    groups = 2000
    body = f"""
  setp.ne.u32 %p1, %r0, 0;
  @%p1 bra E;
  st.shared.v4.u32 [buffer], {{7, 7, 7, 7}};
  fence.proxy.async.shared::cta;
  mov.u32 %r1, 0;
L:
  cp.async.bulk.global.shared::cta.bulk_group [%rd0], [buffer], 16;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group.read 0;
  add.s64 %rd0, %rd0, 16;
  add.u32 %r1, %r1, 1;
  setp.lt.u32 %p2, %r1, {groups};
  @%p2 bra L;
  cp.async.bulk.wait_group 0;
E:
"""
    out = np.zeros(4 * groups, np.uint32)
    kernels = emulator.load(kernel(body, 1, 64, "sm_90"))
    started = time.process_time()
    kernels.launch("k", 1, 32, [out])
    assert time.process_time() - started < 5
    assert (out == 7).all()


def test_bulk_copies_of_many_threads_in_five_seconds() -> None:
    # They wait together, each for its own: what others still read must be looked at once for all of them.
    blocks, threads = 32, 128
    body = f"""
  mov.u32 %r1, buffer;
  mad.lo.u32 %r1, %r0, 16, %r1;
  mov.u32 %r2, %ctaid.x;
  mad.lo.u32 %r2, %r2, {threads}, %r0;
  mul.wide.u32 %rd1, %r2, 16;
  add.s64 %rd1, %rd0, %rd1;
  st.shared.v4.u32 [%r1], {{%r2, %r2, %r2, %r2}};
  fence.proxy.async.shared::cta;
  cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], 16;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
"""
    out = np.zeros((blocks * threads, 4), np.uint32)
    kernels = emulator.load(kernel(body, 1, 16 * threads, "sm_90"))
    started = time.process_time()
    kernels.launch("k", blocks, threads, [out])
    assert time.process_time() - started < 5
    assert (out == np.arange(blocks * threads)[:, None]).all()
