"""Matrix products of random graphs."""

from __future__ import annotations

from .graphs import Array, Operand, filled
from .maker import Maker
from .reductions import narrowed
from .views import transposed


def product(maker: Maker) -> bool:
    """A matrix product, or one of batches, with an operand that may be transposed before."""
    x = maker.pick(least_rank=2, most_rank=3)
    if x is None:
        return False
    *outer, rows, inner = maker.shape(x)
    element, rng = maker.graph.element, maker.rng
    columns = maker.size()
    turned = rng.random() < 0.4
    y = maker.operand([*outer, columns, inner] if turned else [*outer, inner, columns])
    if y is None:
        return False
    last = (*range(len(outer)), len(outer) + 1, len(outer))  # a permutation

    def function(a: Array, b: Array) -> Array:
        return a @ (b.transpose(last) if turned else b)

    def text(out: str, a: str, b: str) -> str:
        lines, shapes = [], ([*outer, rows, inner], [*outer, inner, columns])
        if turned:
            lines += [transposed(f"{out}_b", b, maker.shape(y), last, element)]
            b = f"{out}_b"
        total = Operand(out if element == "f32" else f"{out}_t", [*outer, rows, columns], "f32", "")
        reads = [Operand(name, shape, element, "") for name, shape in zip((a, b), shapes, strict=True)]
        types = ", ".join(read.type for read in reads)
        name = "batch_matmul" if outer else "matmul"
        lines += [
            filled(f"{out}_i", 0, total.shape, "f32", reads),
            f"  {total.name} = linalg.{name} ins({a}, {b} : {types})"
            f" outs({out}_i : {total.type}) -> {total.type}",
        ]
        return "\n".join(lines + narrowed(out, total, element))

    return maker.add([x, y], function, text)
