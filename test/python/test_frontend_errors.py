"""What the front end cannot compile: errors that name ops, dtypes and lines."""

import pytest
import torch
from mlopt import jit
from mlopt.errors import CompileError, UnsupportedOpError
from mlopt.frontends.torch import capture
from mlopt.test.python.frontend_graphs import import_text, line_of
from torch import nn
from torch.export import Dim


def test_complex_is_a_named_error():
    class Module(nn.Module):
        def forward(self, x):
            return torch.view_as_complex(x.reshape(-1, 2)).abs()  # complex numbers

    with pytest.raises(UnsupportedOpError, match="complex64") as caught:
        capture(Module(), (torch.randn(4),))
    assert caught.value.where == line_of(__file__, "complex numbers")


def test_complex_input_is_a_named_error():
    with pytest.raises(UnsupportedOpError, match="complex64"):
        capture(nn.Identity(), (torch.randn(4, dtype=torch.complex64),))


@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor", "ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize(
    ("make", "form"),
    [
        (torch.Tensor.to_sparse, "torch.sparse_coo"),
        (torch.Tensor.to_mkldnn, "torch._mkldnn"),
        (lambda x: torch.quantize_per_tensor(x, 0.1, 0, torch.quint8), "a quantized tensor"),
        (lambda x: torch.nested.nested_tensor([x[0], x[0, 1:]]), "a nested tensor"),
    ],
    ids=["sparse", "mkldnn", "quantized", "nested"],
)
def test_tensors_that_are_not_dense_are_named(make, form):
    value = make(torch.eye(4))
    with pytest.raises(UnsupportedOpError, match=rf"input 'x', which is {form}.*\n.*remedy: pass a dense"):
        jit(lambda x: x.relu(), value)
    module = nn.Identity()
    module.register_buffer("table", value)
    with pytest.raises(UnsupportedOpError, match=f"weight 'table', which is {form}"):
        jit(module, torch.ones(4))


def test_an_op_that_makes_a_sparse_tensor_is_named():
    with pytest.raises(UnsupportedOpError, match=r"aten\.\S+, which is torch.sparse_coo") as caught:
        jit(lambda x: x.to_sparse() @ x, torch.eye(4))  # makes it sparse
    assert caught.value.where == line_of(__file__, "makes it sparse")


def test_a_bound_that_does_not_fit_is_refused_as_in_eager():
    class Module(nn.Module):
        def forward(self, x):
            return x.clamp(max=300)  # more than 255

    with pytest.raises(CompileError, match="uint8_t without overflow") as caught:
        capture(Module(), (torch.zeros(3, dtype=torch.uint8),))
    assert caught.value.where == line_of(__file__, "more than 255")


def test_a_number_of_a_tensor_is_a_named_error():
    class Module(nn.Module):
        def forward(self, x, i):
            return x * i.item()  # a number

    class Writes(nn.Module):
        def forward(self, x, i):
            y = x.clone()
            y[i.item()].add_(1)  # a place
            return y

    for module, line, what in (
        (Module(), "a number", "cannot compile a number that is read from a tensor"),
        (Writes(), "a place", "depends on a tensor's values"),
    ):
        with pytest.raises(UnsupportedOpError, match=what) as caught:
            capture(module, (torch.randn(5, 3), torch.tensor(3)))
        assert caught.value.where == line_of(__file__, line)
        assert "item()" in caught.value.remedy


def test_windows_of_a_dynamic_volume_are_a_named_error():
    class Module(nn.Module):
        def forward(self, x):
            return nn.functional.adaptive_max_pool3d(x, 2)  # a depth that is not known

    with pytest.raises(UnsupportedOpError, match="adaptive_max_pool3d with dynamic depth") as caught:
        capture(Module(), (torch.randn(2, 3, 4, 4, 4),), dynamic_shapes=({2: Dim("d", min=2)},))
    assert caught.value.where == line_of(__file__, "a depth that is not known")


def test_unknown_ops_are_listed_with_their_lines():
    class Module(nn.Module):
        def forward(self, x):
            y = torch.special.i0e(x)  # the first unknown op
            return torch.special.bessel_j1(y)  # the second unknown op

    with pytest.raises(UnsupportedOpError) as caught:
        import_text(capture(Module(), (torch.randn(3, 3),)))
    message = str(caught.value)
    assert f"aten.special_i0e at {line_of(__file__, 'the first unknown op')}" in message
    assert f"aten.special_bessel_j1 at {line_of(__file__, 'the second unknown op')}" in message


