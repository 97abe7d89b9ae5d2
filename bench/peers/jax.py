"""JAX: XLA's CPU backend."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .base import Call, Peer, Task


class Jax(Peer):
    """The module's graph op by op in `jax.numpy` (`jax_ops`), under one `jax.jit`; weights are arguments.

    XLA takes as many threads as there are processors to run on, so the process must be held to them.
    """

    name = "JAX"
    requirements = ("jax==0.10.2", "jaxlib==0.10.2")
    needs = ("jax", "torch")
    keeps = True

    @staticmethod
    def environment(threads: int, cache: Path) -> dict[str, str]:
        return {
            "OMP_NUM_THREADS": str(threads),
            "JAX_PLATFORMS": "cpu",
            "JAX_COMPILATION_CACHE_DIR": str(cache),
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
            "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        }

    def load(self, threads: int) -> None:
        import jax
        import torch

        del threads
        jax.devices()
        torch.set_grad_enabled(False)

    def build(self, task: Task) -> Call:
        import jax
        import jax.numpy as jnp

        function, weights = _function_of(task)
        weights = {name: jnp.asarray(value) for name, value in weights.items()}
        inputs = [jnp.asarray(each.numpy()) for each in task.inputs]
        compiled = jax.jit(function)
        compiled(weights, *inputs).block_until_ready()
        return lambda: compiled(weights, *inputs).block_until_ready()


def _function_of(task: Task) -> tuple[Callable[..., Any], Mapping[str, Any]]:
    """A function of the weights by their names and of the inputs; and the weights."""
    import torch
    from torch.fx import Node
    from torch.fx.node import map_arg

    from .jax_ops import OPS

    exported = torch.export.export(task.module, task.inputs)
    signature = exported.graph_signature
    sources = {**signature.inputs_to_parameters, **signature.inputs_to_buffers}
    state = {**exported.state_dict, **exported.constants}
    graph = exported.graph
    del exported

    def function(weights: Mapping[str, Any], *inputs: Any) -> Any:
        values: dict[Node, Any] = {}
        given = iter(inputs)
        for node in graph.nodes:
            args, kwargs = map_arg((node.args, node.kwargs), values.__getitem__)
            if node.op == "placeholder":
                values[node] = weights[sources[node.name]] if node.name in sources else next(given)
            elif node.op == "output":
                return args[0][0]
            else:
                values[node] = OPS[_name(node.target)](*args, **kwargs)
        raise ValueError("the graph has no output")

    return function, {name: state[name].detach().numpy() for name in set(sources.values())}


def _name(target: Any) -> str:
    return target.__name__ if target.__module__ == "_operator" else str(target)
