"""What fusion works out once for all layers that are alike: counted, not timed."""

from __future__ import annotations

from collections import Counter

import pytest
from mlir import ir
from mlopt.dialects.attributes import DECISIONS, GROUP
from mlopt.dialects.context import make_context
from mlopt.passes.costs.cost import Cost
from mlopt.passes.costs.count import Reads
from mlopt.passes.costs.machine import find_machine
from mlopt.passes.domain import Domain
from mlopt.passes.fusion import kinds, price
from mlopt.passes.fusion.graph import Graph
from mlopt.passes.fusion.price import Prices, _InTasks
from mlopt.passes.fusion.sums import Sums
from mlopt.passes.structured import ASSUMED, structured_ops
from mlopt.pipelines.driver import run_pipeline

ROWS, WIDTH = 32, 128
MATRIX, ROW = f"tensor<{ROWS}x{WIDTH}xf32>", f"tensor<{ROWS}xf32>"
WEIGHT = f"tensor<{WIDTH}x{WIDTH}xf32>"
RAISE = "builtin.module(func.func(convert-elementwise-to-linalg),mlopt-raise,canonicalize,cse)"
FUSE = "builtin.module(mlopt-fuse)"


def _layer(number: int) -> str:
    """exp(x @ w) divided by its rows' sums: a product with element-wise work, then rows."""
    return f"""
    %p{number} = linalg.matmul ins(%x{number}, %w{number} : {MATRIX}, {WEIGHT})
      outs(%m : {MATRIX}) -> {MATRIX}
    %e{number} = math.exp %p{number} : {MATRIX}
    %s{number} = linalg.reduce {{ arith.addf }} ins(%e{number} : {MATRIX}) outs(%r : {ROW}) dimensions = [1]
    %b{number} = linalg.broadcast ins(%s{number} : {ROW}) outs(%o : {MATRIX}) dimensions = [1]
    %x{number + 1} = arith.divf %e{number}, %b{number} : {MATRIX}"""


def _stack(layers: int) -> str:
    weights = ", ".join(f"%w{number}: {WEIGHT}" for number in range(layers))
    return f"""
  func.func @main(%x0: {MATRIX}, {weights}) -> {MATRIX} {{
    %zero = arith.constant 0.0 : f32
    %o = tensor.empty() : {MATRIX}
    %q = tensor.empty() : {ROW}
    %m = linalg.fill ins(%zero : f32) outs(%o : {MATRIX}) -> {MATRIX}
    %r = linalg.fill ins(%zero : f32) outs(%q : {ROW}) -> {ROW}
    {"".join(map(_layer, range(layers)))}
    return %x{layers} : {MATRIX}
  }}"""


def _fused(layers: int, monkeypatch: pytest.MonkeyPatch) -> tuple[Counter[str], list[int], int]:
    """How often fusion asks for what, the groups of the structured ops, and the number of decisions."""
    asked: Counter[str] = Counter()
    with make_context(), ir.Location.unknown(), monkeypatch.context() as patch:
        module = ir.Module.parse(_stack(layers))
        run_pipeline(module.operation, RAISE)

        def counted(owner: object, name: str) -> None:
            original = getattr(owner, name)

            def count(*arguments: object, **named: object) -> object:
                asked[name] += 1
                return original(*arguments, **named)

            patch.setattr(owner, name, staticmethod(count) if owner is Domain else count)

        counted(Domain, "build")
        counted(price, "predict")
        counted(price, "work_of")
        counted(kinds, "is_contraction")
        run_pipeline(module.operation, FUSE)
        ops = structured_ops(module.body.operations[0].operation)
        groups = [GROUP.get(op) for op in ops]
        decisions = DECISIONS.get(module.operation)
        assert decisions is not None and None not in groups
        return asked, [group for group in groups if group is not None], len(decisions)


def test_work_that_depends_on_structure_alone_does_not_grow_with_layers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    few, few_groups, few_decisions = _fused(4, monkeypatch)
    many, many_groups, many_decisions = _fused(24, monkeypatch)
    assert few["build"] and few["predict"] and few["work_of"] and few["is_contraction"]
    assert many == few
    # While each layer has groups and decisions of its own.
    assert len(set(many_groups)) == 6 * len(set(few_groups))
    assert many_groups[: len(few_groups)] == few_groups
    assert many_decisions > 5 * few_decisions


def test_ops_that_compute_something_else_are_not_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    alike, _, _ = _fused(4, monkeypatch)
    same = _layer

    def different(number: int) -> str:
        return same(number).replace("math.exp ", f"math.{('exp', 'tanh', 'sqrt', 'erf')[number]} ")

    monkeypatch.setattr(f"{__name__}._layer", different)
    assert _fused(4, monkeypatch)[0]["work_of"] == alike["work_of"] + 3


def test_a_cost_that_is_gone_does_not_give_its_price_to_another() -> None:
    """Python gives the id of an object that is gone to the next one."""

    def seconds(prices: Prices, flops: int) -> float:
        work = Cost(0, elementwise={"f32": flops})
        return prices._price(Reads(ASSUMED), {}, work, _InTasks(1)).seconds

    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(_stack(1))
        graph, machine = Graph(module.body.operations[0].operation), find_machine("cpu")
        prices = Prices(graph, machine)
        amounts = [10**number for number in range(5, 12)]
        found = [seconds(prices, flops) for flops in amounts]
        assert found == [seconds(Prices(graph, machine), flops) for flops in amounts]
        assert found == sorted(set(found))


def test_sums_of_costs_that_are_gone() -> None:
    sums = Sums()
    for number in range(50):
        assert sums.add(Cost(number), Cost(2 * number)).bytes == 3 * number
    assert sums.add(Cost(1), Cost(2)) is sums.known(Cost(3))
