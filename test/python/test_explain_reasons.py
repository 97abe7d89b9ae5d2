"""`mlopt explain`: what stands between two kernels is named, with the op that could not go past it."""

from pathlib import Path

import pytest
from mlopt.pipelines.explain_edges import NOT_TRIED
from mlopt.tools import explain

FACTORIES = """
import torch
from torch import nn
from torch.nn import functional as F

ones = torch.ones

def short_rows():
    return (lambda x, w: F.group_norm(x, 2) * w[:, None, None]), ones(2, 4, 3, 3), ones(4)

def joined_for_a_product():
    return (lambda x, w: x.softmax(-1).mT.reshape(-1, 6) @ w), ones(2, 6, 8), ones(6, 6)

def reduced_twice():
    return (lambda x: x.softmax(-1).reshape(4, 18).sum(0)), ones(8, 9)

def no_common_parts():
    return (lambda x: x.softmax(-1).reshape(9, 8).softmax(-1)), ones(8, 9)

def some_parts():
    return (lambda x: x.softmax(-1).view(8, 3, 4).amax((0, 2))), ones(8, 12)

def products():
    return nn.Sequential(nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 64)), ones(32, 64)

def all_of_it():
    return (lambda x: x / x.sum()), ones(512, 517)

class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTM(5, 6, batch_first=True)

    def forward(self, x):
        return self.cell(x)[0]

def cell():
    return Cell(), ones(3, 4, 5)

def gathered():
    return (lambda t, i: F.embedding(i, t.exp())), ones(4, 8), torch.arange(4).repeat(5)

def pooled():
    return (lambda x, w: F.max_pool2d(F.conv2d(x, w), 2)), ones(1, 4, 18, 18), ones(8, 4, 3, 3)

def pooled_rows():
    return (lambda x: F.max_pool2d(x, 3, 1).sum((2, 3))), ones(1, 4, 18, 18)

def parts_of_rows():
    return (lambda x, y: (y := x.softmax(0))[:, 1:] + y[:, :-1]), ones(8, 9), ones(1)

def overlapping_parts():
    return (lambda x: (y := x.exp())[:, 1:] + y[:, :-1]), ones(8, 12)

def parts_and_all():
    return (lambda x: ((y := x.exp())[:, 3:] * 2, y)), ones(8, 12)

def concat_and_all():
    return (lambda a, b: ((y := torch.cat((a, b), 1)), y * 2)), ones(8, 4), ones(8, 4)

def widened_concat():
    return (lambda a, b: torch.cat((a, b), 1).float().sum(1)), *[ones(8, 4).bfloat16()] * 2

def concat_of_many():
    return (lambda x: torch.cat([x] * 9) * 2), ones(4)

def transposed_scores():
    return (lambda q, k, v: (k @ q.mT).mT.softmax(-1) @ v), *[ones(2, 8, 8)] * 3

def returned_scores():
    return (lambda q, k, v: (((s := q @ k.mT) * 2).softmax(-1) @ v, s)), *[ones(2, 8, 8)] * 3

def norms():
    return nn.Sequential(nn.LayerNorm(8), nn.Linear(8, 8), nn.LayerNorm(8, bias=False)), ones(4, 8)
"""

IN_PART = "what is made in the kernel is read there, along dim 1, in part, from element"
IN_PARTS = "a buffer that is written in parts is complete only after its kernels"
KINDS = {
    "pooled": "a kernel has one contraction or window, not conv2d and max_pool",
    "pooled_rows": "only element-wise ops over all loops of its result follow max_pool in its kernel",
    "parts_of_rows": f"{IN_PART} 1 on: div stays with the rows or products that it is computed from",
    "overlapping_parts": f"{IN_PART} 1 on: parts of it overlap, and exp would be computed twice there",
    "parts_and_all": f"{IN_PART} 3 on: return reads it, too, and exp would be computed twice",
    "concat_and_all": f"{IN_PARTS}: return reads it as a whole",
    "widened_concat": f"{IN_PARTS}: what cast makes of it is more to put together",
    "concat_of_many": f"{IN_PARTS}: for each of its 9 parts the code of its readers would be repeated",
}
SCORES = {
    "transposed_scores": "transpose reads its scores moved: transposed, broadcast or in part",
    "returned_scores": "the scores that mul reads are read by others, too",
}
REASONS = {
    "short_rows": "mul would run along rows of 9 elements, fewer than 16",
    "joined_for_a_product": "matmul, a product, has one loop for the joined dims",
    "reduced_twice": "sum reduces what is made of reductions",
    "no_common_parts": "tensor<8x9xf32> and tensor<9x8xf32> have no parts in common, or unknown ones",
    "some_parts": "amax reduces some of the parts only; and div cannot be made in parts",
}


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("explain") / "factories.py"
    path.write_text(FACTORIES)
    return path


