"""How many operands each instruction takes: one with more or fewer is not run."""

from __future__ import annotations

from .ptx import Instruction

_COUNTS = {
    "0": "ret exit trap membar fence fence.proxy fence.mbarrier_init barrier.cluster.arrive"
    " barrier.cluster.wait griddepcontrol wgmma.fence wgmma.commit_group cp.async.commit_group"
    " cp.async.wait_all cp.async.bulk.commit_group",
    "0 2": "fence.proxy.tensormap::generic",
    "1": "bra activemask bar.warp setmaxnreg nanosleep pmevent prefetch prefetchu mbarrier.inval"
    " cp.async.mbarrier cp.async.wait_group cp.async.bulk.wait_group wgmma.wait_group",
    "1 2 3": "cp.async.bulk.prefetch.tensor",
    "1 2 3 4": "call createpolicy bar barrier",
    "2": "abs neg popc clz brev bfind rcp sqrt rsqrt sin cos lg2 ex2 tanh testp not cnot mov cvta getctarank"
    " isspacep movmatrix ldmatrix stmatrix elect discard applypriority mbarrier.init mbarrier.expect_tx"
    " mbarrier.complete_tx mbarrier.pending_count",
    "2 3": "ld ldu st brx red mbarrier.arrive mbarrier.arrive_drop cp.async.bulk.prefetch tensormap.replace",
    "2 3 4": "cvt",
    "2 3 4 5 6": "cp.async.bulk.tensor cp.reduce.async.bulk.tensor",
    "3": "add sub addc subc mul mul24 div rem min max and or xor shl shr copysign bmsk szext mapa st.async"
    " red.async match redux vote.sync mbarrier.test_wait tensormap.cp_fenceproxy",
    "3 4": "setp set cvt.pack mbarrier.try_wait",
    "3 4 5": "atom cp.async",
    "3 4 5 6": "cp.async.bulk cp.reduce.async.bulk",
    "4": "mad madc mad24 sad fma fns bfe dp4a dp2a selp slct shf prmt mma.sync",
    "4 5 6 7 8 9 10": "wgmma.mma_async",
    "5": "bfi shfl.sync",
    "5 6": "lop3",
}
COUNTS = {
    opcode: tuple(map(int, counts.split()))
    for counts, opcodes in _COUNTS.items()
    for opcode in opcodes.split()
}


def odd(opcode: str, instruction: Instruction) -> str:
    """What is wrong with the number of operands; empty if nothing."""
    counts, found = COUNTS[opcode], len(instruction.operands)
    return "" if found in counts else f"{found} operands of {' or '.join(map(str, counts))}"
