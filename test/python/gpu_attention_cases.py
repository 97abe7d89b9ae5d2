"""Attention as one kernel in mlopt-outline's form: its arguments, what it gives, how far that may be off."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np
from gpu_numbers import to_bf16, wide

ROUNDED = {"bf16": 2.0**-8, "f16": 2.0**-11}


@dataclass(frozen=True)
class Case:
    """``heads`` of keys and values, each for ``groups`` of queries; ``mask``: "causal", "added", or none."""

    heads: int
    groups: int
    rows: int
    keys: int
    width: int
    kind: str
    mask: str | None = None

    @property
    def lead(self) -> tuple[int, ...]:
        """The sizes of queries before their rows."""
        return (self.heads,) if self.groups == 1 else (self.heads, self.groups)

    def schedule(self, rows: int, keys: int, warps: int, stages: int) -> str:
        """A schedule whose blocks have so many rows, and keys a step."""
        tile = ", ".join([*["1"] * len(self.lead), f"{rows}, 0, {keys}, {self.width}"])
        return (
            f"warps = array<i64: {warps}>, min_blocks = array<i64: 1>, stages = array<i64: {stages}>, "
            f"tile = array<i64: {tile}>"
        )

    def implied_bytes(self, rows: int, keys: int) -> int:
        """What blocks ask the caches for: all once, but keys and values up to each block's last."""
        blocks = range(ceil(self.rows / rows))
        ends = [
            min(ceil(min((at + 1) * rows, self.keys) / keys) * keys, self.keys)
            if self.mask == "causal"
            else self.keys
            for at in blocks
        ]
        scores = self.rows * self.keys * (self.mask == "added")
        return 2 * self.heads * self.groups * (2 * self.width * (self.rows + sum(ends)) + scores)

    def drawn(self, rng: np.random.Generator) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
        """Arguments in the kernel's order, the exact result, and how far each element may be off."""
        inner = (self.keys, self.width)
        shapes = [(*self.lead, self.rows, self.width), (self.heads, *inner), (self.heads, *inner)]
        shapes += [(self.rows, self.keys)] * (self.mask == "added")
        shapes.append((*self.lead, self.rows, self.width))
        drawn = [rng.standard_normal(shape) for shape in shapes]
        arrays = [to_bf16(each) if self.kind == "bf16" else each.astype(np.float16) for each in drawn]
        return arrays, *self.exact(arrays)

    def exact(self, arrays: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """The result of such arguments in f64, and how far it may be off; 0 where a row has no keys left."""
        q, k, v, *added = map(wide, arrays[:-1])
        if self.groups > 1:
            k, v = k[:, None], v[:, None]
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(self.width)
        if added:
            scores = scores + added[0]
        if self.mask == "causal":
            scores = np.where(np.arange(self.rows)[:, None] >= np.arange(self.keys), scores, -np.inf)
        dead = np.isneginf(scores).all(-1, keepdims=True)
        weights = np.exp(scores - np.where(dead, 0, scores.max(-1, keepdims=True)))
        weights /= np.where(dead, 1, weights.sum(-1, keepdims=True))
        exact = weights @ v
        # The weights are rounded once, the result once; what is done in f32 is far less.
        return exact, 1.01 * ROUNDED[self.kind] * (weights @ np.abs(v) + np.abs(exact))

    def kernel(self) -> str:
        """The kernel, with its arguments as `drawn` has them."""
        lead = [f"h{at}" for at in range(len(self.lead))]
        loops = ", ".join([*lead, "m", "n"])
        sizes = "x".join(map(str, self.lead))
        scores = f"{sizes}x{self.rows}x{self.keys}xf32"
        made = f"{sizes}x{self.rows}x{self.width}"
        factor = f"tensor<{self.heads}x{self.keys}x{self.width}x{self.kind}>"
        parallel = ", ".join(['"parallel"'] * (len(lead) + 2))
        kinds = ", ".join(
            ["#linalg.iterator_type<parallel>"] * (len(lead) + 2) + ["#linalg.iterator_type<reduction>"]
        )
        mask = f"%mask: tensor<{self.rows}x{self.keys}x{self.kind}>, " if self.mask == "added" else ""
        outer = ", ".join(lead)
        return f"""
#q = affine_map<({loops}, k) -> ({outer}, m, k)>
#k = affine_map<({loops}, k) -> (h0, n, k)>
#s = affine_map<({loops}, k) -> ({outer}, m, n)>
#e = affine_map<({loops}) -> ({loops})>
#x = affine_map<({loops}) -> (m, n)>
#w = affine_map<({outer}, m, d, n) -> ({outer}, m, n)>
#v = affine_map<({outer}, m, d, n) -> (h0, n, d)>
#o = affine_map<({outer}, m, d, n) -> ({outer}, m, d)>
func.func private @attention(%q: tensor<{made}x{self.kind}>, %k: {factor}, %v: {factor},
    {mask}%out: tensor<{made}x{self.kind}>) -> tensor<{made}x{self.kind}>
    attributes {{mlopt.kernel, mlopt.ops = ["attention"]}} {{
  %scale = arith.constant {1 / np.sqrt(self.width):.17e} : f32
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %empty = tensor.empty() : tensor<{scores}>
  %begun = linalg.fill ins(%zero : f32) outs(%empty : tensor<{scores}>) -> tensor<{scores}>
  %product = linalg.generic {{indexing_maps = [#q, #k, #s], iterator_types = [{parallel}, "reduction"]}}
      ins(%q, %k : tensor<{made}x{self.kind}>, {factor}) outs(%begun : tensor<{scores}>)
      attrs = {{mlopt.op = "scores"}} {{
  ^bb0(%a: {self.kind}, %b: {self.kind}, %c: f32):
    %1 = arith.extf %a : {self.kind} to f32
    %2 = arith.extf %b : {self.kind} to f32
    %3 = arith.mulf %1, %2 : f32
    %4 = arith.addf %c, %3 : f32
    linalg.yield %4 : f32
  }} -> tensor<{scores}>
{self._masked(parallel, scores)}
  %sums = tensor.empty() : tensor<{made}xf32>
  %total = "mlopt.attention"(%masked, %v, %sums) {{
      causal = {len(lead) if self.mask == "causal" else -1} : i64, zero_nans = false, zero_rows = true,
      indexing_maps = [#w, #v, #o], iterator_types = [{kinds}], mlopt.op = "attention",
      mlopt.rounds = "{self.kind}"}}
      : (tensor<{scores}>, {factor}, tensor<{made}xf32>) -> tensor<{made}xf32>
  %rounded = linalg.generic {{indexing_maps = [#e, #e], iterator_types = [{parallel}]}}
      ins(%total : tensor<{made}xf32>) outs(%out : tensor<{made}x{self.kind}>)
      attrs = {{mlopt.op = "cast"}} {{
  ^bb0(%a: f32, %c: {self.kind}):
    %1 = arith.truncf %a : f32 to {self.kind}
    linalg.yield %1 : {self.kind}
  }} -> tensor<{made}x{self.kind}>
  return %rounded : tensor<{made}x{self.kind}>
}}
"""

    def _masked(self, parallel: str, scores: str) -> str:
        """The ops that scale the scores, and take keys away or add the mask."""
        inputs, maps, taken, body = f"%product : tensor<{scores}>", "#e, #e", "%a: f32, %c: f32", ""
        if self.mask == "added":
            mask = f"tensor<{self.rows}x{self.keys}x{self.kind}>"
            inputs = f"%product, %mask : tensor<{scores}>, {mask}"
            maps, taken = "#e, #x, #e", f"%a: f32, %b: {self.kind}, %c: f32"
            body = f"%w = arith.extf %b : {self.kind} to f32\n    %2 = arith.addf %1, %w : f32"
        if self.mask == "causal":
            dim = len(self.lead)
            body = (
                f"%m = linalg.index {dim} : index\n    %n = linalg.index {dim + 1} : index\n"
                "    %in = arith.cmpi sge, %m, %n : index\n    %2 = arith.select %in, %1, %low : f32"
            )
        return f"""
  %masked = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{parallel}]}}
      ins({inputs}) outs(%empty : tensor<{scores}>) attrs = {{mlopt.op = "mul"}} {{
  ^bb0({taken}):
    %1 = arith.mulf %a, %scale : f32
    {body}
    linalg.yield {"%2" if body else "%1"} : f32
  }} -> tensor<{scores}>"""
