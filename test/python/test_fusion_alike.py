"""What fusion takes for alike: each difference that an answer may depend on makes another key."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch
from mlir import ir
from mlopt.dialects.context import make_context
from mlopt.frontends.torch import capture
from mlopt.passes.fusion.alike import Alike
from mlopt.passes.fusion.graph import Graph
from mlopt.passes.groups import entry_ops
from mlopt.pipelines.driver import run_pipeline
from mlopt.pipelines.shared import LINALG, kernels
from mlopt.test.corpus.transformers import Gpt2Block
from mlopt.test.python.frontend_graphs import import_text
from torch import Tensor, nn

F32, F64, DYNAMIC = "tensor<8x8xf32>", "tensor<8x8xf64>", "tensor<?x?xf32>"
ADD = "%z = arith.addf %a, %b : f32"


def op(
    body: str = ADD,
    reads: str = "%x, %y",
    *,
    kind: str = F32,
    second: str = "(i, j)",
    out: str = "%o",
    loops: str = '"parallel", "parallel"',
) -> str:
    """An element-wise op of two tensors; what it makes gets its name from `function`."""
    element = kind.rstrip(">").split("x")[-1]
    maps = ", ".join(f"affine_map<(i, j) -> {each}>" for each in ("(i, j)", second, "(i, j)"))
    return f"""linalg.generic {{indexing_maps = [{maps}], iterator_types = [{loops}]}}
      ins({reads} : {kind}, {kind}) outs({out} : {kind}) {{
    ^bb0(%a: {element}, %b: {element}, %c: {element}):
      {body}
      linalg.yield %z : {element}
  }} -> {kind}"""


def fill(number: str) -> str:
    return f"linalg.fill ins({number} : f32) outs(%o : {F32}) -> {F32}"


def compare(predicate: str) -> str:
    return op(f"%p = arith.cmpf {predicate}, %a, %b : f32\n%z = arith.select %p, %a, %b : f32")


def constant(number: str) -> str:
    return op(f"%p = arith.constant {number} : f32\n%z = arith.addf %a, %p : f32")


@contextmanager
def function(*ops: str, returned: str = "%0") -> Iterator[tuple[ir.Operation, list[ir.Operation]]]:
    """A function that makes %0, %1 … by ``ops``, and those."""
    body = "\n  ".join(f"%{number} = {text}" for number, text in enumerate(ops))
    kinds = ", ".join(F32 for _ in returned.split())
    text = f"""
