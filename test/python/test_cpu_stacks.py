"""Kernels with much scratch on small stacks: of the threads that call, and of OpenMP's."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import mlopt
import pytest
import torch
from mlopt.runtime import loader

# A panel of 256 KB.
SCRIPT = """
import threading
import mlopt
import numpy as np

PRODUCT = '''
func.func @main(%a: tensor<512x1024xf32>, %b: tensor<1024x512xf32>) -> tensor<512x512xf32> {
  %zero = arith.constant 0.0 : f32
  %none = tensor.empty() : tensor<512x512xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%none : tensor<512x512xf32>) -> tensor<512x512xf32>
  %c = linalg.matmul ins(%a, %b : tensor<512x1024xf32>, tensor<1024x512xf32>)
                     outs(%zeros : tensor<512x512xf32>) -> tensor<512x512xf32>
  return %c : tensor<512x512xf32>
}'''
compiled = mlopt.compile_mlir(PRODUCT)
assert "@mlopt_scratch" in compiled.asm["loops"] and "@GOMP_parallel" in compiled.asm["loops"]
a, b = (np.random.default_rng(0).random(shape, np.float32) for shape in ((512, 1024), (1024, 512)))
made = []
threading.stack_size(128 * 1024)
thread = threading.Thread(target=lambda: made.append(compiled(a, b)))
thread.start()
thread.join()
np.testing.assert_allclose(made[0], a @ b, rtol=1e-4)
"""


def on_small_stack(function: Callable[[], Any]) -> Any:
    """What ``function`` returns on a thread with a stack of 128 KB."""
    results: list[Any] = []
    before = threading.stack_size(128 * 1024)
    try:
        thread = threading.Thread(target=lambda: results.append(function()))
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    return results[0]


def test_small_stacks_of_callers_and_of_the_team() -> None:
    environment = os.environ | {"OMP_STACKSIZE": "64k", "OMP_NUM_THREADS": "2"}
    done = subprocess.run(
        [sys.executable, "-P", "-c", SCRIPT], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]


def test_megabytes_are_kept() -> None:
    """Three tiles of 1 MB could be; nine were more than any thread's stack, and ended the process.

    One and a half, or two, by the width of registers.
    """

    def softmaxes(x: torch.Tensor) -> torch.Tensor:
        return x.softmax(0) + (x * 2).softmax(0) + (x * 3).softmax(0)

    x = torch.randn(4096, 64)
    compiled = mlopt.jit(softmaxes, x)
    (kept,) = {int(size) for size in re.findall(r"no memory for the (\d+) bytes", compiled.asm["loops"])}
    assert 1 << 20 < kept <= 2 << 20
    torch.testing.assert_close(on_small_stack(lambda: compiled(x)), softmaxes(x), rtol=1e-4, atol=1e-5)


def test_memory_of_a_thread() -> None:
    address = loader._thread_scratch().address("mlopt_scratch")
    scratch = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(address)
    first = on_small_stack(lambda: [scratch(1 << 20, offset) for offset in (0, 64, 0)])
    assert first[0] % 64 == 0 and first == [first[0], first[0] + 64, first[0]]

    def grow() -> list[int | None]:
        found = [scratch(64, 0)]
        ctypes.memset(scratch(1 << 20, 0), 1, 1 << 20)  # more of it
        return [*found, scratch(1 << 20, 0), scratch(64, 0), scratch(1 << 60, 0), scratch(64, 0)]

    small, large, again, none, new = on_small_stack(grow)
    assert small and large == again and none is None and new
    mine = scratch(64, 0)
    assert on_small_stack(lambda: scratch(64, 0)) != mine == scratch(64, 0)


def test_threads_that_load_at_once_share_the_function(monkeypatch: pytest.MonkeyPatch) -> None:
    """Objects keep its address only: what a second thread has loaded is freed, and no object may call it."""
    monkeypatch.setattr(loader, "_scratch", {})
    both, text = threading.Barrier(2), loader.thread_scratch.function_text
    monkeypatch.setattr(loader.thread_scratch, "function_text", lambda: (both.wait(20), text())[1])
    with ThreadPoolExecutor(2) as threads:
        first, second = (each.result() for each in [threads.submit(loader._thread_scratch) for _ in "ab"])
    assert first is second is loader._thread_scratch()


def test_a_process_without_keys_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loader, "_scratch", {})
    libc, key, taken = ctypes.CDLL(None), ctypes.c_uint(), list[int]()
    try:
        while not libc.pthread_key_create(ctypes.byref(key), None):
            taken.append(key.value)
        with pytest.raises(loader.LoadError, match="no key left") as refused:
            loader._thread_scratch()
    finally:
        for each in taken:
            libc.pthread_key_delete(each)
    assert "pthread_key_create" in str(refused.value) and "remedy" in str(refused.value)
    assert loader._thread_scratch().address("mlopt_scratch")
