"""Passes that only the tests of mlopt-opt use: each one misbehaves in its own way, or shows its options."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import ClassVar

from mlir import ir
from mlopt.passes.base import Pass, PassError


@dataclass(frozen=True)
class Note(Pass):
    """Write the options onto the function."""

    name: ClassVar[str] = "mlopt-test-note"
    op_name: ClassVar[str] = "func.func"
    size: int = 4
    sizes: tuple[int, ...] = ()
    loud: bool = False
    text_value: str = ""
    factor: float = 1.0

    def run(self, op: ir.Operation) -> None:
        op.attributes["noted"] = ir.StringAttr.get(
            f"{self.size} {list(self.sizes)} {self.loud} {self.text_value!r} {self.factor}"
        )


@dataclass(frozen=True)
class Refuse(Pass):
    """Refuse each function."""

    name: ClassVar[str] = "mlopt-test-refuse"
    op_name: ClassVar[str] = "func.func"

    def run(self, op: ir.Operation) -> None:
        raise PassError(op, "this function is refused")


@dataclass(frozen=True)
class Raise(Pass):
    """Fail as a pass with a bug does."""

    name: ClassVar[str] = "mlopt-test-raise"

    def run(self, op: ir.Operation) -> None:
        raise KeyError("a bug in a pass")


@dataclass(frozen=True)
class Break(Pass):
    """Leave IR behind that the verifier rejects."""

    name: ClassVar[str] = "mlopt-test-break"
    op_name: ClassVar[str] = "func.func"

    def run(self, op: ir.Operation) -> None:
        op.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get([], []))


@dataclass(frozen=True)
class Nothing(Pass):
    """Leave everything as it is."""

    name: ClassVar[str] = "mlopt-test-nothing"
    op_name: ClassVar[str] = "any"
    dialects: ClassVar[tuple[str, ...] | None] = ()

    def run(self, op: ir.Operation) -> None:
        pass


@dataclass(frozen=True)
class Device(Pass):
    """Put a gpu.module behind the rest, with an operation that nothing uses."""

    name: ClassVar[str] = "mlopt-test-device"
    dialects: ClassVar[tuple[str, ...] | None] = ("gpu",)

    def run(self, op: ir.Operation) -> None:
        text = "gpu.module @device { func.func @f() { %unused = arith.constant 1 : i32 return } }"
        module = ir.Module.parse(text, op.context)
        op.regions[0].blocks[0].append(module.body.operations[0].detach_from_parent())


@dataclass(frozen=True)
class Print(Pass):
    """Print lines."""

    name: ClassVar[str] = "mlopt-test-print"
    dialects: ClassVar[tuple[str, ...] | None] = ()
    lines: int = 1

    def run(self, op: ir.Operation) -> None:
        for number in range(self.lines):
            print("line", number)


@dataclass(frozen=True)
class Wait(Pass):
    """Say that it waits, and wait."""

    name: ClassVar[str] = "mlopt-test-wait"

    def run(self, op: ir.Operation) -> None:
        print("waiting", flush=True)
        time.sleep(60)