func.func @main(%x: {F32}, %y: {F32}, %x64: {F64}, %y64: {F64}, %xd: {DYNAMIC}, %yd: {DYNAMIC},
                %od: {DYNAMIC}, %number: f32) -> ({kinds}) {{
  %one = arith.constant 1.0 : f32
  %two = arith.constant 2.0 : f32
  %o = tensor.empty() : {F32}
  %o64 = tensor.empty() : {F64}
  {body}
  return {returned} : {kinds}
}}"""
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        func = module.body.operations[0].operation
        yield func, entry_ops(func)[-len(ops) :]


DIFFERENCES = {
    "map": (op(), op(second="(j, i)")),
    "loops": (op(), op(loops='"parallel", "reduction"')),
    "predicate": (compare("olt"), compare("ogt")),
    "function": (op("%z = math.exp %a : f32"), op("%z = math.tanh %a : f32")),
    "flags": (op(), op("%z = arith.addf %a, %b fastmath<reassoc> : f32")),
    "order": (op("%z = arith.subf %a, %b : f32"), op("%z = arith.subf %b, %a : f32")),
    "elements": (op(), op("%z = arith.addf %a, %a : f32")),
    "constant": (op("%z = arith.addf %a, %one : f32"), op("%z = arith.addf %a, %two : f32")),
    "own constant": (constant("1.0"), constant("2.0")),
    "dtype": (op(), op("%z = arith.addf %a, %b : f64", "%x64, %y64", kind=F64, out="%o64")),
    "size": (op(), op(reads="%xd, %yd", kind=DYNAMIC, out="%od")),
    "filled with": (fill("%one"), fill("%two")),
    "filled with an argument": (fill("%one"), fill("%number")),
}


@pytest.mark.parametrize("pair", DIFFERENCES.values(), ids=DIFFERENCES.keys())
def test_ops_that_differ_have_forms_of_their_own(pair: tuple[str, str]) -> None:
    with function(op(), *pair, *pair) as (_, [_, *ops]):
        alike = Alike()
        forms = [form for form in map(alike.form_of, ops) if form is not None]
        one, other, same_one, same_other = (form.number for form in forms)
        assert one == same_one != other == same_other
        keys = [alike.key_of([(each, 0)], lambda _: True) for each in ops]
        assert None not in keys and keys[0] == keys[2] != keys[1] == keys[3]


def test_ops_that_read_other_values_are_alike() -> None:
    with function(op(), op(reads="%y, %x"), op(reads="%0, %1")) as (_, ops):
        alike = Alike()
        assert len({form.number for form in map(alike.form_of, ops) if form is not None}) == 1


def test_an_op_whose_body_reads_a_tensor_has_no_form() -> None:
    body = f"%i = linalg.index 0 : index\n%z = tensor.extract %x[%i, %i] : {F32}"
    with function(op(), op(body)) as (_, ops):
        alike = Alike()
        assert alike.form_of(ops[1]) is None
        assert alike.key_of([(ops[0], 0), (ops[1], 0)], lambda _: True) is None
        asked = [alike.once_for("number", ops[1], lambda number=number: number) for number in (1, 2)]
        assert asked == [1, 2]


PAIRS = {
    "the same": (op(), op(reads="%0, %y"), op(reads="%y, %x"), op(reads="%2, %x"), True),
    "one operand twice": (op(), op(reads="%0, %y"), op(reads="%x, %x"), op(reads="%2, %x"), False),
    "read in another place": (op(), op(reads="%0, %y"), op(), op(reads="%y, %2"), False),
    "not read": (op(), op(reads="%0, %y"), op(), op(reads="%x, %y"), False),
    "one more tensor": (op(), op(reads="%0, %y"), op(), op(reads="%2, %0"), False),
}


@pytest.mark.parametrize("case", PAIRS.values(), ids=PAIRS.keys())
def test_keys_tell_who_reads_whom(case: tuple[str, str, str, str, bool]) -> None:
    *texts, same = case
    with function(*texts) as (_, ops):
        alike = Alike()
        one, other = (
            alike.key_of(zip(pair, (0, 1), strict=True), lambda _: True) for pair in (ops[:2], ops[2:])
        )
        assert None not in (one, other) and (one == other) == same


def test_keys_tell_which_results_are_needed_and_how_groups_are_split() -> None:
    with function(op(), op(reads="%0, %y"), op(reads="%1, %y")) as (_, ops):
        alike, results = Alike(), [each.results[0] for each in ops]
        splits, subsets = ((0, 0, 1), (0, 1, 1), (0, 1, 0), (0, 1, 2)), ((0,), (1,), (2,), (1, 2))
        keys = {
            alike.key_of(zip(ops, split, strict=True), [results[at] for at in subset].__contains__)
            for split in splits
            for subset in subsets
        }
        assert None not in keys and len(keys) == len(splits) * len(subsets)


def test_a_graph_tells_which_results_others_read() -> None:
    ops = op(), op(reads="%0, %y"), op(), op(reads="%2, %y"), op(), op(reads="%4, %y")
    with function(*ops, returned="%1, %2, %3, %5") as (func, made):
        graph = Graph(func)
        groups = [graph.add(each) for each in made]
        one, read, same = (graph.key_of(groups[at : at + 2]) for at in (0, 2, 4))
        assert one == same != read
        assert graph.key_of([graph.joined(groups[:2])]) != one


def test_a_copy_for_one_reader_is_alike_to_what_one_reads() -> None:
    ops = op(), op(reads="%0, %y"), op(second="(j, i)", reads="%0, %y"), op(), op(reads="%3, %y")
    with function(*ops, returned="%1, %2, %4") as (func, made):
        graph = Graph(func)
        shared, reader, other, *alone = (graph.add(each) for each in made)
        assert graph.key_of((shared, reader)) != graph.key_of(alone)
        copied = graph.copy_for(shared, reader)
        form = graph.alike.form_of(made[1])
        assert form is not None and list(form.operands) == list(made[1].operands)
        assert form.operands[0] == copied.ops[0].results[0]
        assert graph.key_of((copied, reader)) == graph.key_of(alone)
        assert graph.key_of((shared, other)) != graph.key_of(alone)


def test_what_is_forgotten_is_looked_at_again() -> None:
    with function(op()) as (_, [add]):
        alike = Alike()
        form = alike.form_of(add)
        assert alike.form_of(add) is form
        alike.forget(add)
        assert alike.form_of(add) is not form and alike.form_of(add) == form


class Layers(nn.Module):
    """Layers that differ in little: turned around, read twice, read by others, or not at all."""

    def __init__(self) -> None:
        super().__init__()
        self.linears = nn.ModuleList(nn.Linear(16, 16) for _ in range(12))

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        kept = []
        for number, linear in enumerate(self.linears):
            y = torch.exp(linear(x))
            if number % 6 == 1:
                y = y.t().contiguous() + x
            elif number % 6 == 2:
                kept.append(y)
            elif number % 6 == 3:
                kept.append((y.half() + 1).float().sum(0))
            elif number % 6 == 4:
                y = torch.where(y > 1, y, y * y)
            elif number % 6 == 5:
                y = torch.where(y < 1, y, y * x)
            x = y / y.sum(1, keepdim=True)
        return x, *kept


class Kept(nn.Module):
    """Equal factors of products that others read: the caller one, another product the other."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.other = (nn.Linear(64, 64, bias=False) for _ in range(2))

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        kept = x * 0.5
        one = self.one(kept)
        read = y * 0.5
        return one, kept, self.other(read), read.t() @ read


def fused(text: str, machine: str) -> str:
    passes = f"{LINALG.passes},{kernels(machine).passes.split(',mlopt-outline')[0]}"
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        run_pipeline(module.operation, f"builtin.module({passes})")
        return str(module)


@pytest.mark.parametrize("machine", ["cpu", "h100"])
@pytest.mark.parametrize(
    ("module", "inputs"),
    [
        (nn.Sequential(Gpt2Block(32, 4), Gpt2Block(32, 4)), (torch.randn(2, 8, 32),)),
        (Layers(), (torch.randn(16, 16),)),
        (Kept(), (torch.randn(64, 64), torch.randn(64, 64))),
    ],
    ids=["gpt2", "mixed", "kept"],
)
def test_fusion_does_the_same_if_it_asks_each_time(
    module: nn.Module, inputs: tuple[Tensor, ...], machine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = import_text(capture(module.eval(), inputs))
    once = fused(text, machine)
    questions = []

    def each_time(_self, question, _key, answer):
        questions.append(question)
        return answer()

    monkeypatch.setattr(Alike, "once", each_time)
    assert fused(text, machine) == once
    assert questions
