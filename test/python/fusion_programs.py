"""Programs as linalg text, and the groups that mlopt-fuse makes of their ops."""

from __future__ import annotations

import re

from mlir import ir
from mlopt.dialects.attributes import DECISIONS, GROUP, OP
from mlopt.dialects.context import make_context
from mlopt.passes.fuse import Fuse

MAPS = """
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#col = affine_map<(i, j) -> (j)>
#vec = affine_map<(j) -> (j)>
"""


def elementwise(name, inputs, out, body="%y = arith.negf %a0 : f32", element="f32"):
    """``inputs`` are (value, map, type); the body yields %y of %a0, %a1 …"""
    values, maps, kinds = zip(*inputs, strict=True)
    loops = '"parallel"' if out.count("x") == 1 else '"parallel", "parallel"'
    own = "#vec" if out.count("x") == 1 else "#id"
    arguments = ", ".join(
        f"%a{number}: {re.split('[x<]', kind)[-1].rstrip('>')}" for number, kind in enumerate(kinds)
    )
    return f"""  %{name}_e = tensor.empty() : {out}
  %{name} = linalg.generic {{indexing_maps = [{", ".join((*maps, own))}], iterator_types = [{loops}]}}
      ins({", ".join(values)} : {", ".join(kinds)}) outs(%{name}_e : {out}) attrs = {{mlopt.op = "{name}"}} {{
  ^bb0({arguments}, %o: {element}):
    {body}
    linalg.yield %y : {element}
  }} -> {out}
"""


def matmul(name, left, right, m, n, k):
    a, b, c = f"tensor<{m}x{k}xf32>", f"tensor<{k}x{n}xf32>", f"tensor<{m}x{n}xf32>"
    return f"""  %{name}_e = tensor.empty() : {c}
  %{name}_f = linalg.fill ins(%zero : f32) outs(%{name}_e : {c}) -> {c}
  %{name} = linalg.generic {{indexing_maps = [#a, #b, #c],
      iterator_types = ["parallel", "parallel", "reduction"]}}
      ins({left}, {right} : {a}, {b}) outs(%{name}_f : {c}) attrs = {{mlopt.op = "{name}"}} {{
  ^bb0(%p: f32, %q: f32, %s: f32):
    %t = arith.mulf %p, %q : f32
    %u = arith.addf %s, %t : f32
    linalg.yield %u : f32
  }} -> {c}
"""


def total(name, value, kind, out, kept="#row"):
    kinds = '"parallel", "reduction"' if kept == "#row" else '"reduction", "parallel"'
    return f"""  %{name}_e = tensor.empty() : {out}
  %{name}_f = linalg.fill ins(%zero : f32) outs(%{name}_e : {out}) -> {out}
  %{name} = linalg.generic {{indexing_maps = [#id, {kept}], iterator_types = [{kinds}]}}
      ins({value} : {kind}) outs(%{name}_f : {out}) attrs = {{mlopt.op = "{name}"}} {{
  ^bb0(%p: f32, %s: f32):
    %u = arith.addf %s, %p : f32
    linalg.yield %u : f32
  }} -> {out}
"""


def program(arguments, body, results):
    values, kinds = zip(*results, strict=True)
    return f"""{MAPS}
func.func @main({arguments}) -> ({", ".join(kinds)}) {{
  %zero = arith.constant 0.0 : f32
{body}  return {", ".join(values)} : {", ".join(kinds)}
}}"""


def fused(text, machine="cpu"):
    """The groups, each the names of its ops in order."""
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        Fuse(machine).run(module.operation)
        assert module.operation.verify()
        groups = {}
        for op in module.body.operations[0].regions[0].blocks[0].operations:
            if OP.get(op) is not None:
                groups.setdefault(GROUP.get(op), []).append(OP.get(op))
        return sorted(groups.values()), DECISIONS.get(module.operation)
