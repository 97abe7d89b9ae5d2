"""Dynamic sizes that must be equal, and smallest and largest of sizes."""

import mlopt
import pytest
import torch
from mlopt.errors import CompileError, InputError

X, Y = torch.ones(4, 5), torch.ones(4, 5)
AUTO = torch.export.Dim.AUTO


class Sum(torch.nn.Module):
    def forward(self, x, y):
        z = x * 2
        return z + y


class Branch(torch.nn.Module):
    def forward(self, x, y):
        if x.shape[0] == y.shape[0]:
            return (x + 1).sum() + y.sum()
        return x.sum() - y.sum()


def line_of(module, text):
    """Where ``forward`` of ``module`` has ``text``."""
    with open(__file__, encoding="utf-8") as file:
        lines = file.read().splitlines()
    first = module.forward.__code__.co_firstlineno
    return f"{__file__}:{next(n for n in range(first, len(lines)) if text in lines[n - 1])}"


@pytest.mark.parametrize(("module", "text"), [(Sum(), "z + y"), (Branch(), "if x.shape")])
def test_the_line_that_wants_sizes_to_be_equal(module, text):
    names = ({0: torch.export.Dim("rows")}, {0: torch.export.Dim("others")})
    with pytest.raises(CompileError) as raised:
        mlopt.jit(module, X, Y, dynamic_shapes=names)
    assert f"x.shape[0] == y.shape[0] is wanted at {line_of(module, text)}" in str(raised.value)
    compiled = mlopt.jit(module, X, Y, dynamic_shapes=({0: AUTO}, {0: AUTO}))
    assert torch.equal(compiled(X[:3], Y[:3]), module(X[:3], Y[:3]))
    with pytest.raises(
        InputError, match=r"size 0 of input 'y' is 4, but must be x\.shape\[0\], which is 3"
    ) as found:
        compiled(X[:3], Y)
    assert f"where: {line_of(module, text)}" in str(found.value)


class Chain(torch.nn.Module):
    def forward(self, x, y, z):
        a = x + y
        if y.shape[0] == 2 * z.shape[0]:
            a = a + z.sum()
        return a


@pytest.mark.parametrize(("rows", "text"), [((4, 6, 3), "x + y"), ((6, 6, 4), "if y.shape")])
def test_the_line_whose_wish_failed_of_several(rows, text):
    example = torch.ones(6, 5), torch.ones(6, 5), torch.ones(3, 5)
    compiled = mlopt.jit(Chain(), *example, dynamic_shapes=({0: AUTO},) * 3)
    with pytest.raises(InputError) as found:
        compiled(*(torch.ones(count, 5) for count in rows))
    assert f"where: {line_of(Chain(), text)}" in str(found.value)


def test_a_size_that_must_be_a_number():
    class Four(torch.nn.Module):
        def forward(self, x):
            return x + torch.ones(4, 5)

    compiled = mlopt.jit(Four(), X, dynamic_shapes=({0: AUTO},))
    with pytest.raises(InputError, match=r"is float32\[3, 5\], compiled for float32\[4, 5\]\n"):
        compiled(X[:3])


@pytest.mark.parametrize("of", [torch.sym_min, torch.sym_max])
def test_the_smallest_and_the_largest_of_sizes(of):
    def sized(x, y):
        return torch.zeros(of(x.shape[0], y.shape[0]), 5) + x.amax() + y

    def cut(x, y):
        return x[: of(x.shape[0], y.shape[0])] * y.amax()

    function, rows = (cut, (6, 3)) if of is torch.sym_min else (lambda x, y: sized(x, y[:1]), (3, 6))
    dynamic = ({0: torch.export.Dim("rows", min=2)}, {0: torch.export.Dim("others", min=2)})
    compiled = mlopt.jit(function, torch.randn(4, 5), torch.randn(7, 5), dynamic_shapes=dynamic)
    for one, other in (rows, rows[::-1], (5, 5)):
        x, y = torch.randn(one, 5), torch.randn(other, 5)
        torch.testing.assert_close(compiled(x, y), function(x, y))
