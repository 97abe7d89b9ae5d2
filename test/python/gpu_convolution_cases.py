"""Gates of one convolution on tensor cores, channels last, and the sweep of which the tests have a slice.

    python test/python/gpu_convolution_cases.py                 40 convolutions
    python test/python/gpu_convolution_cases.py --seed 7 --cases 200

Sizes, windows, strides and padding are drawn. Prints what breaks a gate, and exits with 1 then.
"""

# ruff: noqa: E501 (MLIR as text)

from __future__ import annotations

import argparse
import itertools
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from pathlib import Path

import numpy as np
import torch
from mlopt.bench.gpu.machine_code import parse
from mlopt.runtime.cuda.ptxas import assemble, disassemble_cubin, find_ptxas

sys.path.insert(0, str(Path(__file__).parent))
from gpu_gate_runs import CHIP, SECTOR, run_problems
from gpu_kernels import Kernel, compile_kernel
from gpu_numbers import wide
from gpu_products import numbers

TEXT = """
func.func private @convolution(%x: tensor<{image}x{kind}>, %w: tensor<{filters}x{kind}>,
                               %out: tensor<{made}xf32>) -> tensor<{made}xf32> attributes {{mlopt.kernel}} {{
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0.0 : {kind}
  %ep = tensor.empty() : tensor<{padded}x{kind}>
  %fp = linalg.fill ins(%none : {kind}) outs(%ep : tensor<{padded}x{kind}>) -> tensor<{padded}x{kind}>
  %p = tensor.insert_slice %x into %fp{starts} {sizes} {steps} {{mlopt.op = "pad"}} : tensor<{image}x{kind}> into tensor<{padded}x{kind}>
  %e = tensor.empty() : tensor<{made}xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<{made}xf32>) -> tensor<{made}xf32>
  %r = linalg.generic {{indexing_maps = [affine_map<(n, i, j, o, c, k, l) -> ({at})>, affine_map<(n, i, j, o, c, k, l) -> (c, k, l, o)>,
                                        affine_map<(n, i, j, o, c, k, l) -> (n, i, j, o)>],
                       iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}}
      ins(%p, %w : tensor<{padded}x{kind}>, tensor<{filters}x{kind}>) outs(%f : tensor<{made}xf32>) {{
  ^bb0(%a: {kind}, %b: {kind}, %s: f32):
    %aw = arith.extf %a : {kind} to f32
    %bw = arith.extf %b : {kind} to f32
    %m = arith.mulf %aw, %bw : f32
    %t = arith.addf %s, %m : f32
    linalg.yield %t : f32
  }} -> tensor<{made}xf32>
  %q = linalg.generic {{indexing_maps = [affine_map<(n, i, j, o) -> (n, i, j, o)>, affine_map<(n, i, j, o) -> (n, i, j, o)>],
                       iterator_types = ["parallel", "parallel", "parallel", "parallel"]}}
      ins(%r : tensor<{made}xf32>) outs(%e : tensor<{made}xf32>) {{
  ^bb0(%a: f32, %s: f32):
    %t = arith.maximumf %a, %zero : f32
    linalg.yield %t : f32
  }} -> tensor<{made}xf32>
  return %q : tensor<{made}xf32>
}}
"""


