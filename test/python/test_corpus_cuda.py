"""Every module of the corpus as PTX, run by the emulator: right to the corpus's bound, on the tile path.

Each module in one of its dtypes, the next module in the next one. Its kernels hold the gates that do not
depend on sizes: no spills, as many blocks as the schedule wants, wide loads before the first use of one, by
ld.global.nc, no bank conflicts. All gates are asked of the same modules at larger sizes (test_gpu_gates.py).
"""

from __future__ import annotations

import mlopt
import pytest
import torch
from mlopt import emulator
from mlopt.bench.gpu.any_size import GATES, missed
from mlopt.bench.gpu.known import CORPUS
from mlopt.bench.gpu.machine_code import parse
from mlopt.bench.gpu.measured import products_of
from mlopt.bench.gpu.modules import PRODUCTS
from mlopt.bench.gpu.operations import dtype_name
from mlopt.runtime.verification import Verifier
from mlopt.test.corpus import CASES

PARAMETERS = [
    pytest.param(case, dtype, id=f"{name}-{str(dtype).removeprefix('torch.')}")
    for number, (name, case) in enumerate(CASES.items())
    for dtype in [case.dtypes[number % len(case.dtypes)]]
]

LATE = """
    .section .text.late,"ax",@progbits
        /*0000*/                   LDG.E.128.CONSTANT R4, [R2.64] ;
        /*0010*/                   IMAD.WIDE.U32 R2, R7, R1, R2 ;
        /*0020*/                   LDG.E.128.CONSTANT R8, [R2.64] ;
        /*0030*/                   EXIT ;
"""


@pytest.mark.parametrize(("case", "dtype"), PARAMETERS)
def test_corpus(case, dtype):
    module = case.module(dtype)
    with torch.no_grad():
        compiled = mlopt.jit(module, *case.inputs(dtype, seed=0), target="cuda:sm_80", device="emulator")
        assert not compiled.report.slow_paths
        inputs = case.inputs(dtype, seed=1)
        verifier = Verifier(module, inputs, {})
        with emulator.record() as launches:
            got = compiled(*[x.clone() for x in inputs])
    verifier.check(got)
    codes = parse(compiled.asm["cubin"])
    found = missed(compiled.report.gpu, compiled.asm["threads"], codes, launches)
    assert found.keys() == CORPUS.get(_row(case.name, dtype), {}).keys(), found
    if case.name in PRODUCTS:
        others = {kernel.name for kernel in compiled.kernels if kernel.function == "main"}
        assert others == products_of(compiled)


# With products, attention, or both; warpgroups make what is large enough for them (test_gpu_warpgroups.py).
HOPPER = [
    pytest.param(*parameter.values, id=parameter.id)
    for parameter in PARAMETERS
    if parameter.values[0].name
    in ("matmuls", "linear_gelu", "attention", "attention_causal", "attention_grouped", "conv_bn_relu",
        "gpt2_block_small", "llama_block", "vit")
]  # fmt: skip


@pytest.mark.parametrize(("case", "dtype"), HOPPER)
def test_corpus_for_sm_90a(case, dtype):
    module = case.module(dtype)
    with torch.no_grad():
        compiled = mlopt.jit(module, *case.inputs(dtype, seed=0), target="cuda:sm_90a", device="emulator")
        inputs = case.inputs(dtype, seed=1)
        verifier = Verifier(module, inputs, {})
        with emulator.record() as launches:
            got = compiled(*[x.clone() for x in inputs])
    verifier.check(got)
    gpu = compiled.report.gpu
    assert not compiled.report.slow_paths and not gpu.warnings
    assert not [kernel.name for kernel in gpu.kernels if kernel.spills]
    assert launches and not [finding for launch in launches for finding in launch.findings]


def _row(name: str, dtype: torch.dtype) -> str:
    """What `CORPUS` calls a module in a dtype."""
    return f"{name}, {dtype_name(dtype)}"


def test_what_misses_a_gate_is_known_to() -> None:
    assert CORPUS.keys() <= {_row(case.name, dtype) for case, dtype in (each.values for each in PARAMETERS)}
    assert all(set(gates) <= set(GATES) and all(gates.values()) for gates in CORPUS.values())


def test_gates_are_missed() -> None:
    """In the report of a kernel that is not as it should be."""
    x = torch.randn(64, 100)
    compiled = mlopt.jit(lambda x: x.softmax(-1), x, target="cuda:sm_80", device="emulator")
    with emulator.record() as launches:
        compiled(x)
    (launch,) = launches
    name, counters, threads = launch.kernel, launch.counters, compiled.asm["threads"]
    codes = parse(compiled.asm["cubin"])
    assert missed(compiled.report.gpu, threads, codes, launches) == {}
    counters.bank_conflicts = 1
    for line in counters.lines:
        line.text = line.text.replace("ld.global.nc", "ld.global")
    many = threads.replace("nvvm.minctasm = ", "nvvm.minctasm = 10")
    late = {name: parse(LATE)["late"]}
    found = missed(compiled.report.gpu, many, late, launches)
    assert found == {"residency": {name}, "first": {name}, "nc": {name}, "banks": {name}}
