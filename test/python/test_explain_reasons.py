"""`mlopt explain`: what stands between two kernels is named, with the op that could not go past it."""

from pathlib import Path

import pytest
from mlopt.passes.costs.machine import find_machine
from mlopt.pipelines.explain_edges import NOT_TRIED
from mlopt.test.python.explained import reasons_in
from mlopt.tools import explain, explain_svg, explain_text

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

class Gated(nn.Module):
    def __init__(self, of_up):
        super().__init__()
        self.gate, self.up = nn.Linear(64, 128, bias=False), nn.Linear(64, of_up, bias=False)

    def forward(self, x):
        return (y := F.silu(self.gate(x))) * self.up(x).repeat(1, y.shape[1] // self.up.out_features)

def gated():
    return Gated(128).bfloat16(), ones(32, 64).bfloat16()

def gated_by_less():
    return Gated(64).bfloat16(), ones(32, 64).bfloat16()

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

def kept_weights():
    return (lambda q, k, v: ((w := (q @ k.mT).softmax(-1)) @ v, w)), *[ones(2, 8, 8)] * 3

def masked_weights():
    return (lambda q, k, v: ((q @ k.mT).softmax(-1) * v) @ v), *[ones(2, 8, 8)] * 3

def turned_weights():
    return (lambda q, k, v: (q @ k.mT).softmax(-1).mT @ v), *[ones(2, 8, 8)] * 3

def one_row():
    return F.scaled_dot_product_attention, ones(2, 1, 1, 64), *[ones(2, 1, 8192, 64)] * 2

def keys_of_rows():
    return (lambda q, k, v: F.scaled_dot_product_attention(
        q, F.rms_norm(k, (16,))[:, :, 1:10], v.exp(), enable_gqa=True
    )), ones(2, 4, 8, 16), ones(2, 2, 12, 16), ones(2, 2, 9, 16)

def halves():
    return (lambda x: F.glu(F.layer_norm(x, (64,)))), ones(8, 64)

def remainders():
    return (lambda x, d: (x // d)[:, 1:] * 2), *[torch.arange(1, 25).view(4, 6)] * 2

def sums_in_part():
    return (lambda x: x.sum(0)[:, 1:] * 2), ones(4, 6, 8)

def gathered_in_part():
    return (lambda t, i: F.embedding(i, t)[:, 1:] * 2), ones(4, 8), torch.arange(4)

def diagonal():
    return (lambda x: x.exp().diagonal() * 2), ones(8, 8)

def outer():
    return (lambda x, y: (e := x.exp())[:, :, None] * e[:, None] + y), ones(4, 8), ones(4, 8, 8)

class Squeeze(nn.Module):
    def __init__(self):
        super().__init__()
        self.down, self.up = nn.Linear(256, 16), nn.Linear(16, 256)

    def forward(self, x):
        return x * self.up(self.down(x.mean((2, 3))).relu()).sigmoid()[:, :, None, None]

def squeeze():
    return Squeeze().half(), ones(8, 256, 28, 28).half()

def few_tasks():
    return (lambda x: (y := x.softmax(-1)) - y.sum(0)), ones(33, 127)

def cached():
    class Decode(nn.Module):
        def __init__(self):
            super().__init__()
            self.q, self.k = nn.Linear(32, 32), nn.Linear(32, 32)

        def forward(self, x, cache):
            k = torch.cat((cache, self.k(x).view(2, 1, 2, 16).transpose(1, 2)), 2)
            return self.q(x).view(2, 1, 2, 16).transpose(1, 2) @ k.mT
    return Decode(), ones(2, 1, 32), ones(2, 2, 9, 16)

class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two, self.three = (nn.Linear(8, 8) for _ in range(3))

    def forward(self, x):
        x = self.one(x)
        x = self.two(x)
        return self.three(x)

def layers():
    return Layers(), ones(4, 8)

def odd_total():
    return (lambda x: x / x.sum()), ones(99991)

def even_total():
    return (lambda x: x / x.sum()), ones(100000)

def norms():
    return nn.Sequential(nn.LayerNorm(8), nn.Linear(8, 8), nn.LayerNorm(8, bias=False)), ones(4, 8)
"""

IN_PART = "what is made in the kernel is read there, along dim 1, in part, elements"
IN_PARTS = "a buffer that is written in parts is complete only after its kernels"
KINDS = {
    "pooled": "a kernel has one contraction or window, not conv2d and max_pool",
    "pooled_rows": "only element-wise ops over all loops of its result follow max_pool in its kernel",
    "parts_of_rows": f"{IN_PART} 1 to 8: div stays with the rows or products that it is computed from",
    "overlapping_parts": f"{IN_PART} 1 to 11: parts of it overlap, and exp would be computed twice there",
    "parts_and_all": f"{IN_PART} 3 to 11: return reads it, too, and exp would be computed twice",
    "concat_and_all": f"{IN_PARTS}: return reads it as a whole",
    "widened_concat": f"{IN_PARTS}: what cast makes of it is more to put together",
    "remainders": f"{IN_PART} 1 to 5: div checks all of its divisors (arith.floordivsi), so all of it is",
    "sums_in_part": f"{IN_PART} 1 to 7: sum is a reduction, not computed in parts",
    "gathered_in_part": f"{IN_PART} 1 to 7: gather is made of more than the elements at its own place",
    "diagonal": "loops 0 and 1 of exp would be the same loop: mul reads its result along the diagonal",
    "outer": "loops 1 and 2 of mul would be the same loop: it reads what exp makes along both",
    "few_tasks": "only 1 task would be left, 16 are wanted",
    "concat_of_many": f"{IN_PARTS}: for each of its 9 parts the code of its readers would be repeated",
}
SCORES = {
    "kept_weights": "its weights are read by bmm and the caller: by more than the second product",
    "masked_weights": "mul reads its weights before the second product: they may only be divided, cast and",
    "turned_weights": "transpose reads its weights before the second product: they may only be divided,",
    "one_row": "tasks of 381 microseconds should be 8 or more, the few rows of each matrix make 2",
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


@pytest.mark.parametrize("name", REASONS)
def test_why_a_reshape_stayed_between_two_kernels(file: Path, name: str) -> None:
    assert f"a reshape is between them: {REASONS[name]}" in reasons_of(file, name)


@pytest.mark.parametrize("name", KINDS)
def test_the_op_that_keeps_two_apart_is_named(file: Path, name: str) -> None:
    assert any(reason.startswith(KINDS[name]) for reason in reasons_of(file, name))


@pytest.mark.parametrize("name", SCORES)
def test_why_a_softmax_between_products_is_no_attention(file: Path, name: str) -> None:
    """One cause, the first on the way back from the softmax."""
    (apart,) = explain.explain(f"{file}:{name}", "main", "cpu", "cpu").as_dict()["attention_apart"]
    assert SCORES[name] in apart["reason"]
    assert apart["ops"] == f"{apart['where'][0]}: softmax"
    elements = 2 * 8192 if name == "one_row" else 2 * 8 * 8
    # Scores and weights, written and read, but for those written that the caller wants.
    assert apart["bytes_saved"] == (3 if name in ("kept_weights", "returned_scores") else 4) * 4 * elements
    # Two tasks of 380 µs cost more than the bytes of three kernels that share the keys.
    assert (apart["seconds_saved"] < 0) == (name == "one_row")


def edges_of(file: Path, name: str) -> dict[str, str]:
    """Why, by the ops; of the edges of @main."""
    found = explain.explain(f"{file}:{name}", "main", "cpu", "cpu").as_dict()
    edges = [edge for edge in found["edges"] if edge["function"] == "main"]
    return {each["ops"]: each["reason"] for edge in edges for each in edge["reasons"]}


def test_each_edge_between_two_kernels_has_its_own_reason(file: Path) -> None:
    """Halves of one tensor; scores that are reduced, and read element by element."""
    halves = edges_of(file, "halves")
    assert halves["mul -> sigmoid"].startswith(f"{IN_PART} 32 to 63: ")
    assert halves["mul -> mul"].startswith(f"{IN_PART} 0 to 31: ")
    row = edges_of(file, "one_row")
    assert row["mul -> amax"].startswith("only element-wise ops over all loops of its result follow bmm")
    assert row["mul -> sub"] == "the kernels are two because of mul -> amax"
    assert row["exp -> bmm"] == "only element-wise work is computed again for each tile of bmm, amax is none"
    assert row["where -> div"] == "the kernels are two because of exp -> bmm"


def test_what_one_kernel_would_save_is_said_once(file: Path) -> None:
    """Where several reasons are against it, in a line of its own."""
    edges = explain.explain(f"{file}:halves", "main", "cpu", "cpu").edges
    found = [explain_text.reasons_of(edge) for edge in edges]
    assert all([line for line in lines if "would save" in line] == lines[-1:] for lines in found)
    assert any(lines[-1].startswith("one kernel would save ") for lines in found)


def test_what_attention_reads_is_named(file: Path) -> None:
    """Keys of several heads, in part; values that are no product's."""
    edges = edges_of(file, "keys_of_rows")
    assert (
        edges["mul -> scores"]
        == "only element-wise work is computed again for each tile of scores, sum is none"
    )
    assert edges["exp -> attention"].startswith("what is made in the kernel is read there transposed: ")


def test_a_product_of_a_concat_waits_for_its_parts(file: Path) -> None:
    """It does not write them: it is another kernel that does."""
    assert edges_of(file, "cached")["concat -> bmm"] == IN_PARTS.removesuffix(": ")


def test_equal_layers_have_reasons_with_their_own_lines(file: Path) -> None:
    first = FACTORIES[: FACTORIES.index("x = self.one(x)")].count("\n") + 1
    found = explain.explain(f"{file}:layers", "main", "cpu", "cpu")
    reasons = [each for edge in found.as_dict()["edges"] for each in edge["reasons"]]
    lines = [[place.removeprefix(f"{file}:") for place in each["where"]] for each in reasons]
    assert lines == [[str(first), str(first + 1)], [str(first + 1), str(first + 2)]]
    assert {each["reason"] for each in reasons} == {"a kernel has one contraction, not matmul and matmul"}
    text = explain_text.text(found)
    assert f"    add -> matmul ({file}:{first} -> {first + 1}): a kernel" in text
    tips = explain_svg.svg(found)
    for edge in found.edges:
        for line in explain_text.reasons_of(edge):
            assert line.replace(">", "&gt;") in tips


def test_totals_of_any_length_have_the_same_numbers(file: Path) -> None:
    """Parts are read in place, or through a view: neither is a copy, nor a tensor of its own."""
    odd, even = (
        explain.explain(f"{file}:{name}", "main", "cpu", "cpu") for name in ("odd_total", "even_total")
    )
    for found, length in ((odd, 99991), (even, 100000)):
        data = found.as_dict()
        assert data["total"]["bytes_unfused"] == pytest.approx(3 * 4 * length, rel=0.01)
        assert all(
            op["where"] for kernel in data["kernels"] for call in kernel["calls"] for op in call["ops"]
        )
        ((reason,),) = (edge["reasons"] for edge in data["edges"])
        assert reason["bytes_saved"] == pytest.approx(4 * length, rel=0.01)


def test_two_products_are_two_whatever_is_between(file: Path) -> None:
    assert reasons_of(file, "products") == ["a kernel has one contraction, not matmul and matmul"]


def products_apart(file: Path, name: str) -> list[str]:
    return [each["reason"] for each in explain.explain(f"{file}:{name}", "main", "cuda:sm_80").products]


def test_products_in_one_kernel_are_not_said_to_be_apart(file: Path) -> None:
    """They read their tensor once without being one product; two of other widths are two kernels."""
    assert products_apart(file, "gated") == []
    (reason,) = products_apart(file, "gated_by_less")
    assert reason.endswith("reads one of them, and only products and attention read a part where it is")


def test_a_product_that_would_multiply_an_image_says_how_few_blocks_it_has(file: Path) -> None:
    """Of squeeze and excitation: the gate is stored, and what it multiplies is a kernel of all processors."""
    found = explain.explain(f"{file}:squeeze", "main", "cuda:sm_80")
    kernels = {call["id"]: kernel for kernel in found.kernels for call in kernel.calls}
    (edge,) = (each for each in found.edges if "tasks would be left" in each["reasons"][0]["reason"])
    product, multiplied = kernels[edge["from"]], kernels[edge["to"]]
    assert product.tasks == 8 and multiplied.cost.bytes > 2 * 2 * 8 * 256 * 28 * 28
    # As one kernel its blocks would have their share of the bandwidth for all bytes of the image.
    machine = find_machine("a100")
    together = machine.launch + multiplied.cost.bytes / machine.bandwidth * machine.processors / 8
    saved = product.prediction.seconds + multiplied.prediction.seconds - together
    assert edge["reasons"][0]["seconds_saved"] == pytest.approx(saved, rel=0.02)
    (line,) = explain_text.reasons_of(edge)
    assert "only 8 tasks would be left, 108 are wanted; would save 0.008 MB and cost 36.84 µs" in line


def test_what_is_gathered_more_often_than_it_is_made_is_made_before(file: Path) -> None:
    reason = "exp at the places of a gather would read 160 elements to save writing 32"
    assert reasons_of(file, "gathered") == [reason]


def test_work_that_is_done_again_in_each_reader_has_reasons_in_each(file: Path) -> None:
    """The last reader's are not taken for those of the others."""
    reasons = reasons_of(file, "cell")
    assert reasons
    assert NOT_TRIED not in reasons


def test_kernels_that_share_constants_only_are_not_beside_each_other(file: Path) -> None:
    found = explain.explain(f"{file}:norms", "main", "cpu", "cpu")
    assert len(found.of("main")) == 3
    assert [edge["beside"] for edge in found.edges if edge["bytes"] == 0] == []
