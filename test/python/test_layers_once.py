"""Equal layers pass through the stage of kernels once: the IR is the same as if all of them did."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import mlopt
import pytest
import torch
import torch.nn.functional as F
from mlir import ir
from mlopt.dialects.context import make_context
from mlopt.options import Options
from mlopt.passes.layers import once
from mlopt.passes.layers.find import FEWEST, find_layers
from mlopt.passes.operations import nested_ops
from mlopt.pipelines.cpu import cpu_stages
from mlopt.pipelines.cuda import cuda_stages
from mlopt.pipelines.driver import PassEvent
from mlopt.pipelines.stages import Stage
from mlopt.runtime.requests import import_program
from mlopt.tools.tracing import trace
from torch import nn

ROWS, WIDTH = 24, 128
MATRIX, ROW = f"tensor<{ROWS}x{WIDTH}xf32>", f"tensor<{ROWS}xf32>"
WEIGHT, BIAS = f"tensor<{WIDTH}x{WIDTH}xf32>", f"tensor<{WIDTH}xf32>"
CPU, GPU = cpu_stages(512)[:2], cuda_stages("sm_80", 80)[:2]
Layer = Callable[[int], str]


def _product(number: int) -> str:
    """x + relu(x @ w + bias)."""
    return f"""
    %p{number} = linalg.matmul ins(%x{number}, %w{number} : {MATRIX}, {WEIGHT})
      outs(%zeros : {MATRIX}) -> {MATRIX} loc("layer":1:1)
    %b{number} = linalg.broadcast ins(%bias{number} : {BIAS}) outs(%o : {MATRIX})
      dimensions = [0] loc("layer":2:1)
    %s{number} = arith.addf %p{number}, %b{number} : {MATRIX} loc("layer":2:1)
    %r{number} = arith.maximumf %s{number}, %zeros : {MATRIX} loc("layer":3:1)
    %x{number + 1} = arith.addf %x{number}, %r{number} : {MATRIX} loc("layer":4:1)"""


def _norm(number: int) -> str:
    """exp(x @ w) over its rows' sums, times a weight for each column."""
    return f"""
    %p{number} = linalg.matmul ins(%x{number}, %w{number} : {MATRIX}, {WEIGHT})
      outs(%zeros : {MATRIX}) -> {MATRIX} loc("layer":1:1)
    %e{number} = math.exp %p{number} : {MATRIX} loc("layer":2:1)
    %s{number} = linalg.reduce {{ arith.addf }} ins(%e{number} : {MATRIX}) outs(%nulls : {ROW})
      dimensions = [1] loc("layer":3:1)
    %c{number} = linalg.broadcast ins(%s{number} : {ROW}) outs(%o : {MATRIX})
      dimensions = [1] loc("layer":3:1)
    %d{number} = arith.divf %e{number}, %c{number} : {MATRIX} loc("layer":3:1)
    %b{number} = linalg.broadcast ins(%bias{number} : {BIAS}) outs(%o : {MATRIX})
      dimensions = [0] loc("layer":4:1)
    %x{number + 1} = arith.mulf %d{number}, %b{number} : {MATRIX} loc("layer":4:1)"""


def _carrying(op: str) -> Layer:
    """A layer that hands on a second value, of which it makes ``op`` without anything of its own."""
    return lambda number: (
        f"""{_product(number)}
    %y{number + 1} = {op.format(f"%y{number}")} : {MATRIX} loc("layer":5:1)"""
    )


def _stack(layers: int, layer: Layer, result: str = "") -> str:
    arguments = ", ".join(
        f"%w{each}: {WEIGHT} {{mlopt.weight}}, %bias{each}: {BIAS} {{mlopt.weight}}" for each in range(layers)
    )
    return f"""
  func.func @main(%x0: {MATRIX}, %y0: {MATRIX}, {arguments}) -> {MATRIX} {{
    %zero = arith.constant 0.0 : f32
    %o = tensor.empty() : {MATRIX}
    %q = tensor.empty() : {ROW}
    %zeros = linalg.fill ins(%zero : f32) outs(%o : {MATRIX}) -> {MATRIX}
    %nulls = linalg.fill ins(%zero : f32) outs(%q : {ROW}) -> {ROW}
    {"".join(map(layer, range(layers)))}
    return %{result or f"x{layers}"} : {MATRIX}
  }}"""


def _lowered(text: str, stages: tuple[Stage, ...], *, once: bool) -> str:
    """The IR after the stage of kernels, with all places in the source."""
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        for stage in stages:
            replace(stage, layers_once=once and stage.layers_once).run(module.operation)
        return str(module.operation.get_asm(enable_debug_info=True, use_local_scope=True))


