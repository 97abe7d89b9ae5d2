"""The control flow of a function: an order of its instructions, and registers that may be unset.

Among the lanes that can run, those at the smallest place in the order go first. The order is
a weak topological one (Bourdoncle): what can be reached later comes later, and a loop's body is
in one piece behind its header, its exits after it. So lanes that part at a branch meet again
at its post-dominator, and lanes that leave a loop wait behind it for the rest.
"""

from __future__ import annotations

from collections.abc import Sequence


def weak_topological_order(successors: Sequence[Sequence[int]], entry: int = 0) -> list[int]:
    """The blocks that are reachable from ``entry``, ordered."""
    return _ordered(successors, entry, set(_reachable(successors, entry)))


def _reachable(successors: Sequence[Sequence[int]], entry: int) -> list[int]:
    found, todo = {entry}, [entry]
    while todo:
        for successor in successors[todo.pop()]:
            if successor not in found:
                found.add(successor)
                todo.append(successor)
    return list(found)


def _ordered(successors: Sequence[Sequence[int]], entry: int, inside: set[int]) -> list[int]:
    out: list[int] = []
    for component in _components(successors, entry, inside):
        header = component[0]
        if len(component) == 1:
            out.append(header)
            continue
        # Without its header a loop falls apart; what remains is ordered from the header's successors.
        body = set(component) - {header}
        out.append(header)
        placed: set[int] = set()
        rest: list[list[int]] = []
        for successor in successors[header]:
            if successor in body - placed:
                part = _ordered(successors, successor, body - placed)
                placed |= set(part)
                rest.append(part)
        for part in reversed(rest):
            out += part
    return out


def _components(successors: Sequence[Sequence[int]], entry: int, inside: set[int]) -> list[list[int]]:
    """Strongly connected components in topological order, the block that is entered first leading each.

    Tarjan's algorithm with its own stack, since functions have thousands of blocks.
    """
    number: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    found: list[list[int]] = []
    work: list[tuple[int, int]] = [(entry, 0)]
    while work:
        node, place = work.pop()
        if place == 0:
            number[node] = low[node] = len(number)
            stack.append(node)
            on_stack.add(node)
        targets = [target for target in successors[node] if target in inside]
        for at in range(place, len(targets)):
            target = targets[at]
            if target not in number:
                work += [(node, at + 1), (target, 0)]
                break
            if target in on_stack:
                low[node] = min(low[node], number[target])
        else:
            for target in targets:
                if target in on_stack:
                    low[node] = min(low[node], low[target])
            if low[node] == number[node]:
                component: list[int] = []
                while True:
                    member = stack.pop()
                    on_stack.discard(member)
                    component.append(member)
                    if member == node:
                        break
                found.append(component[::-1])
    found.reverse()
    return found
