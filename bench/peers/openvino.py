"""OpenVINO on the module that torch exported."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from .base import Call, Peer, Task


class OpenVino(Peer):
    """Tuned for latency, and in f32: it would compute in bf16 where the CPU can."""

    name = "OpenVINO"
    requirements = ("openvino==2026.4.1", "onnx==1.23.2", "onnxscript==0.7.2")
    needs = ("openvino",)
    keeps = True
    exported = True

    @staticmethod
    def environment(threads: int, cache: Path) -> dict[str, str]:
        return {"OMP_NUM_THREADS": str(threads), "BENCH_OPENVINO_CACHE": str(cache)}

    def load(self, threads: int) -> None:
        import openvino

        self._core = openvino.Core()
        self._threads = threads

    def build(self, task: Task) -> Call:
        settings = {
            "INFERENCE_PRECISION_HINT": "f32",
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_NUM_THREADS": self._threads,
            "NUM_STREAMS": 1,
            "CACHE_DIR": os.environ.get("BENCH_OPENVINO_CACHE", ""),
        }
        compiled = self._core.compile_model(task.onnx, "CPU", settings)
        request = compiled.create_infer_request()
        feeds = dict(enumerate(task.arrays))
        request.infer(feeds, share_inputs=True, share_outputs=True)
        return lambda: request.infer(feeds, share_inputs=True, share_outputs=True)

    def array(self, result: Any) -> np.ndarray[Any, Any]:
        return np.asarray(result[0])