def _found(text: str) -> int | None:
    """How many layers are found where the stage of kernels begins."""
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        CPU[0].run(module.operation)
        layers = find_layers(module.operation)
        return None if layers is None else layers.count


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each stack that was found may be put back from a few layers."""
    found: list[bool] = []
    ask = once._adds_itself_only

    def noted(few: ir.Operation, whole: ir.Operation, count: int, run: once.Run) -> bool:
        found.append(ask(few, whole, count, run))
        return found[-1]

    monkeypatch.setattr(once, "_adds_itself_only", noted)
    return found


@pytest.mark.parametrize("layer", [_product, _norm])
@pytest.mark.parametrize("stages", [CPU, GPU], ids=["cpu", "cuda"])
def test_layers_are_put_back_as_they_would_have_been(
    layer: Layer, stages: tuple[Stage, ...], answers: list[bool]
) -> None:
    text = _stack(FEWEST + 4, layer)
    assert _lowered(text, stages, once=True) == _lowered(text, stages, once=False)
    assert answers == [True]


@pytest.mark.parametrize("op", ["math.tanh {}", "arith.addf {0}, %x0", "arith.mulf {0}, {0}"])
@pytest.mark.parametrize("stages", [CPU, GPU], ids=["cpu", "cuda"])
def test_what_one_kernel_gathers_of_all_layers_needs_all(
    op: str, stages: tuple[Stage, ...], answers: list[bool]
) -> None:
    """The chain of the second value is computed behind the last layer."""
    count = FEWEST + 1
    last = f"%last = arith.addf %x{count}, %y{count} : {MATRIX}\n    return %last"
    text = _stack(count, _carrying(op)).replace(f"return %x{count}", last)
    assert _lowered(text, stages, once=True) == _lowered(text, stages, once=False)
    assert answers == [False]


def test_work_does_not_grow_with_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted: what passes see of @main, whatever they do with it."""

    def seen(layers: int) -> list[int]:
        ops: list[int] = []

        def count(event: PassEvent) -> None:
            ops.append(len(nested_ops(event.operation)))

        with make_context(), ir.Location.unknown():
            module = ir.Module.parse(_stack(layers, _norm))
            CPU[0].run(module.operation)
            CPU[1].run(module.operation, observers=[count])
        return ops

    assert seen(40) == seen(FEWEST + 2)


def _reading(weight: Callable[[int], int]) -> str:
    """Layers of which each reads another one's weight."""
    return _stack(FEWEST + 3, lambda number: _norm(number).replace(f"%w{number} ", f"%w{weight(number)} "))


def test_layers_are_found_if_they_read_each_other_alike() -> None:
    enough = FEWEST + 3
    assert _found(_stack(enough, _norm)) == enough
    assert _found(_reading(lambda _: 0)) == enough
    assert _found(_stack(FEWEST - 2, _norm)) is None


def test_layers_that_differ_are_all_compiled() -> None:
    enough = FEWEST + 3
    assert _found(_reading(lambda number: number // 2 * 2)) is None  # two read one weight, then two another
    assert _found(_reading(lambda number: max(number, 1))) is None  # the first two do
    assert _found(_reading(lambda number: enough - 1 - number)) is None  # arguments in another order
    alternating = _stack(enough, lambda number: (_norm if number % 2 else _product)(number))
    assert _found(alternating) is None  # fewer than enough, each of two
    other = {5: "math.tanh"}
    changed = _stack(enough, lambda number: _norm(number).replace("math.exp", other.get(number, "math.exp")))
    assert _found(changed) is None
    places = _stack(enough, lambda number: _norm(number).replace('"layer":2', f'"layer":{20 + number}'))
    assert _found(places) is None  # an error would name the wrong line


def test_what_reads_layers_in_the_middle_needs_all_of_them() -> None:
    enough = FEWEST + 3
    assert _found(_stack(enough, _norm).replace(f"return %x{enough}", "return %x5")) is None
    both = _stack(enough, _norm).replace(
        f"return %x{enough}", f"%last = arith.addf %x{enough}, %x5 : {MATRIX} return %last"
    )
    assert _found(both) is None


def test_what_is_not_alike_after_the_passes_is_compiled_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    text = _stack(FEWEST + 3, _norm)
    whole = _lowered(text, CPU, once=False)
    monkeypatch.setattr(once, "put_back", lambda *_: False)
    assert _lowered(text, CPU, once=True) == whole


class Block(nn.Module):
    """x + gelu(linear(norm(x))), on lines of ours."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.linear = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + F.gelu(self.linear(self.norm(x)))


class Stack(nn.Module):
    """Blocks, and beside them a value that takes a step with each."""

    def __init__(self, steps: bool) -> None:
        super().__init__()
        self.blocks, self.steps = nn.ModuleList(Block() for _ in range(FEWEST + 2)), steps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x
        for block in self.blocks:
            x = block(x)
            y = y * 0.75 if self.steps else y
        return x + y


@pytest.mark.parametrize("steps", [False, True])
def test_a_stack_computes_what_eager_does(steps: bool) -> None:
    stack, x = Stack(steps).eval(), torch.randn(ROWS, WIDTH)
    program = trace(stack, [x], "cpu")
    text = import_program(program.text, program.weight_positions, Options.resolve())
    assert _found(text) == FEWEST + 1  # what the first one reads is made in another place
    found = mlopt.jit(stack, x)(x)
    eager, exact = stack(x), stack.double()(x.double())
    assert (found - exact).abs().max() <= 2 * max((eager - exact).abs().max().item(), 1e-6)
