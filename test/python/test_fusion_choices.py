"""What fusion chooses where the best answer is known, on each machine; programs as linalg text."""

from __future__ import annotations

import re
import time

import pytest
from mlir import ir
from mlopt.dialects.context import make_context
from mlopt.passes.base import PassError
from mlopt.passes.costs.machine import find_machine
from mlopt.passes.fuse import Fuse
from mlopt.passes.fusion.legal import LARGEST
from mlopt.test.python.fusion_programs import elementwise, fused, matmul, program, total

AGAIN = "what would be computed again costs more than is saved: made, "
MACHINES = pytest.mark.parametrize("machine", ["cpu", "a100", "h100"])


@MACHINES
@pytest.mark.parametrize("reader", ["half", "returned"])
@pytest.mark.parametrize("turned", [False, True])
def test_the_epilogue_goes_where_more_is_saved(machine, reader, turned):
    """A sum of two products can be in the kernel of one of them: of which saves more, first or last.

    Fused with ``dear`` it saves an f32 tensor, which is not written and not read. What the other one makes is
    half as large, or is returned, so that only the read is saved.
    """
    wide, narrow = "tensor<256x512xf32>", "tensor<256x512xf16>"
    dear = matmul("dear", "%x", "%w", 256, 512, 64)
    other = matmul("other", "%z", "%v", 256, 512, 64)
    reads, results = [("%dear", "#id", wide), ("%other", "#id", wide)], [("%sum", wide), ("%other", wide)]
    add, groups = "%y = arith.addf %a0, %a1 : f32", [["dear", "sum"], ["other"]]
    if reader == "half":
        other += elementwise(
            "half", [("%other", "#id", wide)], narrow, "%y = arith.truncf %a0 : f32 to f16", "f16"
        )
        reads[1], results = ("%half", "#id", narrow), results[:1]
        add = "%e = arith.extf %a1 : f16 to f32\n    %y = arith.addf %a0, %e : f32"
        groups = [["dear", "sum"], ["half", "other"]]
    body = (other + dear if turned else dear + other) + elementwise("sum", reads, wide, add)
    factors = ("%x: tensor<256x64xf32>", "%z: tensor<256x64xf32>")
    arguments = ", ".join((*factors, "%w: tensor<64x512xf32>", "%v: tensor<64x512xf32>"))
    found, decisions = fused(program(arguments, body, results), machine)
    assert sorted(map(sorted, found)) == groups
    (refused,) = [each for each in decisions if each.reason]
    assert re.fullmatch("a kernel has one contraction, not (dear and other|other and dear)", refused.reason)
    (taken,) = [each for each in decisions if each.ops == "dear -> sum"]
    assert taken.seconds > refused.seconds > 0
    assert taken.bytes == 2 * 4 * 256 * 512 > refused.bytes


@MACHINES
def test_cheap_work_is_repeated_and_dear_work_is_stored(machine):
    # A value with two readers that cannot be one kernel: sums of rows, and of columns.
    kind, half = "tensor<2048x1024xf32>", "tensor<2048x1024xf16>"
    readers = total("rows", "%made", kind, "tensor<2048xf32>")
    readers += total("columns", "%made", kind, "tensor<1024xf32>", kept="#col")
    results = [("%rows", "tensor<2048xf32>"), ("%columns", "tensor<1024xf32>")]
    cheap = elementwise("made", [("%x", "#id", half)], kind, "%y = arith.extf %a0 : f16 to f32")
    groups, _ = fused(program(f"%x: {half}", cheap + readers, results), machine)
    assert groups == [["made", "columns"], ["made", "rows"]]
    steps = ["%v0 = arith.extf %a0 : f16 to f32"]
    steps += [f"%v{step + 1} = math.atan %v{step} : f32" for step in range(40)]
    dear = elementwise("made", [("%x", "#id", half)], kind, "\n".join([*steps, "%y = math.atan %v40 : f32"]))
    groups, _ = fused(program(f"%x: {half}", dear + readers, results), machine)
    assert len(groups) == 2
    assert sum(names.count("made") for names in groups) == 1


