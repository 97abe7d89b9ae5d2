"""Element-wise work before or behind a transpose: what it gives, and how that lies in memory."""

from collections.abc import Callable

import mlopt
import pytest
import torch

CASES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "of a view": lambda x: torch.relu(x.transpose(1, 2)) + 1,
    "stored": lambda x: (x.exp() + x[0, 0]).permute(2, 0, 1).contiguous(),
    "round, twice": lambda x: torch.sigmoid(x.permute(1, 2, 0) * 2).permute(1, 2, 0) + x.permute(2, 0, 1),
    "of a part": lambda x: torch.tril(x.transpose(1, 2) * 2).transpose(0, 1) + 1,
    "two of them": lambda x: (x * x.flip(0)).transpose(1, 2).contiguous(),
    "of flat rows": lambda x: torch.relu(x.flatten(1).t()) + 1,
    "behind rows": lambda x: x.softmax(-1).transpose(1, 2).contiguous() * 2,
}


@pytest.mark.parametrize("target", ["cpu", "cuda:sm_80"])
@pytest.mark.parametrize("name", CASES)
def test_same_as_eager(name: str, target: str) -> None:
    x = torch.randn(5, 7, 11)
    device = "gpu" if target == "cpu" else "emulator"  # the former is the default
    result = mlopt.jit(CASES[name], x, target=target, device=device)(x)
    expected = CASES[name](x)
    assert result.stride() == expected.stride()
    torch.testing.assert_close(result.double(), CASES[name](x.double()), rtol=1e-5, atol=1e-6)


def test_sizes_of_each_call() -> None:
    rows, columns = torch.export.Dim("rows", min=2), torch.export.Dim("columns", min=2)

    class Turned(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.relu(x.t()).exp() + 1

    compiled = mlopt.jit(Turned(), torch.randn(5, 7), dynamic_shapes={"x": {0: rows, 1: columns}})
    for shape in ((5, 7), (33, 2), (2, 65)):
        x = torch.randn(shape)
        torch.testing.assert_close(compiled(x), Turned()(x))
