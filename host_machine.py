"""The host CPU as the cost model sees it: measured with kernels of mlopt's own, once, and kept in the cache.

Measuring takes some seconds, and happens only when `host_machine` is called and finds nothing kept for
this processor, number of threads and these programs. What is measured is what code of this compiler
reaches, not what the maker of the processor promises.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .compiler import compile_mlir
from .options import Options
from .passes.costs.cost import FUNCTIONS
from .passes.costs.machine import DEFAULT_CPU, Machine, find_machine
from .runtime.cache import folder_of
from .runtime.cache_key import host_processor
from .runtime.executable import default_threads
from .versions import found_versions

NAME = "host"
_ROWS, _ROW = 4096, 16384  # 256 MiB of f32: more than caches hold
_SIDE = 768  # of matrices
_CHAIN = 9  # kernels, of which the first and the call around it do not count
_TERMS = 16  # calls of a function for each element
_ELEMENTS = 1 << 13  # so few that one thread computes them, in its core's cache
_REPEATS = 8
_BODIES = {
    "div": "%y = arith.divf %one, %a : f32",
    "rem": "%y = arith.remf %one, %a : f32",
    "pow": "%y = math.powf %a, %one : f32",
    "idiv": """%i = arith.fptosi %a : f32 to i32
    %j = arith.divsi %seven, %i : i32
    %y = arith.sitofp %j : i32 to f32""",
}

MEASURING = "measuring this CPU, once: a quarter of a minute if it is idle (--machine cpu does without)"

Measure = Callable[[str, list[Any]], float]


def host_machine(options: Options | None = None, tell: Callable[[str], object] = lambda _: None) -> Machine:
    """The `Machine` of this processor: kept in the cache, or measured (and kept, if ``options`` say so).

    ``tell``: who is told that it is measured now, which takes a while.
    """
    options = options or Options.resolve()
    threads = default_threads()
    processor = host_processor()
    folder = folder_of(options) if options.cache and processor else None
    parts = [
        "machine", processor, threads, Path(__file__).read_text(encoding="utf-8"), found_versions()
    ]  # fmt: skip
    key = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
    found = folder.get(key) if folder is not None else None
    if found is not None:
        return Machine(**json.loads(found[1]))
    tell(MEASURING)
    machine = measure(_seconds, threads)
    if folder is not None:
        content = json.dumps(machine.as_dict()).encode()
        folder.put(key, {"label": "speed of this processor", "made": time.time()}, content)
    return machine


def measure(seconds: Measure, threads: int) -> Machine:
    """The machine that calls take so long on: ``seconds`` of a program (linalg text) with its arguments."""
    inputs = np.random.default_rng(0)
    rows = inputs.random((_ROWS, _ROW), np.float32)
    bandwidth = rows.nbytes / seconds(_row_maxima(), [rows])
    del rows
    vector = {
        dtype: 2 * _SIDE**3 / seconds(_product(kind), [inputs.random((_SIDE, _SIDE), kind) for _ in range(2)])
        for dtype, kind in (("f32", np.float32), ("f64", np.float64))
    }
    small = [inputs.random((8, 8), np.float32) for _ in range(2)]
    one, all_ = (seconds(_chain(count, "tensor<8x8xf32>", "f32"), small) for count in (1, _CHAIN))
    values = inputs.random(_ELEMENTS, np.float32) + np.float32(1)
    calls = threads * _TERMS * _ELEMENTS  # as if every thread did the same
    special = {name: calls / seconds(_calls(name), [values]) for name in FUNCTIONS}
    how = f"measured with mlopt's own kernels, best of {_REPEATS}, {threads} threads"
    return Machine(
        name=NAME,
        title=f"this CPU, {threads} threads",
        bandwidth=bandwidth,
        # Half floats and integers are computed in vectors of as many lanes as f32.
        vector={**vector, "f16": vector["f32"], "bf16": vector["f32"], "int": vector["f32"]},
        special=special,
        launch=max(all_ - one, 0.0) / (_CHAIN - 1),
        processors=threads,
        tasks=threads,
        sources={
            "memory": f"maxima of the rows of a {_ROWS}×{_ROW} matrix, {how}",
            "vector": f"product of {_SIDE}×{_SIDE} matrices in f32 and f64, {how}; the others as f32",
            "special": f"{_TERMS} calls for each of {_ELEMENTS} elements in f32, by one thread, {how}",
            "tasks": f"{threads} threads",
            "launch": f"a chain of {_CHAIN} products of 8×8 matrices less one of them, {how}",
        },
        matrix={},
        chips=[],
        small=find_machine(DEFAULT_CPU).small,  # it decides about code
    )


def _seconds(text: str, arguments: list[Any]) -> float:
    """The best of some calls, after one that does not count."""
    call = compile_mlir(text)
    call(*arguments)
    times = []
    for _ in range(_REPEATS):
        start = time.perf_counter()
        repeats = 0
        while repeats == 0 or time.perf_counter() - start < 0.002:
            call(*arguments)
            repeats += 1
        times.append((time.perf_counter() - start) / repeats)
    return min(times)


def _row_maxima() -> str:
    return f"""
