"""Element-wise work before or behind a transpose: what it gives, and how that lies in memory."""

from collections.abc import Callable

import mlopt
import pytest
import torch
import torch.nn.functional as F

CASES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "of a view": lambda x: torch.relu(x.transpose(1, 2)) + 1,
    "stored": lambda x: (x.exp() + x[0, 0]).permute(2, 0, 1).contiguous(),
    "round, twice": lambda x: torch.sigmoid(x.permute(1, 2, 0) * 2).permute(1, 2, 0) + x.permute(2, 0, 1),
    "of a part": lambda x: torch.tril(x.transpose(1, 2) * 2).transpose(0, 1) + 1,
    "two of them": lambda x: (x * x.flip(0)).transpose(1, 2).contiguous(),
    "of flat rows": lambda x: torch.relu(x.flatten(1).t()) + 1,
    "joined": lambda x: torch.relu(x.transpose(1, 2)).reshape(5, 77) + x.reshape(5, 77),
    "sums of joined rows": lambda x: x.transpose(0, 1).reshape(7, 55).softmax(-1),
    "of parts": lambda x: (x.flatten(1).exp() * 2).view(5, 7, 11).transpose(0, 1).contiguous(),
    "behind rows": lambda x: x.softmax(-1).transpose(1, 2).contiguous() * 2,
}

PRODUCTS: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "merged rows": lambda x, y: torch.relu(x @ y).transpose(0, 1).reshape(7, 65) + x[0, :, :1],
    "turned": lambda x, y: (x[0] @ y[1]).t().contiguous() + 1,
    "batches turned": lambda x, y: (x @ y).transpose(1, 2).contiguous(),
    "of channels": lambda x, y: F.conv2d(x[None], y.permute(1, 0, 2)[:, :, :3, None]).permute(0, 2, 3, 1) + 1,
}
ONE_KERNEL = {"of a view", "round, twice", "of flat rows", "joined", "sums of joined rows", "of parts"}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("target", ["cpu", "cuda:sm_80"])
@pytest.mark.parametrize("name", CASES)
def test_same_as_eager(name: str, target: str, dtype: torch.dtype) -> None:
    x = torch.randn(5, 7, 11, dtype=dtype)
    device = "gpu" if target == "cpu" else "emulator"  # the former is the default
    compiled = mlopt.jit(CASES[name], x, target=target, device=device)
    assert name not in ONE_KERNEL or sum(kernel.calls for kernel in compiled.kernels) == 1
    result = compiled(x)
    assert result.stride() == CASES[name](x).stride()
    expected = CASES[name](x.double())
    rounding = torch.finfo(dtype).eps * max(1, expected.abs().max().item())
    torch.testing.assert_close(result.double(), expected, rtol=4 * rounding, atol=4 * rounding)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("target", ["cpu", "cuda:sm_80"])
@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name: str, target: str, dtype: torch.dtype) -> None:
    inputs = torch.randn(5, 7, 11, dtype=dtype), torch.randn(5, 11, 13, dtype=dtype)
    device = "gpu" if target == "cpu" else "emulator"
    compiled = mlopt.jit(PRODUCTS[name], *inputs, target=target, device=device)
    assert len(compiled.kernels) == (2 if name == "of channels" else 1)  # a kernel of its weight's order
    expected = PRODUCTS[name](*(each.double() for each in inputs))
    rounding = torch.finfo(dtype).eps * 16
    torch.testing.assert_close(compiled(*inputs).double(), expected, rtol=2 * rounding, atol=rounding)


def test_sizes_of_each_call() -> None:
    rows, columns = torch.export.Dim("rows", min=2), torch.export.Dim("columns", min=2)

    class Turned(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.relu(x.t()).exp() + 1

    compiled = mlopt.jit(Turned(), torch.randn(5, 7), dynamic_shapes={"x": {0: rows, 1: columns}})
    for shape in ((5, 7), (33, 2), (2, 65)):
        x = torch.randn(shape)
        torch.testing.assert_close(compiled(x), Turned()(x))
