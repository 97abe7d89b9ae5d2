"""What the tests of worker processes have workers do: the workers find this file by PYTHONPATH."""

import ctypes
import importlib.util
import os
import sys
import time
from pathlib import Path

from mlopt.errors import CompileError, UnsupportedOpError


def echo(value):
    return value


def pid():
    return os.getpid()


def sleep(seconds, value=None):
    time.sleep(seconds)
    return value


def meet(folder, name, other):
    """Waits until another request runs at the same time."""
    Path(folder, name).touch()
    deadline = time.monotonic() + 20
    while not Path(folder, other).exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    return Path(folder, other).exists()


def spin():
    """Never gives the interpreter lock away, as a pass of MLIR does not."""
    ctypes.PyDLL(None).usleep(60_000_000)


def die(signal):
    os.kill(os.getpid(), signal)
    time.sleep(60)


def leave(status):
    os._exit(status)


def exit_politely():
    sys.exit("bye")


def use_up_memory():
    kept = []
    while True:
        kept.append(bytes(64 << 20))


def abort_as_llvm_does_without_memory():
    print("LLVM ERROR: out of memory\nAllocation failed", file=sys.stderr)
    os.abort()


def raise_builtin(text=""):
    raise KeyError("a builtin")


def raise_compile_error(text):
    raise CompileError(f"{text} does not compile", where="model.py:12")


def raise_unsupported(text):
    raise UnsupportedOpError("aten.foo is not supported", where="model.py:12")


class UnpicklableError(Exception):
    def __init__(self):
        super().__init__("it has a lambda")
        self.function = lambda: None


class OneWayError(Exception):
    """Pickles, but cannot be made again: its constructor takes what ``args`` does not have."""

    def __init__(self, first, second):
        super().__init__(f"{first} and {second}")


class UnprintableError(Exception):
    def __str__(self):
        raise RuntimeError("no")


def raise_strange(name):
    raise {
        "UnpicklableError": UnpicklableError,
        "OneWayError": lambda: OneWayError(1, 2),
        "UnprintableError": UnprintableError,
    }[name]()


def return_unpicklable():
    return lambda: None


def raise_of_mlir():
    from mlir import ir

    with ir.Context():
        ir.Module.parse("this is no IR")


def talk():
    print("to standard output")
    print("to standard error", file=sys.stderr)
    os.write(1, b"and past Python\n")
    return sys.stdin.read()


def origin(module):
    """Where a module would be imported from."""
    spec = importlib.util.find_spec(module)
    return spec.origin or spec.submodule_search_locations[0]


def run_pipeline(text, pipeline):
    from mlir import ir
    from mlopt.pipelines.driver import run_pipeline

    with ir.Context():
        module = ir.Module.parse(text)
        run_pipeline(module.operation, pipeline)
        return str(module)


def object_code(text, pipeline):
    """The object of a module that upstream passes can lower."""
    from mlir import ir
    from mlopt.pipelines.driver import run_pipeline
    from mlopt.runtime.codegen import Target, generate

    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        run_pipeline(module.operation, pipeline)
        return generate(module, Target.resolve(), 2).object