def reasons_of(file: Path, name: str) -> list[str]:
    return reasons_in(f"{file}:{name}")


def reasons_in(source: str | Path) -> list[str]:
    found = explain.explain(str(source), "main", "cpu", "cpu").as_dict()
    return [
        each["reason"] for edge in found["edges"] if edge["function"] == "main" for each in edge["reasons"]
    ]


@pytest.mark.parametrize("name", REASONS)
def test_why_a_reshape_stayed_between_two_kernels(file: Path, name: str) -> None:
    assert f"a reshape is between them: {REASONS[name]}" in reasons_of(file, name)


@pytest.mark.parametrize("name", KINDS)
def test_the_op_that_keeps_two_apart_is_named(file: Path, name: str) -> None:
    assert KINDS[name] in reasons_of(file, name)


@pytest.mark.parametrize("name", SCORES)
def test_why_a_softmax_between_products_is_no_attention(file: Path, name: str) -> None:
    """One cause, the first on the way back from the softmax."""
    (apart,) = explain.explain(f"{file}:{name}", "main", "cpu", "cpu").as_dict()["attention_apart"]
    assert SCORES[name] in str(apart)


def test_two_products_are_two_whatever_is_between(file: Path) -> None:
    assert reasons_of(file, "products") == ["a kernel has one contraction"]


def test_what_is_gathered_more_often_than_it_is_made_is_made_before(file: Path) -> None:
    reason = "exp at the places of a gather would read 160 elements to save writing 32"
    assert reasons_of(file, "gathered") == [reason]


def test_a_total_is_the_parts_that_other_tasks_reduce(file: Path) -> None:
    assert reasons_of(file, "all_of_it") == ["a reduction reads what tasks of other rows reduce"]


UNKNOWN = """
func.func @main(%x: tensor<?x33xf32>) -> tensor<?x33xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x33xf32>
  %0 = tensor.empty() : tensor<f32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<f32>) -> tensor<f32>
  %2 = linalg.reduce {arith.addf} ins(%x : tensor<?x33xf32>) outs(%1 : tensor<f32>) dimensions = [0, 1]
  %3 = tensor.empty(%n) : tensor<?x33xf32>
  %4 = linalg.broadcast ins(%2 : tensor<f32>) outs(%3 : tensor<?x33xf32>) dimensions = [0, 1]
  %5 = arith.divf %x, %4 : tensor<?x33xf32>
  return %5 : tensor<?x33xf32>
}
"""


def test_a_full_reduction_waits_for_its_tasks(tmp_path: Path) -> None:
    """Of unknown length: what is known is short, or has parts."""
    path = tmp_path / "total.mlir"
    path.write_text(UNKNOWN)
    assert reasons_in(path) == ["a full reduction is there only when all of its tasks are done"]


def test_work_that_is_done_again_in_each_reader_has_reasons_in_each(file: Path) -> None:
    """The last reader's are not taken for those of the others."""
    reasons = reasons_of(file, "cell")
    assert reasons
    assert NOT_TRIED not in reasons


def test_kernels_that_share_constants_only_are_not_beside_each_other(file: Path) -> None:
    found = explain.explain(f"{file}:norms", "main", "cpu", "cpu")
    assert len(found.of("main")) == 3
    assert [edge["beside"] for edge in found.edges if edge["bytes"] == 0] == []