@MACHINES
def test_work_on_a_vector_is_repeated_for_rows_only_if_that_is_less_than_a_launch(machine):
    def groups_of(rows):
        kind = f"tensor<{rows}x4096xf32>"
        body = elementwise(
            "exp", [("%v", "#vec", "tensor<4096xf32>")], "tensor<4096xf32>", "%y = math.exp %a0 : f32"
        )
        body += elementwise(
            "add",
            [("%x", "#id", kind), ("%exp", "#col", "tensor<4096xf32>")],
            kind,
            "%y = arith.addf %a0, %a1 : f32",
        )
        return fused(program(f"%x: {kind}, %v: tensor<4096xf32>", body, [("%add", kind)]), machine)[0]

    assert groups_of(1) == [["exp", "add"]]
    assert groups_of(65536) == [["add"], ["exp"]]


@pytest.mark.parametrize(
    ("machine", "sizes"),
    [
        # 4096 elements, added up in each of 128 tasks, take longer than a launch; one task repeats nothing.
        ("cpu", {(1024, 1024, 4096): False, (64, 32, 1000): True, (64, 64, 64): True}),
        # Blocks run side by side: what each adds up takes less than a launch until there are very many.
        ("a100", {(1024, 1024, 4096): True, (64, 32, 4096): True, (32768, 4096, 4096): False}),
    ],
)
def test_a_total_is_added_up_again_by_as_many_tasks_as_the_schedule_makes(machine, sizes):
    def is_one_kernel(rows, columns, length):
        kind, vector = f"tensor<{rows}x{columns}xf32>", f"tensor<{length}xf32>"
        body = f"""  %one_e = tensor.empty() : tensor<f32>
  %one_f = linalg.fill ins(%zero : f32) outs(%one_e : tensor<f32>) -> tensor<f32>
  %one = linalg.generic {{indexing_maps = [#vec, affine_map<(j) -> ()>], iterator_types = ["reduction"]}}
      ins(%v : {vector}) outs(%one_f : tensor<f32>) attrs = {{mlopt.op = "total"}} {{
  ^bb0(%p: f32, %s: f32):
    %u = arith.addf %s, %p : f32
    linalg.yield %u : f32
  }} -> tensor<f32>
"""
        reads = [("%x", "#id", kind), ("%one", "affine_map<(i, j) -> ()>", "tensor<f32>")]
        body += elementwise("mul", reads, kind, "%y = arith.mulf %a0, %a1 : f32")
        return len(fused(program(f"%x: {kind}, %v: {vector}", body, [("%mul", kind)]), machine)[0]) == 1

    assert {each: is_one_kernel(*each) for each in sizes} == sizes


@pytest.mark.parametrize(("machine", "pays"), [("cpu", (False, False, True)), ("a100", (True, False, True))])
def test_a_window_computes_again_what_it_reads(machine, pays):
    # y[i, o] = sum of f(x[s * i + k, c]) * w[k, c, o]: a GPU would compute f for each k and each block of o,
    # a CPU ahead of the window for each block of i and of o. It is priced; windows that do not overlap
    # compute nothing again.
    def would_pay(step, window, channels, body):
        size, filters = f"{step * 4096 + window - step}x64", f"{window}x64x{channels}"
        kind, result = f"tensor<{size}xf32>", f"tensor<4096x{channels}xf32>"
        place = f"i * {step} + k" if step > 1 else "i + k"
        text = elementwise("made", [("%x", "#id", kind)], kind, body)
        text += f"""  %y_e = tensor.empty() : {result}
  %y_f = linalg.fill ins(%zero : f32) outs(%y_e : {result}) -> {result}
  %y = linalg.generic {{indexing_maps = [affine_map<(i, o, k, c) -> ({place}, c)>,
      affine_map<(i, o, k, c) -> (k, c, o)>, affine_map<(i, o, k, c) -> (i, o)>],
      iterator_types = ["parallel", "parallel", "reduction", "reduction"]}}
      ins(%made, %w : {kind}, tensor<{filters}xf32>) outs(%y_f : {result}) attrs = {{mlopt.op = "conv"}} {{
  ^bb0(%p: f32, %q: f32, %s: f32):
    %t = arith.mulf %p, %q : f32
    %u = arith.addf %s, %t : f32
    linalg.yield %u : f32
  }} -> {result}
"""
        arguments = f"%x: {kind}, %w: tensor<{filters}xf32>"
        groups, decisions = fused(program(arguments, text, [("%y", result)]), machine)
        (decision,) = decisions
        assert decision.reason[: len(AGAIN)] == ("" if decision.seconds > 0 else AGAIN)
        assert groups == ([["conv"], ["made"]] if decision.reason else [["made", "conv"]])
        return decision.seconds > 0

    cheap = "%y = arith.negf %a0 : f32"
    dear = "%e = math.exp %a0 : f32\n    %l = math.log %e : f32\n    %y = math.tanh %l : f32"
    assert pays == (
        would_pay(1, 9, 512, cheap),
        would_pay(1, 9, 512, dear),
        would_pay(2, 2, 64, cheap),
    )


