"""Every module of the corpus, in each of its dtypes, through `mlopt.jit` beside eager.

The bound is `mlopt.runtime.verification`'s: twice eager's own error against float64, or the
dtype's share of the sum of the absolute terms. Inputs of the checked call are not those of the capture.
"""

from __future__ import annotations

import re

import mlopt
import pytest
import torch
from mlopt.runtime.verification import Verifier
from mlopt.test.corpus import CASES
from torch.utils import _pytree as pytree

PARAMETERS = [
    pytest.param(case, dtype, id=f"{name}-{str(dtype).removeprefix('torch.')}")
    for name, case in CASES.items()
    for dtype in case.dtypes
]


@pytest.mark.parametrize(("case", "dtype"), PARAMETERS)
def test_corpus(case, dtype):
    module = case.module(dtype)
    with torch.no_grad():
        compiled = mlopt.jit(module, *case.inputs(dtype, seed=0))
        assert not compiled.report.slow_paths
        inputs = case.inputs(dtype, seed=1)
        verifier = Verifier(module, inputs, {})
        got, eager = compiled(*[x.clone() for x in inputs]), module(*[x.clone() for x in inputs])
    verifier.check(got)
    for ours, theirs in zip(pytree.tree_leaves(got), pytree.tree_leaves(eager), strict=True):
        assert ours.stride() == theirs.stride()


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.dynamic is not None])
def test_dynamic_batch(name):
    """One compilation serves other batch sizes than the one that it has seen."""
    case = CASES[name]
    module = case.module()
    inputs = case.inputs()
    assert case.dynamic is not None
    with torch.no_grad():
        compiled = mlopt.jit(module, *inputs, dynamic_shapes=case.dynamic_shapes())
        assert re.search(r"function_type = \(!torch\.vtensor<\[\?,", compiled.asm["torch"])
        assert "tensor<?x" in compiled.asm["linalg"]
        sizes = [
            re.search(r"mlopt.result_sizes = \[(.+?)\]", compiled.asm[stage])[1]
            for stage in ("torch", "linalg")
        ]
        assert sizes[0] == sizes[1]
        for repeats in (1, 2, 3):
            larger = [
                x.repeat(*(repeats if dim in dims else 1 for dim in range(x.dim())))
                for x, dims in zip(inputs, case.dynamic, strict=True)
            ]
            got, eager = compiled(*larger), module(*larger)
            for ours, theirs in zip(pytree.tree_leaves(got), pytree.tree_leaves(eager), strict=True):
                torch.testing.assert_close(ours, theirs, rtol=2e-5, atol=2e-5)
