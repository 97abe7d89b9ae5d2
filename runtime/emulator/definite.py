"""Registers that some path reads before it writes them: only these are tracked while a kernel runs."""

from __future__ import annotations

from collections.abc import Iterator

from .ptx import Arguments, Function, Instruction, Memory, Name, Not, Operand, Pair, Vector

# Instructions whose first operand is read, not written.
_NO_RESULT = {
    "st", "bra", "brx", "bar", "barrier", "ret", "exit", "trap", "red", "membar", "fence", "prefetch",
    "prefetchu", "brkpt", "nanosleep", "pmevent", "discard", "applypriority", "stmatrix", "cp",
    "griddepcontrol", "setmaxnreg", "wgmma", "tcgen05", "createpolicy_none",
}  # fmt: skip


def written(instruction: Instruction) -> tuple[Operand, ...]:
    """The operands that an instruction writes."""
    opcode = instruction.opcode
    if opcode == "call":
        first = instruction.operands[0]
        return first.items if isinstance(first, Arguments) else ()
    if opcode == "mbarrier" and instruction.has("init", "inval", "expect_tx", "complete_tx"):
        return ()
    if opcode == "wgmma" and instruction.has("mma_async"):
        return instruction.operands[:1]
    if opcode in ("bar", "barrier") and instruction.has("red"):
        return instruction.operands[:1]
    if opcode in _NO_RESULT or not instruction.operands:
        return ()
    return instruction.operands[:1]


def names(operand: Operand) -> Iterator[str]:
    """The names in an operand."""
    if isinstance(operand, Name):
        yield operand.text
    elif isinstance(operand, Not):
        yield operand.name.text
    elif isinstance(operand, Memory):
        yield from names(operand.base)
        for more in operand.more:
            yield from names(more)
    elif isinstance(operand, Vector | Arguments):
        for item in operand.items:
            yield from names(item)
    elif isinstance(operand, Pair):
        yield from names(operand.first)
        yield from names(operand.second)


def maybe_unset(function: Function) -> set[str]:
    """The registers that may be read before they are written, by a forward data-flow analysis."""
    code, registers = function.code, function.registers
    if not code:
        return set()
    number = {name: at for at, name in enumerate(registers)}
    everything = (1 << len(number)) - 1
    leaders = {0, *function.labels.values()}
    leaders |= {at + 1 for at, found in enumerate(code) if found.opcode in ("bra", "brx", "ret", "exit")}
    starts = sorted(start for start in leaders if start < len(code))
    block_of = {start: at for at, start in enumerate(starts)}
    limits = [*starts[1:], len(code)]
    sets = [_written_in(code[start:limit], number) for start, limit in zip(starts, limits, strict=True)]
    before = [everything] * len(starts)
    before[0] = _mask((parameter.name for parameter in function.params), number)
    todo, seen = [0], {0}
    while todo:
        block = todo.pop()
        after = before[block] | sets[block]
        for target in _successors(function, code[limits[block] - 1], limits[block]):
            following = block_of.get(target)
            if following is None:
                continue
            joined = before[following] & after
            if joined != before[following] or following not in seen:
                seen.add(following)
                before[following] = joined
                todo.append(following)
    unset: set[str] = set()
    reverse = list(registers)
    for block, (start, limit) in enumerate(zip(starts, limits, strict=True)):
        have = before[block]
        for instruction in code[start:limit]:
            for name in _read(instruction):
                if name in number and not have >> number[name] & 1:
                    unset.add(reverse[number[name]])
            have |= _written_by(instruction, number)
    return unset


def is_ever_written(function: Function, name: str) -> bool:
    """Whether any instruction writes a register."""
    return any(name in names(operand) for each in function.code for operand in written(each))


def _successors(function: Function, last: Instruction, following: int) -> list[int]:
    targets: list[int] = []
    if last.opcode == "bra" and isinstance(last.operands[0], Name):
        place = function.label(last.scope, last.operands[0].text)
        targets += [] if place is None else [place]
    if last.opcode == "brx" and isinstance(last.operands[1], Name):
        for name in function.branch_targets(last.scope, last.operands[1].text) or ():
            place = function.label(last.scope, name)
            targets += [] if place is None else [place]
    if last.guard is not None or last.opcode not in ("bra", "brx", "ret", "exit", "trap"):
        targets.append(following)
    return targets


def _read(instruction: Instruction) -> Iterator[str]:
    if instruction.guard is not None:
        yield from names(instruction.guard)
    accumulates = instruction.opcode == "wgmma"  # then it reads what it writes
    operands = instruction.operands
    results = isinstance(operands[0], Arguments) and len(operands) > 1 if operands else False
    if results or (instruction.opcode != "call" and not accumulates and written(instruction)):
        operands = operands[1:]
    for operand in operands:
        yield from names(operand)


def _written_by(instruction: Instruction, number: dict[str, int]) -> int:
    if instruction.guard is not None:
        return 0
    return _mask((name for operand in written(instruction) for name in names(operand)), number)


def _written_in(code: list[Instruction], number: dict[str, int]) -> int:
    found = 0
    for instruction in code:
        found |= _written_by(instruction, number)
    return found


def _mask(found: Iterator[str], number: dict[str, int]) -> int:
    mask = 0
    for name in found:
        if name in number:
            mask |= 1 << number[name]
    return mask
