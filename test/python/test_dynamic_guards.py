"""What tracing found of sizes is asked at the call, and an error names it."""

import re

import mlopt
import pytest
import torch
from mlopt.errors import InputError
from torch.export import Dim

AUTO = Dim.AUTO
NAMED = Dim("rows")  # 0 and 1 are among its sizes, and torch takes it for 2 or more
BRANCHES = {
    "larger": (lambda x, y: x.sum() + y.sum() if x.shape[0] > y.shape[0] else x.sum() - y.sum(), AUTO),
    "twice": (lambda x, y: x * 2 if x.shape[0] == 2 * y.shape[0] else x * 3, AUTO),
    "sum": (lambda x, y: x * 2 if x.shape[0] + y.shape[0] != 10 else x, AUTO),
    "least": (lambda x, y: x + 1 if min(x.shape[0], y.shape[0]) < 5 else x + 2, AUTO),
    "most": (lambda x, y: x + 1 if max(x.shape[0], y.shape[0]) > 9 else x + 2, AUTO),
    "rest": (lambda x, y: x * 2 if x.shape[0] % 3 == 1 else x + y.shape[0], AUTO),
    "quotient": (lambda x, y: x + 1 if int(x.shape[0] / 2) > 3 else x + y.shape[0], AUTO),
    "area": (lambda x, y: x * 2 if x.numel() > 40 else x + y.shape[0], AUTO),
    "range": (lambda x, y: x + 1 if 5 < x.shape[0] < 20 else x + y.shape[0], AUTO),
    "difference": (lambda x, y: x + 1 if abs(x.shape[0] - y.shape[0]) < 3 else x + 2, AUTO),
    "half": (lambda x, y: x + 1 if x.shape[0] * 0.5 > y.shape[0] else x + 2, AUTO),
    "either": (lambda x, y: x + 1 if x.shape[0] in (7, 9) else x + y.shape[0], AUTO),
    "asserted": (lambda x, y: [torch._check(x.shape[0] < 2 * y.shape[0]), x + 1][1], AUTO),
    "part": (lambda x, y: x[y.shape[0] :] * 2, AUTO),
    "pairs": (lambda x, _: x.view(x.shape[0] // 2, 2, -1).sum(1), AUTO),
    "more_than_one": (lambda x, y: x * 2 if x.shape[0] > 1 else x * y.shape[0], NAMED),
    "any": (lambda x, y: x.sum() + 1 if x.shape[0] else y.sum(), NAMED),
    "any_elements": (lambda x, y: x.sum() + 1 if x.numel() else y.sum(), NAMED),
    "squeeze": (lambda x, y: (x.squeeze(0) * 2, y.squeeze()), NAMED),
    "first": (lambda x, y: x[0] + y[-1], NAMED),
    "head": (lambda x, y: x[:1] * y.shape[0], NAMED),
    "last": (lambda x, y: x[x.shape[0] - 1] + y.shape[0], NAMED),
    "last_selected": (lambda x, y: x.select(0, x.shape[0] - 1) + y.shape[0], NAMED),
    "last_narrowed": (lambda x, y: x.narrow(0, x.shape[0] - 1, 1) + y.shape[0], NAMED),
    "last_two": (lambda x, y: x[x.shape[0] - 2 :] * y.shape[0], NAMED),
    "from_the_end": (lambda x, y: x[-x.shape[0]] + y.shape[0], NAMED),
    "last_set": (lambda x, y: [z := x * y.shape[0], z[x.shape[0] - 1].zero_(), z][-1], NAMED),
    "next_part": (lambda x, y: torch.cat([x, y])[x.shape[0]] * 2, NAMED),
    "next_part_sliced": (lambda x, y: torch.cat([x, y])[x.shape[0] : x.shape[0] + 1] * 2, NAMED),
    "rows_of_another": (lambda x, y: x[y.shape[0] - 2 : y.shape[0]] * 2, NAMED),
    "half_first": (lambda x, y: x[: x.shape[0] // 2][0] + y.shape[0], AUTO),
    "steps": (lambda x, y: x[1::2] * y.shape[0], AUTO),
    "all_but": (lambda x, y: x[:-3] * y.shape[0], AUTO),
    "contiguous": (lambda x, y: x * 2 if x.t().is_contiguous() else x * y.shape[0], NAMED),
    "stride": (lambda x, y: x * 2 if (x.t() * 2).contiguous().stride(1) == 1 else x * y.shape[0], NAMED),
    "steps_alike": (lambda x, y: x * 2 if x.t().contiguous().stride(0) > 8 else x * y.shape[0], AUTO),
    "of_a_text": (eval("lambda x, y: x * 2 if x.t().is_contiguous() else x * y.shape[0]"), NAMED),
    "a_users_contiguous": (lambda x, y: contiguous(x, y), AUTO),
}


def contiguous(x, y):
    """Torch's functions of this name ask for layouts only; what this one asks matters."""
    return x * 2 if x.shape[0] > y.shape[0] else x - 1


@pytest.mark.parametrize("name", BRANCHES)
def test_what_was_found_of_sizes_is_asked_at_the_call(name):
    """Whatever the sizes: eager's result, or an error."""
    function, size = BRANCHES[name]
    compiled = mlopt.jit(
        function,
        torch.randn(8, 4),
        torch.randn(5, 4),
        dynamic_shapes=({0: size}, {0: size if size is AUTO else Dim("other")}),
    )
    right = refused = 0
    for rows in (0, 1, 2, 3, 4, 7, 8, 9, 12, 21):
        for others in (0, 1, 3, 4, 5, 10):
            x, y = torch.randn(rows, 4), torch.randn(others, 4)
            try:
                found = compiled(x, y)
            except InputError:
                refused += 1
                continue
            torch.testing.assert_close(found, function(x, y))
            right += 1
    assert right and refused


def test_a_size_that_a_line_has_fixed_is_named():
    def triples(x):
        return x * 2 if x.shape[1] == 3 else x

    compiled = mlopt.jit(triples, torch.randn(4, 3), dynamic_shapes=({0: AUTO, 1: AUTO},))
    x = torch.randn(7, 3)
    torch.testing.assert_close(compiled(x), x * 2)
    with pytest.raises(InputError, match=re.escape("is float32[7, 5], compiled for float32[?, 3]")) as error:
        compiled(torch.randn(7, 5))
    assert f"test_dynamic_guards.py:{triples.__code__.co_firstlineno + 1}" in str(error.value)


def test_a_size_out_of_range_is_named_with_the_range_that_has_it():
    compiled = mlopt.jit(torch.nn.ReLU(), torch.randn(4, 3), dynamic_shapes=({0: Dim.DYNAMIC},))
    with pytest.raises(InputError, match="is 0, compiled for at least 2") as error:
        compiled(torch.randn(0, 3))
    assert ", min=0) in dynamic_shapes" in error.value.remedy
    compiled = mlopt.jit(torch.nn.ReLU(), torch.randn(4, 3), dynamic_shapes=({0: Dim("rows", min=0, max=8)},))
    assert compiled(torch.randn(0, 3)).shape == (0, 3)
    with pytest.raises(InputError, match="is 9, compiled for 0 to 8") as error:
        compiled(torch.randn(9, 3))
    assert ", max=9) in dynamic_shapes" in error.value.remedy


def test_what_is_read_past_the_end_is_named():
    compiled = mlopt.jit(
        lambda x, y: torch.cat([x, y])[x.shape[0]] * 2,
        torch.randn(8, 4),
        torch.randn(5, 4),
        dynamic_shapes=({0: NAMED}, {0: Dim("other")}),
    )
    with pytest.raises(InputError, match=re.escape("y.shape[0] >= 1, but y.shape[0] is 0")) as error:
        compiled(torch.randn(8, 4), torch.randn(0, 4))
    assert "test_dynamic_guards.py" in str(error.value)
    x, y = torch.randn(0, 4), torch.randn(1, 4)
    torch.testing.assert_close(compiled(x, y), y[0] * 2)
