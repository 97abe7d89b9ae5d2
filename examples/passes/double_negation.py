"""A peephole rewrite: what is negated twice is itself."""

from dataclasses import dataclass
from typing import ClassVar

from mlir import ir
from mlir.rewrite import PatternRewriter, RewritePatternSet, apply_patterns_and_fold_greedily
from mlopt.passes.base import Pass


@dataclass(frozen=True)
class DoubleNegation(Pass):
    """Replace -(-x) by x: exact, NaNs and signed zeros included."""

    name: ClassVar[str] = "double-negation"

    def run(self, op: ir.Operation) -> None:
        patterns = RewritePatternSet()
        patterns.add("arith.negf", _rewrite)
        apply_patterns_and_fold_greedily(op, patterns.freeze())


def _rewrite(outer: ir.Operation, rewriter: PatternRewriter) -> bool:
    """Returns whether it does not match."""
    inner = outer.operands[0].owner
    if not isinstance(inner, ir.Operation | ir.OpView) or inner.operation.name != "arith.negf":
        return True
    rewriter.replace_op(outer, [inner.operation.operands[0]])
    return False
