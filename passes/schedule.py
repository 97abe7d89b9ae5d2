"""Choose each kernel's tile sizes, and say what the kernel costs.

Before::

    func.func private @kernel_0_matmul(%a: tensor<129x766xf32>, %b: tensor<766x1000xf32>, %out: …) -> …
        attributes {mlopt.kernel}

After::

    … attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 72, 64, 8>},
                  mlopt.bytes = 3975256 : i64, mlopt.flops = 197628000 : i64}

``tile`` has one number for each `Dim` of the kernel's domain: the elements of it in one task, 0 for all of
them; for the reduced dim of a contraction the step of the loop over it. A kernel that no tile rule takes gets
``mlopt.slow = "why"`` instead and stays linalg. Always legal: it only adds attributes.

``choices`` takes others of the candidates than the first: ``choices=2`` for all kernels, or
``choices="kernel_0_matmul:2 kernel_3_sum:1"``; those that are not named get the first. On a GPU products and
attention on tensor cores have some, one for each of the sizes of blocks that were compared.

For ``target=cuda`` the schedule also has ``warps``, of a block, and ``min_blocks``, that a multiprocessor
should hold (nvvm.minctasm); a reduction has ``most_registers`` (nvvm.maxnreg) if its blocks leave a thread
more than it needs; a product on tensor cores has ``stages``, the steps whose factors are in shared
memory at once, ``registers``, with which a thread makes do, and one of the kernel's twin for what is not
aligned; its kernel has ``mlopt.considered``: the blocks that were compared, and the time that was predicted
for each. ``parts`` says how many blocks share the keys of attention's few rows (mlopt-gpu-split-keys), and
``mlopt.last_blocks`` what that saves. ``ping_pong`` says how many warpgroups are to take turns with a block's
tiles. A sum of rows that indices name has ``listed``: how many of them are read at once. ``wait_for_loads``
has a thread wait for all that it loads before it computes. How sizes are chosen: ``passes/scheduling``.

Lowering: mlopt-tile writes no kernel that has no schedule. Its own compile time is 0.02 s for the kernels of
two GPT-2 blocks on a CPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from mlir import ir

from ..dialects.attributes import BYTES, CONSIDERED, FLOPS, KERNEL, LAST_BLOCKS, SCHEDULE, SLOW
from .base import Pass, PassError, UnsupportedError
from .costs.count import cost_of
from .costs.machine import DEFAULT_CPU, DEFAULT_GPU, find_machine, machine_of
from .costs.rows import bytes_again
from .domain import Domain
from .operations import ops_named
from .scheduling import block_times, cpu, gpu
from .scheduling.attention import attention_of
from .scheduling.common import TASKS
from .scheduling.gpu_attention import bytes_of_parts
from .scheduling.tensor_blocks import SHARED
from .structured import SCAN
from .tile import kernel_domain
from .tiling.registry import can_tile

# By target: how many candidates a kernel has at most.
CANDIDATES = {"cpu": len(cpu.CANDIDATES), "cuda": block_times.CANDIDATES}


@dataclass(frozen=True)
class Schedule(Pass):
    """Choose tile sizes for ``target``; ``tasks``: how many a big kernel should have at least on a CPU, whose
    registers have ``vector-bits``; ``choices``: which candidates to take; ``machine``: whose times decide for
    a GPU; ``shared``: the bytes of shared memory of its multiprocessors; ``tf32``: whether its products may
    round f32 to 11 bits; ``warpgroups``: whether it has wgmma.
    """

    name: ClassVar[str] = "mlopt-schedule"
    target: str = "cpu"
    tasks: int = TASKS
    choices: str = ""
    vector_bits: int = 512
    machine: str = DEFAULT_GPU
    shared: int = SHARED
    tf32: bool = False
    warpgroups: bool = False

    def run(self, op: ir.Operation) -> None:
        """Schedule each kernel of the module."""
        if self.target not in CANDIDATES:
            raise PassError(op, f"schedule: no target '{self.target}'; use one of {', '.join(CANDIDATES)}")
        machine_of(op, self.machine)  # refuses a name that is none
        kernels = {
            function.attributes["sym_name"].value: function.operation
            for function in op.regions[0].blocks[0].operations
            if KERNEL.get(function.operation)
        }
        choices = self._choices(op, tuple(kernels))
        for name, kernel in kernels.items():
            self._schedule(kernel, choices.get(name, 0))

    def _choices(self, op: ir.Operation, kernels: Sequence[str]) -> dict[str, int]:
        """The number of each kernel's candidate, of those for which one is asked."""
        if self.choices.isdecimal():
            asked = dict.fromkeys(kernels, self.choices)
        else:
            pairs = [each.partition(":") for each in self.choices.split()]
            asked = {name: number for name, _, number in pairs}
        for name, number in asked.items():
            if name not in kernels:
                raise PassError(op, f"schedule: no kernel '{name}'; there are: {', '.join(kernels)}")
            if not number.isdecimal() or int(number) >= CANDIDATES[self.target]:
                raise PassError(
                    op,
                    f"schedule: no candidate '{number}' for @{name}; a kernel has up to"
                    f" {CANDIDATES[self.target]} of them for target={self.target}, from 0",
                )
        return {name: int(number) for name, number in asked.items()}

    def _schedule(self, function: ir.Operation, candidate: int) -> None:
        cost = cost_of(function)
        domain = kernel_domain(function)
        machine = find_machine(DEFAULT_CPU if self.target == "cpu" else self.machine)
        again = 0 if isinstance(domain, str) else bytes_again(domain, machine)
        BYTES.set(function, cost.bytes + again)
        FLOPS.set(function, cost.flops)
        reason = domain if isinstance(domain, str) else can_tile(domain) or self._problem(domain)
        if isinstance(domain, str) or reason is not None:
            scans = ops_named(function, SCAN) if self.target == "cpu" else []
            if scans:
                raise UnsupportedError(
                    scans[0], f"no kernel has this '{SCAN}': {reason}", "write an scf.for over the tensor"
                )
            SLOW.set(function, reason or "")
            return
        if self.target == "cuda":
            self._schedule_blocks(function, domain, candidate)
            return
        chosen = cpu.choose_tiles(domain, self.tasks, cpu.sizes_for(self.vector_bits, candidate))
        SCHEDULE.set(function, {"tile": tuple(chosen[dim] for dim in domain.dims)})

    def _problem(self, domain: Domain) -> str | None:
        return gpu.problem(domain) if self.target == "cuda" else cpu.problem(domain)

    def _schedule_blocks(self, function: ir.Operation, domain: Domain, candidate: int) -> None:
        choice = gpu.choose(domain, self.machine, self.shared, self.tf32, self.warpgroups, candidate)
        tiles = tuple(choice.tiles[dim] for dim in domain.dims)
        found = {"tile": tiles, "warps": (choice.warps,), "min_blocks": (choice.min_blocks,)}
        found |= {"stages": (choice.stages,)} if choice.stages > 1 else {}
        found |= {"registers": choice.registers} if choice.registers else {}
        found |= {"most_registers": (choice.most_registers,)} if choice.most_registers else {}
        found |= {"wait_for_loads": (1,)} if choice.wait_for_loads else {}
        found |= {"beyond": (1,)} if choice.beyond else {}
        found |= {"parts": (choice.parts,)} if choice.parts > 1 else {}
        found |= {"listed": (choice.listed,)} if choice.listed else {}
        found |= {"ping_pong": (choice.consumers,)} if choice.consumers > 1 else {}
        SCHEDULE.set(function, found | ({"tf32": (1,)} if choice.tf32 else {}))
        if choice.shared_keys:
            LAST_BLOCKS.set(function, choice.shared_keys)
        attention = attention_of(domain)
        if attention is not None:
            BYTES.set(function, (BYTES.get(function) or 0) + bytes_of_parts(domain, attention, choice.parts))
        if choice.considered:
            CONSIDERED.set(function, choice.considered)
