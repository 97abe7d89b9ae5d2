"""IREE on the module that iree-turbine exported."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from .base import Call, Peer, Task

_FLAGS = (
    "--iree-llvmcpu-target-cpu=host",
    "--iree-opt-level=O3",
    # Else layer norms do not compile: "exceeded stack allocation limit".
    "--iree-llvmcpu-fail-on-out-of-bounds-stack-allocation=false",
)


class Iree(Peer):
    """Ahead-of-time compilation for this CPU, weights included; local-task with a worker a thread.

    What is compiled is a file, which does for any number of threads.
    """

    name = "IREE"
    requirements = ("iree-base-compiler==3.13.0", "iree-base-runtime==3.13.0", "iree-turbine==3.9.0")
    needs = ("iree.compiler", "iree.runtime", "iree.turbine")

    keeps = True

    @staticmethod
    def environment(threads: int, cache: Path) -> dict[str, str]:
        return {"OMP_NUM_THREADS": str(threads), "BENCH_IREE_CACHE": str(cache)}

    def load(self, threads: int) -> None:
        import iree.compiler
        import iree.runtime
        import iree.turbine.aot

        assert iree.compiler and iree.turbine.aot
        iree.runtime.flags.parse_flags(f"--task_topology_group_count={threads}")
        self._config = iree.runtime.Config("local-task")

    def build(self, task: Task) -> Call:
        import iree.runtime

        kept = (
            Path(os.environ["BENCH_IREE_CACHE"]) / "module.vmfb" if "BENCH_IREE_CACHE" in os.environ else None
        )
        code = kept.read_bytes() if kept and kept.exists() else _compile(task)
        if kept:
            kept.write_bytes(code)
        program = iree.runtime.VmModule.copy_buffer(self._config.vm_instance, code)
        module = iree.runtime.load_vm_module(program, self._config)
        arrays = [iree.runtime.asdevicearray(self._config.device, each.numpy()) for each in task.inputs]
        module.main(*arrays)
        return lambda: module.main(*arrays)

    def array(self, result: Any) -> np.ndarray[Any, Any]:
        return np.asarray(result.to_host())


def _compile(task: Task) -> bytes:
    import iree.compiler
    import iree.turbine.aot

    exported = iree.turbine.aot.export(task.module, args=task.inputs)
    code: bytes = iree.compiler.compile_str(
        str(exported.mlir_module), input_type="torch", target_backends=["llvm-cpu"], extra_args=_FLAGS
    )
    return code