#all = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
func.func @main(%x: tensor<{_ROWS}x{_ROW}xf32>) -> tensor<{_ROWS}xf32> {{
  %low = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<{_ROWS}xf32>
  %f = linalg.fill ins(%low : f32) outs(%e : tensor<{_ROWS}xf32>) -> tensor<{_ROWS}xf32>
  %r = linalg.generic {{indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}}
      ins(%x : tensor<{_ROWS}x{_ROW}xf32>) outs(%f : tensor<{_ROWS}xf32>) {{
  ^bb0(%a: f32, %o: f32):
    %m = arith.maximumf %a, %o : f32
    linalg.yield %m : f32
  }} -> tensor<{_ROWS}xf32>
  return %r : tensor<{_ROWS}xf32>
}}"""


def _product(dtype: type) -> str:
    element = "f32" if dtype is np.float32 else "f64"
    return _chain(1, f"tensor<{_SIDE}x{_SIDE}x{element}>", element)


def _chain(count: int, kind: str, element: str) -> str:
    """x @ w @ w …, ``count`` products, each a kernel."""
    products = "\n".join(
        f"  %x{number + 1} = linalg.matmul ins(%x{number}, %w : {kind}, {kind}) outs(%f : {kind}) -> {kind}"
        for number in range(count)
    )
    return f"""
func.func @main(%x0: {kind}, %w: {kind}) -> {kind} {{
  %zero = arith.constant 0.0 : {element}
  %e = tensor.empty() : {kind}
  %f = linalg.fill ins(%zero : {element}) outs(%e : {kind}) -> {kind}
{products}
  return %x{count} : {kind}
}}"""


def _calls(function: str) -> str:
    """The sum of f(x), f(x + 1/8), … for each element, x between 1 and 2."""
    body = _BODIES.get(function, f"%y = math.{function} %a : f32")
    terms = "\n".join(
        f"    %c{term} = arith.constant {term / _TERMS:.6f} : f32\n"
        + f"    %a{term} = arith.addf %x, %c{term} : f32\n    "
        + _renamed(body, term)
        + f"\n    %s{term + 1} = arith.addf %s{term}, %y{term} : f32"
        for term in range(_TERMS)
    )
    kind = f"tensor<{_ELEMENTS}xf32>"
    return f"""
#id = affine_map<(d0) -> (d0)>
func.func @main(%in: {kind}) -> {kind} {{
  %s0 = arith.constant 0.0 : f32
  %one = arith.constant 1.5 : f32
  %seven = arith.constant 7 : i32
  %e = tensor.empty() : {kind}
  %r = linalg.generic {{indexing_maps = [#id, #id], iterator_types = ["parallel"]}}
      ins(%in : {kind}) outs(%e : {kind}) {{
  ^bb0(%x: f32, %o: f32):
{terms}
    linalg.yield %s{_TERMS} : f32
  }} -> {kind}
  return %r : {kind}
}}"""


def _renamed(body: str, term: int) -> str:
    for name in ("%a", "%y", "%i", "%j"):
        body = body.replace(f"{name} ", f"{name}{term} ").replace(f"{name},", f"{name}{term},")
    return body
