"""What fusion decides by the blocks of a schedule, where the best answer is known."""

from __future__ import annotations

import re

import pytest
from mlopt.passes.costs.machine import find_machine
from mlopt.test.python.fusion_programs import elementwise, fused, matmul, program

GPUS = pytest.mark.parametrize("machine", ["a100", "h100", "h200"])

GATED = """
#pixel = affine_map<(b, c, i) -> (b, c, i)>
#gate = affine_map<(b, c, i) -> (b, c)>
"""


def gated(pixels):
    """x[b, c, i] * gate[b, c], of which the gate is a product of 16 x 32 by 32 x 256, rounded to f16."""
    gate, image = "tensor<16x256xf32>", f"tensor<16x256x{pixels}xf32>"
    half = "tensor<16x256xf16>"
    body = matmul("product", "%few", "%w", 16, 256, 32)
    body += elementwise(
        "half", [("%product", "#id", gate)], half, "%y = arith.truncf %a0 : f32 to f16", "f16"
    )
    body += elementwise("gate", [("%half", "#id", half)], gate, "%y = arith.extf %a0 : f16 to f32")
    body += f"""  %gated_e = tensor.empty() : {image}
  %gated = linalg.generic {{indexing_maps = [#pixel, #gate, #pixel],
      iterator_types = ["parallel", "parallel", "parallel"]}}
      ins(%x, %gate : {image}, {gate}) outs(%gated_e : {image}) attrs = {{mlopt.op = "gated"}} {{
  ^bb0(%p: f32, %q: f32, %o: f32):
    %y = arith.mulf %p, %q : f32
    linalg.yield %y : f32
  }} -> {image}
"""
    arguments = f"%x: {image}, %few: tensor<16x32xf32>, %w: tensor<32x256xf32>"
    return GATED + program(arguments, body, [("%gated", image)])


@GPUS
@pytest.mark.parametrize(
    ("pixels", "wanted"),
    [(4, [["product", "half", "gate", "gated"]]), (4096, [["gate", "gated"], ["product", "half"]])],
)
def test_a_product_of_few_blocks_does_not_multiply_an_image(machine, pixels, wanted):
    # Each block of the product would multiply all pixels that its part of the gate is for. For 131 KB that
    # takes less than a launch, for 134 MB much longer than all multiprocessors take.
    groups, decisions = fused(gated(pixels), machine)
    assert groups == wanted
    few = rf"only \d+ tasks would be left, {find_machine(machine).tasks} are wanted"
    refused = [each for each in decisions if each.reason]
    assert len(refused) == len(wanted) - 1
    for each in refused:
        assert re.fullmatch(few, each.reason)
        assert each.seconds < 0 < each.bytes


ATTENTION = """
#rows = affine_map<(b, m, n, d) -> (b, m, d)>
#keys = affine_map<(b, m, n, d) -> (b, n, d)>
#scores = affine_map<(b, m, n, d) -> (b, m, n)>
#weights = affine_map<(b, m, d, n) -> (b, m, n)>
#values = affine_map<(b, m, d, n) -> (b, n, d)>
#out = affine_map<(b, m, d, n) -> (b, m, d)>
#p = #linalg.iterator_type<parallel>
#r = #linalg.iterator_type<reduction>
"""


def attention(heads, rows, keys, width, causal):
    """Attention of bf16, as mlopt-raise-attention writes it."""
    q, k = f"tensor<{heads}x{rows}x{width}xbf16>", f"tensor<{heads}x{keys}x{width}xbf16>"
    s, out = f"tensor<{heads}x{rows}x{keys}xf32>", f"tensor<{heads}x{rows}x{width}xf32>"
    body = f"""  %e = tensor.empty() : {s}
  %f = linalg.fill ins(%zero : f32) outs(%e : {s}) -> {s}
  %s = linalg.generic {{indexing_maps = [#rows, #keys, #scores],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}}
      ins(%q, %k : {q}, {k}) outs(%f : {s}) attrs = {{mlopt.op = "scores"}} {{
  ^bb0(%a: bf16, %b: bf16, %c: f32):
    %aw = arith.extf %a : bf16 to f32
    %bw = arith.extf %b : bf16 to f32
    %p = arith.mulf %aw, %bw : f32
    %t = arith.addf %c, %p : f32
    linalg.yield %t : f32
  }} -> {s}
  %o = tensor.empty() : {out}
  %r = "mlopt.attention"(%s, %v, %o) {{indexing_maps = [#weights, #values, #out],
      iterator_types = [#p, #p, #p, #r], zero_rows = true, zero_nans = false,
      causal = {1 if causal else -1} : i64, mlopt.op = "attention", mlopt.rounds = "bf16"}}
      : ({s}, {k}, {out}) -> {out}
"""
    return ATTENTION + program(f"%q: {q}, %k: {k}, %v: {k}", body, [("%r", out)])


@GPUS
@pytest.mark.parametrize(
    "sizes",
    [
        (1, 33, 80, 256, True),  # one block of 64 rows
        (8, 16, 4096, 64, False),
        (1, 64, 8192, 128, False),
        (12, 512, 512, 64, True),
    ],
    ids=str,
)
def test_attention_is_one_kernel_however_few_blocks_it_has(machine, sizes):
    groups, (decision,) = fused(attention(*sizes), machine)
    assert groups == [["scores", "attention"]]
    assert decision.seconds > 0 and decision.bytes > 0
