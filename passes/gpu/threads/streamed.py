"""Stores that LLVM has no instruction for: what they write leaves the caches first (PTX ISA: st.cs)."""

from __future__ import annotations

from collections.abc import Sequence

from mlir import ir
from mlir.dialects import llvm

from ..layouts.access import bytes_of
from .builder import Builder
from .emitter import Buffer

_WORD = 4
_CONSTRAINTS = {4: "r", 8: "l"}


def store_result(
    build: Builder, buffer: Buffer, values: Sequence[ir.Value], pointer: ir.Value, align: int
) -> None:
    """Store neighbours in a buffer; past the caches if it is streamed and they fill words of 4 bytes.

    A hint is not worth an instruction: what is smaller is stored as ever.
    """
    element = bytes_of(values[0].type)
    size, word = len(values) * element, max(element, _WORD)
    if not buffer.streamed or size % word:
        build.store(values, pointer, align)
        return
    count, bits = size // word, 8 * word
    words = ir.VectorType.get([count], ir.IntegerType.get_signless(bits))
    vector = build.op("vector.bitcast", [build.vector(values)], words)
    place = build.op("llvm.addrspacecast", [pointer], ir.Type.parse("!llvm.ptr<1>"))
    kind = f".v{count}" if count > 1 else ""
    operands = ", ".join(f"${1 + number}" for number in range(count))
    llvm.inline_asm(
        None,
        [place, *build.elements(vector)],
        f"st.global.cs{kind}.b{bits} [$0], {{{operands}}};",
        ",".join("l" + count * _CONSTRAINTS[word]),
        has_side_effects=True,
    )
