"""A module on a device: its variables have addresses, its functions are decoded when first needed."""

from __future__ import annotations

import gc
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from .decode import Decoder, Program
from .errors import EmulatorError
from .memory import GlobalMemory
from .parse import parse
from .ptx import Function, Module, Name, Number, Variable

CODE = 0x0300_0000_0000  # functions have addresses too, from here on
DEEP = 24  # calls that a recursive function, or one called by its address, may nest


@contextmanager
def without_collection() -> Iterator[None]:
    """Does not look for garbage: all that is made lives as long as the module, and half the time would go."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class Loaded:
    """A PTX module in a device's memory."""

    def __init__(self, text: str, memory: GlobalMemory) -> None:
        with without_collection():
            self.module: Module = parse(text)
        self.memory = memory
        self.symbols: dict[str, int] = {}
        self.programs: dict[str, Program] = {}
        self._sites = 0
        for number, name in enumerate(self.module.functions):
            self.symbols[name] = CODE + 16 * number
        self._place_variables()

    def _place_variables(self) -> None:
        kept = [v for v in self.module.variables.values() if v.space in ("global", "const")]
        kept += [
            variable
            for function in self.module.functions.values()
            for variable in function.variables.values()
            if variable.space in ("global", "const")
        ]
        for variable in kept:
            if variable.external:
                raise EmulatorError(f"{variable.name} is declared .extern, and no module defines it")
            data = np.zeros(max(variable.size, 1), np.uint8)
            constant = variable.space == "const"
            allocation = self.memory.place(data, variable.name, writable=not constant)
            self.symbols[variable.name] = allocation.base
        for variable in kept:
            address = self.symbols[variable.name]
            allocation_found = self.memory.find(address)
            assert allocation_found is not None
            _fill(allocation_found.data, variable, self.symbols)

    def function(self, name: str) -> Function:
        """An entry by its name."""
        found = self.module.functions.get(name)
        if found is None or not found.entry:
            entries = [f.name for f in self.module.functions.values() if f.entry]
            raise EmulatorError(f"the module has no kernel {name!r}", details=f"it has {', '.join(entries)}")
        return found

    def program(self, name: str) -> Program:
        """A function, decoded."""
        found = self.programs.get(name)
        if found is None:
            function = self.module.functions[name]
            with without_collection():
                found = self.programs[name] = Decoder(self, function).decode()
        return found

    def next_site(self) -> int:
        """A number for a call."""
        self._sites += 1
        return self._sites

    def name_at(self, address: int) -> str | None:
        """The function whose address this is."""
        names = list(self.module.functions)
        number, rest = divmod(address - CODE, 16)
        return names[number] if rest == 0 and 0 <= number < len(names) else None

    def parameter_offset(self, function: Function, name: str) -> int:
        """Where a parameter is in the bytes of all parameters."""
        return self.parameter_layout(function)[0][name]

    @staticmethod
    def parameter_layout(function: Function) -> tuple[dict[str, int], int]:
        """The places of a kernel's parameters, and their size."""
        place, found = 0, {}
        for parameter in function.params:
            place = -(-place // parameter.align) * parameter.align
            found[parameter.name] = place
            place += parameter.size
        return found, place

    def shared_layout(self, function: Function) -> tuple[dict[str, int], int]:
        """The places of the shared variables that a function may name, and their size.

        Variables of unknown size share the place behind the others: dynamic shared memory.
        """
        known = [v for v in self.module.variables.values() if v.space == "shared"]
        for other in self.module.functions.values():
            if other is function or not other.entry:
                known += [v for v in other.variables.values() if v.space == "shared"]
        place, found = 0, {}
        for variable in sorted(known, key=lambda v: v.size == 0):
            place = -(-place // variable.align) * variable.align
            found[variable.name] = place
            place += variable.size
        return found, place

    def shared_place(self, function: Function, name: str) -> int | None:
        """Where a shared variable is."""
        return self.shared_layout(function)[0].get(name)

    def reachable(self, name: str) -> tuple[list[Program], int]:
        """The functions that a kernel may call, itself first, and how deep calls may nest."""
        depth: dict[str, int] = {}
        recursive = False

        def visit(at: str, path: tuple[str, ...]) -> int:
            nonlocal recursive
            if at in path:
                recursive = True
                return 0
            if at not in depth:
                program = self.program(at)
                callees = [callee for callee in program.calls if self.module.functions[callee].body]
                depth[at] = 1 + max((visit(callee, (*path, at)) for callee in callees), default=0)
            return depth[at]

        deepest = visit(name, ())
        names = list(depth)
        return [self.program(name), *(self.program(n) for n in names if n != name)], (
            DEEP if recursive else deepest
        )


def _fill(data: Any, variable: Variable, symbols: dict[str, int]) -> None:
    """Write a variable's initial values."""
    size = variable.type.bytes
    for number, value in enumerate(variable.values):
        if isinstance(value, Name):
            raw = (symbols[value.text] + value.offset).to_bytes(8, "little")[:size]
        elif isinstance(value, Number):
            raw = _bytes(value, size, variable.type.kind)
        data[number * size : number * size + size] = np.frombuffer(raw, np.uint8)


def _bytes(value: Number, size: int, kind: str) -> bytes:
    if value.bits is not None:
        return value.bits.to_bytes(8, "little")[:size]
    if isinstance(value.value, float) or kind == "f":
        return struct.pack("<f" if size == 4 else "<d", value.value)
    return (value.value & ((1 << 8 * size) - 1)).to_bytes(size, "little")
