"""Scattered sums whose index is expanded from one a row: rows are added, whatever an input's strides are."""

import mlopt
import pytest
import torch

NODES, EDGES, WIDTH = 3000, 2003, 65


def inputs(dtype=torch.float32):
    """Small whole numbers, whose sums no order changes."""
    x, messages = (torch.randint(-9, 9, (rows, WIDTH)).to(dtype) for rows in (NODES, EDGES))
    return x, torch.randint(0, NODES // 2, (EDGES,)), messages


def has_one_a_row(compiled):
    """Whether no kernel or loop makes or reads an index for each element."""
    return f"{EDGES * WIDTH}xi64" not in compiled.asm["kernels"]


FORMS = {
    "scatter_add": lambda x, i, y: x.scatter_add(0, i[:, None].expand(-1, WIDTH), y),
    "in place": lambda x, i, y: torch.zeros_like(x).scatter_add_(0, i[:, None].expand_as(y), y),
    "sum": lambda x, i, y: x.scatter_reduce(0, i.view(-1, 1).expand(-1, WIDTH), y, "sum"),
    "mean": lambda x, i, y: x.scatter_reduce(0, i.view(-1, 1).expand(-1, WIDTH), y, "mean"),
    "others alone": lambda x, i, y: x.scatter_reduce(
        0, i[:, None].expand_as(y), y, "sum", include_self=False
    ),
    "columns": lambda x, i, y: x.t().scatter_add(1, i.expand(WIDTH, -1), y.t()),
    "part": lambda x, i, y: x.scatter_add(0, i[:-7, None].expand(-1, WIDTH), y),
    "narrow": lambda x, i, y: x.scatter_add(0, i[:, None].expand(-1, WIDTH - 3), y),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64], ids=str)
@pytest.mark.parametrize("form", FORMS)
def test_sums(form, dtype):
    x, index, messages = inputs(dtype)
    compiled = mlopt.jit(FORMS[form], x, index, messages)
    x, index, messages = inputs(dtype)
    found, wanted = compiled(x, index, messages), FORMS[form](x, index, messages)
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-2 if form == "mean" else 0)
    if form in ("scatter_add", "in place", "columns", "part"):
        assert has_one_a_row(compiled)


def test_an_input_that_was_expanded_need_not_be():
    x, index, messages = inputs()

    def function(x, i, y):
        return x.scatter_add(0, i, y)

    compiled = mlopt.jit(function, x, index[:, None].expand(-1, WIDTH), messages)
    each = torch.randint(0, NODES, (EDGES, WIDTH))
    for given in (each, index[:, None].expand(-1, WIDTH)):
        torch.testing.assert_close(compiled(x, given, messages), function(x, given, messages), rtol=0, atol=0)


@pytest.mark.parametrize("wrong", [-1, NODES])
def test_an_index_out_of_range_raises(wrong):
    x, index, messages = inputs()
    compiled = mlopt.jit(FORMS["scatter_add"], x, index, messages)
    index[EDGES // 2] = wrong
    with pytest.raises(IndexError, match="out of range"):
        compiled(x, index, messages)


def test_gradients_of_gathered_rows():
    x, index, messages = inputs()
    x.requires_grad_()

    def function(x):
        return (x.gather(0, index[:, None].expand(-1, WIDTH)) * messages).sum()

    (found,) = torch.autograd.grad(torch.compile(function, backend="mlopt")(x), x)
    (wanted,) = torch.autograd.grad(function(x), x)
    torch.testing.assert_close(found, wanted, rtol=0, atol=0)


def test_graphs_of_any_number_of_edges():
    x, index, messages = inputs()
    compiled = mlopt.jit(
        FORMS["scatter_add"],
        *(x, index, messages),
        dynamic_shapes=(None, {0: torch.export.Dim("edges")}, {0: torch.export.Dim("edges")}),
    )
    for edges in (1, 500, EDGES):
        given = (x, index[:edges], messages[:edges])
        torch.testing.assert_close(compiled(*given), FORMS["scatter_add"](*given), rtol=0, atol=0)