@dataclass(frozen=True)
class Case:
    """relu of a convolution of ``images``; sizes are multiples of the stride. ``schedule``: "" for its own."""

    kind: str
    images: int
    high: int
    wide: int
    channels: int
    made: int
    window: int = 3
    stride: int = 1
    schedule: str = ""

    def __str__(self) -> str:
        return (
            f"{self.images}x{self.high}x{self.wide}x{self.channels} to {self.made} {self.kind}, "
            f"{self.window}x{self.window}/{self.stride}"
        )

    @property
    def pad(self) -> int:
        """The places around an image."""
        return self.window // 2

    @property
    def sides(self) -> tuple[int, int]:
        """Of what is made."""
        return ceil(self.high / self.stride), ceil(self.wide / self.stride)

    def text(self) -> str:
        """The kernel, as mlopt-gpu-channels-last and mlopt-outline leave it."""
        step, images = self.stride, self.images
        before, phase = -(-self.pad // step), -self.pad % step
        spans = [
            max(before + side // step, out - 1 + (self.window - 1 + phase) // step + 1)
            for side, out in zip((self.high, self.wide), self.sides, strict=True)
        ]
        if step == 1:
            at = "n, i + k, j + l, c"
            image, padded = [images, self.high, self.wide, self.channels], [images, *spans, self.channels]
            starts = [0, before, before, 0]
        else:
            places = [
                f"{out} + ({at} + {phase}) floordiv {step}, ({at} + {phase}) mod {step}"
                for out, at in ("ik", "jl")
            ]
            at = f"n, {', '.join(places)}, c"
            image = [images, self.high // step, step, self.wide // step, step, self.channels]
            padded = [images, spans[0], step, spans[1], step, self.channels]
            starts = [0, before, 0, before, 0, 0]
        words = {
            "image": image,
            "padded": padded,
            "filters": [self.channels, self.window, self.window, self.made],
            "made": [images, *self.sides, self.made],
        }
        lists = {"starts": starts, "sizes": image, "steps": [1] * len(image)}
        return TEXT.format(
            kind=self.kind, at=at, **{name: "x".join(map(str, each)) for name, each in words.items()},
            **{name: f"[{', '.join(map(str, each))}]" for name, each in lists.items()},
        )  # fmt: skip


def drawn(seed: int) -> Iterator[Case]:
    """Convolutions of both types and strides in turn."""
    rng = np.random.default_rng(seed)
    for kind, stride in itertools.cycle(itertools.product(("bf16", "f16"), (1, 2))):
        images, high, wide_, channels, made = (int(each) for each in rng.integers(1, (4, 9, 9, 9, 10)))
        window = int(rng.choice([1, 3, 3, 5, 7]))
        yield Case(kind, images, high * stride, wide_ * stride, 8 * channels, 8 * made, window, stride)


def problems(case: Case, seed: int = 0) -> list[str]:
    """What breaks a gate."""
    kernel = compile_kernel(case.text(), schedule=case.schedule or None)
    if "mma.sync" not in kernel.ptx:
        return ["it is not on tensor cores"]
    return [*_code_problems(case, kernel), *_run_problems(case, kernel, seed)]


def _code_problems(case: Case, kernel: Kernel) -> list[str]:
    ptxas = find_ptxas(CHIP)
    assert ptxas is not None, "the tests' environment has one"
    made = assemble(kernel.ptx, CHIP, ptxas)
    found = []
    for name, code in parse(disassemble_cubin(made.cubin)).items():
        known = made.kernels[name]
        if known.spill_stores or known.stack:
            found.append(f"{name} spills")
        if not code.named("HMMA"):
            found.append(f"{name} multiplies elsewhere")
        rows = case.images * case.sides[0] * case.sides[1]
        if not code.named("LDSM") and case.channels % 16 == 0 and rows >= 16:
            found.append(f"{name} loads no matrices")
        if not code.named("LDGSTS") and not name.endswith("_unaligned") and case.window > 1:
            found.append(f"{name} waits for what it loads")
    return found


def _run_problems(case: Case, kernel: Kernel, seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    shape = (case.images, case.high, case.wide, case.channels)
    image = numbers(rng, shape, case.kind)
    filters = numbers(rng, (case.channels, case.window, case.window, case.made), case.kind)
    made = np.full((case.images, *case.sides, case.made), np.nan, np.float32)
    exact, terms = (
        _convolved(case, *map(each, (wide(image), wide(filters)))) for each in (np.asarray, np.abs)
    )
    depth = case.channels * case.window**2
    bound = (depth + 2) * np.finfo(np.float32).eps * terms
    is_whole = case.channels % 16 == 0 and case.made % 16 == 0
    implied = implied_bytes(case, kernel.tile) if is_whole else None
    return run_problems(kernel, [image, filters, made], np.maximum(exact, 0), bound, implied)


def _convolved(case: Case, image: np.ndarray, filters: np.ndarray) -> np.ndarray:
    x = torch.from_numpy(np.ascontiguousarray(image.astype(np.float64).transpose(0, 3, 1, 2)))
    w = torch.from_numpy(np.ascontiguousarray(filters.astype(np.float64).transpose(3, 0, 1, 2)))
    return torch.conv2d(x, w, stride=case.stride, padding=case.pad).permute(0, 2, 3, 1).numpy()


def implied_bytes(case: Case, tile: str) -> int:
    """What blocks ask the caches for: places of windows and weights of each step, and results."""
    sizes = re.search(r"tile = array<i64: ([\d, ]+)>", tile)
    assert sizes is not None
    extents = (case.images, *case.sides, case.made)
    parts = [int(text) or extent for text, extent in zip(sizes[1].split(", "), extents, strict=False)]
    blocks = [ceil(extent / part) for extent, part in zip(extents, parts, strict=True)]
    inside = [
        sum(
            0 <= place * case.stride + at - case.pad < side
            for place in range(out)
            for at in range(case.window)
        )
        for side, out in ((case.high, blocks[1] * parts[1]), (case.wide, blocks[2] * parts[2]))
    ]
    row = ceil(case.channels * 2 / SECTOR)
    images = blocks[3] * case.images * inside[0] * inside[1] * row
    weights = (
        blocks[0] * blocks[1] * blocks[2] * case.channels * case.window**2 * ceil(case.made * 2 / SECTOR)
    )
    results = case.images * case.sides[0] * case.sides[1] * ceil(case.made * 4 / SECTOR)
    return SECTOR * (images + weights + results)


def main() -> int:
    """Sweep; 0 if every convolution holds all gates."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=40)
    options = parser.parse_args()
    broken = 0
    for case in itertools.islice(drawn(options.seed), options.cases):
        found = problems(case)
        if found:
            broken += 1
            print(f"{case}: {'; '.join(found)}", flush=True)
    print(f"{options.cases} convolutions, {broken} break a gate (seed {options.seed})")
    return bool(broken)


if __name__ == "__main__":
    raise SystemExit(main())
