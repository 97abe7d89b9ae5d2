"""verify=True: the bound is on each element, in proportion to the terms that it is made of."""

import mlopt
import pytest
import torch
from mlopt.errors import VerifyError
from mlopt.runtime.verification import Verifier
from mlopt.test.python.api_modules import Call, Counter
from torch import nn

pytestmark = pytest.mark.usefixtures("inference")


def test_verify():
    class Scaled(nn.Module):
        scale = 2.0

        def forward(self, x):
            return x * self.scale, (x > 0)

    module = Scaled()
    x = torch.randn(4)
    compiled = mlopt.jit(module, x, verify=True)
    for _ in range(2):
        torch.testing.assert_close(compiled(x), module(x))
    compiled = mlopt.jit(module, x, verify=True)
    module.scale = 2.01  # not a weight: eager changes, compiled code does not
    with pytest.raises(VerifyError, match=r"output 0 \(float32\[4\]\) differs from eager in \d of 4"):
        compiled(x)


def test_verify_leaves_state_alone():
    module = Counter()
    compiled = mlopt.jit(module, torch.randn(2, 4), verify=True)
    compiled(torch.randn(2, 4))
    assert module.count.tolist() == [1.0] * 4


def check(function, x, off):
    """Whether results that are off from eager's by ``off`` pass."""
    verifier = Verifier(Call(function), (x,), {})
    try:
        verifier.check(function(x) + off)
    except VerifyError:
        return False
    return True


def test_a_small_element_beside_large_ones():
    x = torch.tensor([1e6, 1e-3])
    assert check(lambda x: x * 2, x, torch.tensor([5.0, 0.0]))
    assert not check(lambda x: x * 2, x, torch.tensor([50.0, 0.0]))
    assert check(lambda x: x * 2, x, torch.tensor([0.0, 5e-9]))
    assert not check(lambda x: x * 2, x, torch.tensor([0.0, 5e-8]))


@pytest.mark.parametrize(
    ("function", "x", "terms"),
    [
        (lambda x: x.sum(0, keepdim=True), [1e3, -1e3, 1e3, -999.0], 3999.0),
        (lambda x: (x[:2] @ x[2:])[None], [1e3, 1.0, 1.0, -1e3], 2000.0),
    ],
)
def test_the_terms_of_a_sum_that_cancels(function, x, terms):
    """It may be off by 1e-5 of its terms, of which it is a small part."""
    assert check(function, torch.tensor(x), torch.tensor([2e-6 * terms]))
    assert not check(function, torch.tensor(x), torch.tensor([2e-5 * terms]))


def test_terms_are_looked_for_only_where_they_decide():
    x = torch.tensor([1e3, -1e3, 1e3, -999.0])
    verifier = Verifier(Call(lambda x: x.sum(0, keepdim=True)), (x,), {})
    verifier.check(x.sum(0, keepdim=True))
    assert "terms" not in vars(verifier)
    verifier.check(x.sum(0, keepdim=True) + 8e-3)
    assert vars(verifier)["terms"][0] > 1000


def test_other_dtypes_and_jumps():
    x = torch.linspace(-3, 3, 13)
    for dtype, share in ((torch.float16, 2e-3), (torch.bfloat16, 1.6e-2), (torch.float64, 1e-12)):
        ones = torch.ones(5, dtype=dtype)
        assert check(lambda x: x + 0, ones, torch.tensor(share / 2, dtype=dtype))
        assert not check(lambda x: x + 0, ones, torch.tensor(share * 4, dtype=dtype))
    assert check(torch.floor, x, torch.zeros(13))
    assert not check(torch.floor, x, torch.ones(13))
    assert not check(lambda x: (x > 0).long(), x, torch.ones(13, dtype=torch.int64))


def test_not_a_number_stays_where_it_is():
    x = torch.tensor([torch.nan, torch.inf, -1.0, 4.0])
    assert check(torch.sqrt, x, torch.zeros(4))
    assert not check(torch.sqrt, x, torch.tensor([0.0, 0.0, 0.0, torch.nan]))
    assert not check(torch.sqrt, x, torch.tensor([0.0, -torch.inf, 0.0, 0.0]))


