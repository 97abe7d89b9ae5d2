"""What was compiled is no module: a copy would share its weights, and machine code is no file."""

import copy
import pickle

import mlopt
import pytest
import torch


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, pickle.dumps])
def test_there_are_none(how, grad):
    with torch.set_grad_enabled(grad):
        compiled = mlopt.jit(torch.nn.Linear(5, 6).eval(), torch.randn(3, 5))
        compiled(torch.randn(3, 5))
        with pytest.raises(mlopt.MloptError, match="copied or pickled") as caught:
            how(compiled)
    assert "mlopt.jit" in caught.value.remedy


def test_a_copy_of_the_module_has_weights_of_its_own():
    module, x = torch.nn.Linear(5, 6).eval(), torch.randn(3, 5)
    first = mlopt.jit(module, x)
    second = mlopt.jit(copy.deepcopy(module), x)
    kept = second(x)
    with torch.no_grad():
        module.weight.mul_(2)
    torch.testing.assert_close(first(x), module(x))
    torch.testing.assert_close(second(x), kept, rtol=0, atol=0)