def test_ops_that_fail_to_lower_are_found_one_by_one():
    class Module(nn.Module):
        def forward(self, x):
            y = torch.relu(x)
            return torch.linalg.qr(y)[0] + 1  # known to torch-mlir, but not lowered

    with pytest.raises(UnsupportedOpError, match=r"cannot compile aten\.linalg_qr") as caught:
        import_text(capture(Module(), (torch.randn(3, 3),)))
    assert caught.value.where == line_of(__file__, "known to torch-mlir, but not lowered")


def test_random_ops_are_named_unless_in_evaluation():
    class Module(nn.Module):
        def __init__(self):
            super().__init__()
            self.dropout = nn.Dropout(0.5)

        def forward(self, x):
            return self.dropout(x)  # drops

    capture(Module().eval(), (torch.randn(3),))
    with pytest.raises(UnsupportedOpError, match="random") as caught:
        capture(Module().train(), (torch.randn(3),))
    assert caught.value.where == line_of(__file__, "drops")
    assert str(caught.value).count("random op ") == 1
    assert "eager only" in caught.value.remedy


@pytest.mark.parametrize(
    ("given", "named", "why"),
    [((), {}, "missing a required argument: 'x'"), ((1,), {"z": 2}, "unexpected keyword argument 'z'")],
)
def test_example_inputs_that_forward_does_not_take(given, named, why):
    class Module(nn.Module):
        def forward(self, x, y=None):
            return x

    with pytest.raises(CompileError, match=f"Module cannot be called .*{why}") as caught:
        capture(Module(), given, example_kwargs=named)
    assert "example_kwargs" in caught.value.remedy
    assert "(x, y=None)" in str(caught.value)


def test_data_dependent_control_flow(capfd):
    class Module(nn.Module):
        def forward(self, x):
            return x if x.sum() > 0 else -x

    class Loss(nn.Module):
        def forward(self, x, y, var):
            return nn.functional.gaussian_nll_loss(x, y, var)

    asks = "gaussian_nll_loss of torch asks: elif torch.any(var < 0):"
    for module, count, details in ((Module(), 1, ""), (Loss(), 3, asks)):
        given = [torch.ones(3)] * count
        with pytest.raises(CompileError, match=r"cannot trace \w+: Python asks for the values") as caught:
            capture(module, given)
        assert caught.value.details == details
        assert "torch.where" in caught.value.remedy
    assert "def forward" not in capfd.readouterr().err


def test_example_inputs_that_ops_refuse():
    module = nn.Linear(4, 3)
    with pytest.raises(CompileError, match="cannot trace Linear: RuntimeError") as caught:
        capture(module, (torch.ones(2, 5),))
    assert "the example inputs are (float32[2, 5])" in caught.value.details
    assert "example inputs that the module takes in eager" in caught.value.remedy
    for dtype in (torch.float64, torch.int64):
        with pytest.raises(CompileError, match=r"eager refuses this aten\.linear\.default: .*same dtype"):
            capture(module, (torch.ones(2, 4, dtype=dtype),))


@pytest.mark.parametrize(
    ("rows", "dim", "message"),
    [(3, Dim("rows"), "specialized it to be a constant"), (1, Dim.DYNAMIC, "0/1 specialized")],
)
def test_dynamic_shapes_that_do_not_fit(rows, dim, message):
    class Module(nn.Module):
        def forward(self, x):
            return x.view(3, 4) if x.shape[0] == 3 else x

    with pytest.raises(CompileError, match="cannot trace Module with these dynamic_shapes") as caught:
        capture(Module(), (torch.ones(rows, 4),), dynamic_shapes=({0: dim},))
    assert message in caught.value.details
    assert "TORCH_LOGS" not in caught.value.details
    assert "only sizes that may vary" in caught.value.remedy


def test_data_dependent_sizes():
    class Module(nn.Module):
        def forward(self, x):
            return x.nonzero()

    with pytest.raises(UnsupportedOpError, match="depends on data"):
        capture(Module(), (torch.randn(3),))


class Applied(nn.Module):
    def __init__(self, op):
        super().__init__()
        self.op = op

    def forward(self, x):
        return self.op(x) + 1


@pytest.mark.parametrize("op", [torch.nonzero, torch.unique, lambda x: x[x > 0]])
def test_ops_whose_sizes_depend_on_data_are_named(op):
    with pytest.raises(UnsupportedOpError, match=r"depends on data, that of aten\.") as caught:
        capture(Applied(op), (torch.randn(3, 4),))
    assert __file__ in caught.value.where