def test_machines_differ():
    # 16 rows of 2048: a launch of a GPU is worth 32768 calls of exp, one of a CPU is not.
    kind, vector = "tensor<16x2048xf32>", "tensor<2048xf32>"
    body = elementwise("exp", [("%v", "#vec", vector)], vector, "%y = math.exp %a0 : f32")
    body += elementwise(
        "add", [("%x", "#id", kind), ("%exp", "#col", vector)], kind, "%y = arith.addf %a0, %a1 : f32"
    )
    text = program(f"%x: {kind}, %v: {vector}", body, [("%add", kind)])
    assert fused(text, "a100")[0] == [["exp", "add"]]
    assert fused(text, "cpu")[0] == [["add"], ["exp"]]


@MACHINES
def test_rows_are_not_fused_into_few_tasks(machine):
    # Two rows of a million: together with their sums the element-wise work would have two tasks.
    kind = "tensor<2x1048576xf32>"
    body = elementwise("neg", [("%x", "#id", kind)], kind) + total("rows", "%neg", kind, "tensor<2xf32>")
    text = program(f"%x: {kind}", body, [("%rows", "tensor<2xf32>"), ("%neg", kind)])
    groups, decisions = fused(text, machine)
    assert groups == [["neg"], ["rows"]]
    assert [each.reason for each in decisions] == [
        f"only 2 tasks would be left, {find_machine(machine).tasks} are wanted"
    ]
    assert decisions[0].seconds < 0 < decisions[0].bytes


def test_what_is_saved_is_what_the_roofline_says():
    kind = "tensor<1024x1024xf32>"
    body = elementwise("one", [("%x", "#id", kind)], kind) + elementwise("two", [("%one", "#id", kind)], kind)
    groups, (decision,) = fused(program(f"%x: {kind}", body, [("%two", kind)]), "a100")
    assert groups == [["one", "two"]]
    assert decision.bytes == 2 * 4 * 1024 * 1024
    assert decision.seconds == pytest.approx(2.5e-6 + decision.bytes / 2.039e12, rel=1e-6)


def test_an_unknown_machine_is_named():
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(program("%x: f32", "", [("%x", "f32")]))
        with pytest.raises(PassError, match="no description of a machine 'a10'"):
            Fuse("a10").run(module.operation)


def chain(count):
    kind = "tensor<64x128xf32>"
    ops = [elementwise(f"x{number + 1}", [(f"%x{number}", "#id", kind)], kind) for number in range(count)]
    return program(f"%x0: {kind}", "".join(ops), [(f"%x{count}", kind)])


def test_time_grows_with_the_length_of_a_chain_and_not_with_its_square():
    times = {}
    for count in (500, 500, 4000):  # the first run warms up
        start = time.process_time()
        groups, decisions = fused(chain(count))
        times[count] = time.process_time() - start
        assert max(len(names) for names in groups) <= LARGEST
        reasons = {each.reason for each in decisions if each.reason}
        assert reasons == {f"a kernel has at most {LARGEST} ops, so that it compiles in bounded time"}
        assert len(groups) <= 2 * -(-count // LARGEST)
    assert times[4000] < 3 * 8 * times[500]


def test_of_few_rows_few_tasks_are_enough_where_one_processor_does_it_all():
    # Two rows of a thousand take a microsecond: a CPU gives that to one thread, however many tasks there are.
    for width, fuses in ((1024, True), (1048576, False)):
        kind = f"tensor<2x{width}xf32>"
        body = elementwise("neg", [("%x", "#id", kind)], kind) + total("rows", "%neg", kind, "tensor<2xf32>")
        text = program(f"%x: {kind}", body, [("%rows", "tensor<2xf32>"), ("%neg", kind)])
        groups, (decision,) = fused(text, "cpu")
        assert groups == ([["neg", "rows"]] if fuses else [["neg"], ["rows"]])
        assert (decision.seconds > 0) is fuses
