"""ONNX Runtime on the module that torch exported."""

from __future__ import annotations

from typing import Any

import numpy as np

from .base import Call, Peer, Task


class OnnxRuntime(Peer):
    """All graph optimizations, the CPU provider, one request at a time."""

    name = "ONNX Runtime"
    requirements = ("onnxruntime==1.31.1", "onnx==1.23.2", "onnxscript==0.7.2")
    needs = ("onnxruntime",)
    exported = True

    def load(self, threads: int) -> None:
        import onnxruntime

        self._options = onnxruntime.SessionOptions()
        self._options.intra_op_num_threads = threads
        self._options.inter_op_num_threads = 1
        self._options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL

    def build(self, task: Task) -> Call:
        import onnxruntime

        session = onnxruntime.InferenceSession(task.onnx, self._options, providers=["CPUExecutionProvider"])
        names = [value.name for value in session.get_inputs()]
        feeds = dict(zip(names, task.arrays, strict=True))
        session.run(None, feeds)
        return lambda: session.run(None, feeds)

    def array(self, result: Any) -> np.ndarray[Any, Any]:
        return np.asarray(result[0])
