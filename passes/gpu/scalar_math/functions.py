"""Functions of one number that threads call: each is written once, and LLVM puts it where it is called.

    %y = llvm.call @mlopt_erf(%x) : (f32) -> f32

A product's epilogue has hundreds of calls; each of 15 ops or more is one op for all passes until then.
"""

from __future__ import annotations

from collections.abc import Callable

from mlir import ir

PREFIX = "mlopt_"  # kernels have names without it
# What LLVM moves as it moves arithmetic.
_NOWHERE = ("other", "argMem", "inaccessibleMem", "errnoMem", "targetMem0", "targetMem1")
_PURE = f"#llvm.memory_effects<{', '.join(f'{place} = none' for place in _NOWHERE)}>"
_MARKS = ("always_inline", "no_unwind", "will_return")

Formula = Callable[[ir.Value, ir.Block], ir.Value]  # of a number; told where its constants stand, too


class Functions:
    """Those of a ``block``, a gpu.module's."""

    def __init__(self, block: ir.Block) -> None:
        self._block = block
        self._calls: dict[str, dict[str, ir.Attribute]] = {}  # the attributes of a call, by name

    def call(self, name: str, formula: Formula, x: ir.Value) -> ir.Value:
        """The ``formula`` of that name, of ``x``."""
        if name not in self._calls:
            self._write(name, formula, x.type)
            self._calls[name] = {
                "callee": ir.FlatSymbolRefAttr.get(PREFIX + name),
                "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]),
                "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 0]),
            }
        return ir.Operation.create("llvm.call", [x.type], [x], self._calls[name]).result

    def _write(self, name: str, formula: Formula, kind: ir.Type) -> None:
        # Ahead of kernels, as what is declared for them (`pipelines.device_parts`).
        with ir.InsertionPoint.at_block_begin(self._block):
            function = ir.Operation.create(
                "llvm.func",
                attributes={
                    "sym_name": ir.StringAttr.get(PREFIX + name),
                    "function_type": ir.TypeAttr.get(ir.Type.parse(f"!llvm.func<{kind} ({kind})>")),
                    "CConv": ir.Attribute.parse("#llvm.cconv<ccc>"),
                    "linkage": ir.Attribute.parse("#llvm.linkage<internal>"),
                    "memory_effects": ir.Attribute.parse(_PURE),
                    **{mark: ir.UnitAttr.get() for mark in _MARKS},
                },
                regions=1,
            )
        body = function.regions[0].blocks.append(kind)
        with ir.InsertionPoint(body):
            ir.Operation.create("llvm.return", operands=[formula(body.arguments[0], body)])