def test_what_the_module_makes_is_float64_too():
    """Eager's rounding of a product is no error of ours; a product of zeros and float64 alone is refused."""

    def function(x):
        zeros = torch.zeros(2, 3, 3)
        return torch.baddbmm(zeros, x.float(), x.mT.to(torch.float32), beta=0, alpha=0.3)

    x = torch.randn(2, 3, 64)
    verifier = Verifier(Call(function), (x,), {})
    assert verifier.exact[0].dtype == torch.float64
    torch.testing.assert_close(verifier.exact[0], 0.3 * (x.double() @ x.double().mT), rtol=1e-12, atol=1e-12)
    off = torch.zeros(2, 3, 3)
    terms = 0.3 * (x.abs() @ x.abs().mT)[1, 2, 0]
    off[1, 2, 0] = 5e-7 * terms
    verifier.check(function(x) + off)
    off[1, 2, 0] = 5e-5 * terms
    with pytest.raises(VerifyError, match="in 1 of 18 elements"):
        verifier.check(function(x) + off)


def test_a_constant_of_the_module_keeps_its_value():
    third = torch.full((4,), 1 / 3)
    verifier = Verifier(Call(lambda x: torch.addmv(torch.full((4,), 1 / 3), x, third)), (torch.eye(4),), {})
    assert verifier.exact[0].equal(2 * third.double())


def only_float32(x):
    if x.dtype != torch.float32:
        raise TypeError("float32 only")
    return x.sum(0, keepdim=True)


def bits(x):
    return (x.view(torch.int32) & -2).view(torch.float32).sum(0, keepdim=True)


@pytest.mark.parametrize("function", [only_float32, bits])
def test_a_module_without_float64_is_compared_with_eager(function):
    x = torch.rand(1000)
    with pytest.warns(UserWarning, match=r"does not run in float64 \(.*compared with eager"):
        verifier = Verifier(Call(function), (x,), {})
    verifier.check(function(x) * (1 + 1.5e-5))
    with pytest.raises(VerifyError):
        verifier.check(function(x) * (1 + 3e-5))


def rounded(x):
    """Numbers from 4096 to 8191 in the 11 bits of TF32."""
    return (x / 4).round() * 4


def passes(x, tf32, which, off):
    """Whether results pass of which one is off."""

    def function(x):
        return x[:1] @ x[1], x.sum(-1), x[2:] @ x[2], (x[:1].double() @ x[1].double())

    results = list(function(x))
    results[which] = results[which] + off
    try:
        Verifier(Call(function), (x,), {}, tf32).check(results)
    except VerifyError as error:
        assert f"output {which}" in str(error)
        return False
    return True


def test_products_of_rounded_factors():
    """With TF32 they may be near eager with such factors; nothing else may be."""
    x = torch.tensor([[4097.0, 4099, 5001, 6003], [8191.0, 7003, 5001, 4099], [4096.0, 4104, 5000, 6008]])
    near, term = rounded(x[0]) @ rounded(x[1]) - x[0] @ x[1], x[0] @ x[1]
    assert abs(near) > 5e-5 * term
    assert passes(x, True, 0, near)
    assert not passes(x, False, 0, near)
    assert passes(x, True, 0, 1.5e-3 * term)
    assert not passes(x, True, 0, 4e-3 * term)
    assert not passes(x, True, 1, 4e-5 * x.sum(-1))
    assert not passes(x, True, 2, 4e-5 * x[2:] @ x[2])  # its factors need no rounding
    assert not passes(x, True, 3, 4e-5 * term)


def test_eager_without_the_op():
    x = torch.arange(12, dtype=torch.uint8).reshape(1, 1, 3, 4)
    module = nn.AdaptiveMaxPool2d((1, 2))
    assert mlopt.jit(module, x)(x).flatten().tolist() == [9, 11]
    with pytest.raises(VerifyError, match="eager cannot run this module") as caught:
        mlopt.jit(module, x, verify=True)(x)
    assert "not implemented for 'Byte'" in caught.value.details


def test_infinities_of_eager_or_of_float64():
    """exp(100) is finite in float64: infinite when rounded, and eager has inf - inf."""
    x = torch.tensor([100.0, 1.0])

    def function(x):
        return x.exp() - x.exp().sqrt()

    verifier = Verifier(Call(function), (x,), {})
    assert verifier.eager[0].isnan().tolist() == [True, False]
    fine = function(x)[1]
    for first in (torch.inf, torch.nan):
        verifier.check(torch.tensor([first, fine]))
        with pytest.raises(VerifyError):
            verifier.check(torch.tensor([first, torch.nan]))
    for first in (0.0, -torch.inf):
        with pytest.raises(VerifyError, match="in 1 of 2 elements"):
            verifier.check(torch.tensor([first, fine]))


def test_gelu_of_infinity():
    x = torch.randn(5, 17)
    x[1, 2], x[2] = torch.inf, -torch.inf
    compiled = mlopt.jit(nn.GELU(), x, verify=True)
    assert compiled(x)[1, 2] == torch.inf
