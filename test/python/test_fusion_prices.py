"""What fusion decides by the blocks of a schedule, and by rows that are read again: best answers known."""

from __future__ import annotations

import re

import pytest
from mlopt.passes.costs.cost import Cost
from mlopt.passes.costs.machine import find_machine
from mlopt.passes.costs.roofline import predict
from mlopt.passes.fusion.profit import should_fuse
from mlopt.passes.fusion.saving import Saving
from mlopt.passes.raising.totals import SMALL
from mlopt.test.python.fusion_programs import elementwise, fused, matmul, program, total

MACHINES = pytest.mark.parametrize("machine", ["cpu", "a100", "h100", "h200"])
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


ROWS = 512


def by_totals(inputs, width):
    """y = z / z.sum(-1) of z, the sum of so many tensors of rows of f32."""
    kind, one = f"tensor<{ROWS}x{width}xf32>", f"tensor<{ROWS}xf32>"
    names = [f"%x{number}" for number in range(inputs)]
    sums = [
        f"%s{at} = arith.addf %{f's{at - 1}' if at > 1 else 'a0'}, %a{at} : f32" for at in range(1, inputs)
    ]
    last = f"%y = arith.negf %{f's{inputs - 1}' if inputs > 1 else 'a0'} : f32"
    body = elementwise("z", [(name, "#id", kind) for name in names], kind, "\n    ".join([*sums, last]))
    body += total("total", "%z", kind, one)
    body += elementwise(
        "y", [("%z", "#id", kind), ("%total", "#row", one)], kind, "%y = arith.divf %a0, %a1 : f32"
    )
    return program(", ".join(f"{name}: {kind}" for name in names), body, [("%y", kind)])


@MACHINES
@pytest.mark.parametrize(
    ("inputs", "width", "parted"),
    [
        (1, 1 << 20, False),  # times the size of a tensor: 1 + 1 read, 1 written; in two kernels 2 and 2
        (2, 1 << 20, False),  # 2 + 2 and 1; 3 and 2
        (4, 1 << 20, True),  # 4 + 4 and 1; 5 and 3
        (4, 1 << 10, False),  # which caches keep
    ],
)
def test_what_is_made_of_many_long_rows_is_stored_and_not_made_again(machine, inputs, width, parted):
    # A row of 4 MiB is read again for its second pass: by each processor of a CPU out of memory, and by
    # blocks of a GPU, which have a 108th of the L2 cache. (The least, 5 and 2, has the total in the kernel
    # that stores z: that is not tried, since z waits for its readers, which become one before.)
    groups, decisions = fused(by_totals(inputs, width), machine)
    assert groups == ([["total", "y"], ["z"]] if parted else [["z", "total", "y"]])
    size = 4 * ROWS * width
    refused = [each for each in decisions if each.reason]
    assert [each.ops for each in refused] == (["z -> total", "z -> y"] if parted else [])
    for each in refused:
        assert each.reason == f"rows that no cache keeps would be read again: {(inputs - 1) * size} bytes"
        assert each.bytes == (3 - inputs) * size
        assert each.seconds < 0


@pytest.mark.parametrize(
    ("saving", "reason"),
    [
        (Saving(8, 1e-9, 1, True, 0.0), None),
        (Saving(0, 0.0, 16, False, 0.0), "it saves no time"),
        (Saving(8, -1e-9, 16, False, 0.0, reread=8), "it saves no time"),  # bytes are saved all the same
        (
            Saving(-8, -1e-9, 16, False, 0.0, reread=9),
            "rows that no cache keeps would be read again: 9 bytes",
        ),
        (Saving(-8, -1e-9, 1, False, 0.0, reread=8), "only 1 task would be left, 16 are wanted"),
        (Saving(8, -2e-9, 15, True, 0.0, again=1e-9), "only 15 tasks would be left, 16 are wanted"),
        (
            Saving(8, -1e-9, 15, True, 0.0, again=2e-9),
            "what would be computed again costs more than is saved: exp, 3 times",
        ),
        (Saving(8, -1e-9, 1, True, 0.0, "it waits", 2e-9, 8), "it waits"),
    ],
)
def test_the_reason_is_what_costs_most(saving, reason):
    """What makes a kernel slow, what is computed again, few tasks, rows read again; in this order."""
    assert should_fuse(saving, 16, lambda: "exp, 3 times") == reason


def test_a_total_that_one_task_makes_is_what_a_processor_has_to_itself():
    """So is a softmax of it, the longest chain of totals that is one kernel: in f32 read and written once."""
    cpu = find_machine("cpu")
    alone, twice = (predict(Cost(8 * count), cpu, 1).seconds for count in (SMALL, 2 * SMALL))
    assert alone <= cpu.small < twice
