"""What each thread of a block does: how `mlopt-gpu-distribute` writes a kernel's device function.

A tile becomes a `Fragment`: the elements that one thread holds, as scalars, by the part of their
position that is the registers' (`dialects/layouts.py`). Ops are emitted in their order, each by the rule of
its name; layouts fit already: mlopt-gpu-assign-layouts put an mlopt.convert_layout wherever they change.

Writing a rule: a file with a function, registered under the names of the ops that it takes, and the file's
name in ``registry._FILES``::

    @rule("vector.example")
    def emit(em: Emitter, op: ir.Operation) -> None:
        source = em.fragment(op.operands[0])          # a tile; em.scalar(…) is for scalars
        layout = em.layout(op.results[0])             # of mlopt.layout
        values = {
            position: em.build.op("arith.addf", [source[position], source[position]])
            for position in positions_of(layout, op.results[0])
        }
        em.set_fragment(op.results[0], Fragment(layout, values))

- ``em.build`` writes scalar ops at the insertion point, with constants folded and shared (`Builder`).
- ``em.thread(layout, dim)`` is what the thread adds to positions along a dim; ``em.once(key, make)`` keeps a
  value for as long as it dominates, ``em.at_entry(key, make)`` puts it at the function's beginning.
- Shared memory comes from ``em.shared`` (`Shared`): ``alloc`` and ``free``, and ``writes``/``reads``
  before each use, which set the barriers. Every thread of a block comes by every rule, so barriers are
  safe wherever a rule emits ops outside of an scf.if.
- Positions at or beyond the tile's extent are nobody's: a rule that lets elements meet (a reduction) must
  leave them out; reads and writes are guarded.
"""
