"""The peers by name, mlopt among them, and which of them are installed."""

from __future__ import annotations

import importlib.util

from .base import Call, Peer, Task
from .eager import Eager
from .inductor import Inductor
from .iree import Iree
from .jax import Jax
from .mlopt import NAME, Mlopt
from .onnx_runtime import OnnxRuntime
from .openvino import OpenVino

__all__ = ["NAME", "PEERS", "Call", "Peer", "Task", "missing"]

PEERS: dict[str, type[Peer]] = {
    peer.name: peer for peer in (Mlopt, Eager, Inductor, Jax, OnnxRuntime, OpenVino, Iree)
}


def missing(peer: type[Peer]) -> list[str]:
    """What the peer needs and is not installed."""
    return [name for name in peer.needs if not _is_there(name)]


def _is_there(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # the package that it is in
        return False
