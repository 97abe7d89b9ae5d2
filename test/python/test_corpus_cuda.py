"""Every module of the corpus as PTX, run by the emulator: right to the corpus's bound, on the tile path.

Each module in one of its dtypes, the next module in the next one.
"""

from __future__ import annotations

import mlopt
import pytest
import torch
from mlopt.runtime.verification import Verifier
from mlopt.test.corpus import CASES

PARAMETERS = [
    pytest.param(case, dtype, id=f"{name}-{str(dtype).removeprefix('torch.')}")
    for number, (name, case) in enumerate(CASES.items())
    for dtype in [case.dtypes[number % len(case.dtypes)]]
]


@pytest.mark.parametrize(("case", "dtype"), PARAMETERS)
def test_corpus(case, dtype):
    module = case.module(dtype)
    with torch.no_grad():
        compiled = mlopt.jit(module, *case.inputs(dtype, seed=0), target="cuda:sm_80", device="emulator")
        assert not compiled.report.slow_paths
        inputs = case.inputs(dtype, seed=1)
        verifier = Verifier(module, inputs, {})
        got = compiled(*[x.clone() for x in inputs])
    verifier.check(got)
