"""What the rules ask about a nest: can its body run on tiles, which loops can only take single elements."""

from __future__ import annotations

from mlir import ir

from .access import Access, Nest

HALVED = 2  # the stride that tiles are read with: all is read, and every other element kept

_OTHERS = ("linalg.index", "linalg.yield", "tensor.extract", "cf.assert")


def body_problem(nest: Nest) -> str | None:
    """Why a generic's body cannot be mapped onto tiles."""
    for op in nest.body.operations if nest.body else ():
        name = op.operation.name
        elementwise = name.startswith(("arith.", "math.")) and not op.operation.regions
        if not elementwise and name not in _OTHERS:
            return f"{name} in the body"
        for value in op.operation.results:
            if isinstance(value.type, ir.ComplexType):
                return "complex numbers"
    return None


def single_loops(nest: Nest) -> frozenset[int]:
    """The loops that can only run one element at a time.

    They are in an index with a factor or a division, they share a dim with another tiled loop, or the
    position that a gather reads depends on them. A window can read every other element of a row at once; a
    copy of such elements is better made by tasks of one element, of which neighbours read neighbours.
    """
    return nest.once(_find_single_loops)


def _find_single_loops(nest: Nest) -> frozenset[int]:
    loops: set[int] = set()
    for access in (*nest.reads, *nest.writes):
        for number, index in enumerate(access.indices if access else ()):
            if index.rest is not None:
                loops |= loops_in(index.rest)
            if index.stride != 1 and not (access and nest.reductions and is_halved(access, number)):
                loops |= set(index.loops)
            elif len(index.loops) > 1:
                by_kind = sorted(index.loops, key=lambda loop: nest.kinds[loop] == "reduction")
                loops |= set(by_kind[1:])
    for op in nest.body.operations if nest.body else ():
        if op.operation.name == "tensor.extract":
            rows: set[int | None] = set()
            for position in list(op.operation.operands)[1:]:
                loop = loop_of(position)
                if loop is None or loop in rows:  # computed, or the diagonal of a table
                    loops |= loops_behind(nest, position)
                rows.add(loop)
    return frozenset(loops)


def is_halved(access: Access, dim: int) -> bool:
    """Whether every other element is read along ``dim``, the innermost of memory."""
    index = access.indices[dim]
    return index.stride == HALVED and dim == len(access.indices) - 1 and len(index.loops) == 1


def loops_in(expr: ir.AffineExpr) -> set[int]:
    """The dims of an affine expression."""
    if isinstance(expr, ir.AffineDimExpr):
        return {expr.position}
    if isinstance(expr, ir.AffineBinaryExpr):
        return loops_in(expr.lhs) | loops_in(expr.rhs)
    return set()


def loops_behind(nest: Nest, value: ir.Value) -> set[int]:
    """The loops that a value of the body depends on."""
    loops: set[int] = set()
    todo, seen = [value], {value}
    while todo:
        value = todo.pop()
        if isinstance(value, ir.BlockArgument):
            access = nest.reads[value.arg_number] if value.owner == nest.body else None
            for index in access.indices if access else ():
                loops |= {*index.loops, *(loops_in(index.rest) if index.rest is not None else ())}
            continue
        op = value.owner.operation
        if op.block != nest.body:
            continue
        if op.name == "linalg.index":
            loops.add(op.attributes["dim"].value)
        new = [operand for operand in op.operands if operand not in seen]
        seen.update(new)
        todo += new
    return loops


def loop_of(position: ir.Value) -> int | None:
    """The loop whose index a value of a body is."""
    owner = position.owner
    if isinstance(owner, ir.Block) or owner.name != "linalg.index":
        return None
    number: int = owner.attributes["dim"].value
    return number
