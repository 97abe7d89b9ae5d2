"""What this machine does at most, measured beside the peers: a process like theirs (see `serving`).

    python -m mlopt.bench.ceilings THREADS

Bandwidth and FMA peak are those of loops written in LLVM IR here, so that no compiler of ours is measured by
itself; only the rates of exp, tanh … are those of mlopt's kernels, as no processor has them.
"""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import llvmlite.binding as llvm
import numpy as np

from ..compiler import compile_mlir
from ..runtime.loader import LoadedObject, load
from .serving import hold, serve

_BYTES = 128 << 20  # more than caches hold
_ROUNDS = 1 << 21  # of the FMA loop: some milliseconds
_REPEATS = 3
_ROWS, _COLUMNS = 512, 4096  # of the calls of a function
_SUMS, _COPIES, _FMAS = 8, 4, 12  # independent vectors in flight: more than latency times units
_BODIES = {
    "div": "%y = arith.divf %one, %a : f32",
    "rem": "%y = arith.remf %one, %a : f32",
    "pow": "%y = math.powf %a, %one : f32",
    "idiv": """%n = arith.fptosi %a : f32 to i32
    %m = arith.divsi %n, %n : i32
    %y = arith.sitofp %m : i32 to f32""",
}


class Meter:
    """What can be asked for."""

    def __init__(self, threads: int) -> None:
        self._threads = threads
        # What else the machine does takes time off one thread's clock on the wall, not off its own.
        self._clock = time.process_time if threads == 1 else time.perf_counter
        self._pool = ThreadPoolExecutor(threads)
        self._lanes = 16 if llvm.get_host_cpu_features().get("avx512f") else 8
        self._loaded = loaded(program(self._lanes))
        self._from, self._to = (_lines(_BYTES) for _ in range(2))
        self._sum = self._function("sum", ctypes.c_float, ctypes.c_void_p, ctypes.c_int64)
        self._copy = self._function("copy", None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
        self._fmas = self._function("fmas", ctypes.c_float, ctypes.c_float, ctypes.c_int64)
        self._special: dict[str, Callable[[], object]] = {}

    def prepare(self, names: Sequence[str]) -> None:
        """Compile what `turn` needs to measure these functions."""
        for name in names:
            if name not in self._special:
                self._special[name] = _sums(name)

    def turn(self, names: Sequence[str]) -> dict[str, float]:
        """The best of some repetitions of each, a second: bytes ``read``, and bytes in a ``copy`` (both ways
        counted, past the caches), ``flops`` of FMAs in f32; calls of the functions ``names`` in f32, by
        `passes.costs.cost`'s names.
        """
        part = _BYTES // self._threads // 4096 * 4096
        starts = [number * part for number in range(self._threads)]
        from_, to = self._from.ctypes.data, self._to.ctypes.data
        flops = 2 * _FMAS * self._lanes * _ROUNDS * self._threads
        moved = part * self._threads
        found = {
            "read": moved / self._each(lambda start: self._sum(from_ + start, part), starts),
            "copy": 2 * moved / self._each(lambda start: self._copy(from_ + start, to + start, part), starts),
            "flops": flops / self._each(lambda _: self._fmas(0.5, _ROUNDS), starts),
        }
        self.prepare(names)
        return found | {
            name: _ROWS * _COLUMNS / self._best(self._special[name], 10 * _REPEATS) for name in names
        }

    def _each(self, work: Callable[[int], object], starts: list[int]) -> float:
        """Seconds of ``work`` on all threads at once, each with its start."""
        return self._best(lambda: list(self._pool.map(work, starts)), _REPEATS)

    def _best(self, work: Callable[[], object], repeats: int) -> float:
        times = []
        for _ in range(repeats):
            begin = self._clock()
            work()
            times.append(self._clock() - begin)
        return min(times)

    def _function(self, name: str, result: object, *arguments: object) -> Callable[..., object]:
        prototype = ctypes.CFUNCTYPE(result, *arguments)  # type: ignore[arg-type]
        function: Callable[..., object] = prototype(self._loaded.address(name))
        return function


def program(lanes: int) -> str:
    """Three functions in LLVM IR on vectors of ``lanes`` floats: @sum, @copy (bytes), @fmas (rounds)."""
    kind = f"<{lanes} x float>"
    size = 4 * lanes

    def address(pointer: str, number: int) -> str:
        return (
            f"%o{pointer}{number} = add i64 %i, {number * size}\n"
            f"%{pointer}{number} = getelementptr i8, ptr %{pointer}, i64 %o{pointer}{number}\n"
        )

    sums = "".join(
        address("x", n) + f"%v{n} = load {kind}, ptr %x{n}, align 64\n%b{n} = fadd {kind} %a{n}, %v{n}\n"
        for n in range(_SUMS)
    )
    copies = "".join(
        address("x", n)
        + address("y", n)
        + f"%v{n} = load {kind}, ptr %x{n}, align 64\n"
        + f"store {kind} %v{n}, ptr %y{n}, align 64, !nontemporal !0\n"
        for n in range(_COPIES)
    )
    fmas = "".join(
        f"%b{n} = call {kind} @llvm.fma({kind} %a{n}, {kind} %s, {kind} %s)\n" for n in range(_FMAS)
    )
    splat = (
        f"%s0 = insertelement {kind} poison, float %f, i32 0\n"
        f"%s = shufflevector {kind} %s0, {kind} poison, <{lanes} x i32> zeroinitializer\n"
    )
    return f"""
declare {kind} @llvm.fma({kind}, {kind}, {kind})
{_loop("float", "sum", "ptr %x", "", _SUMS, sums, _SUMS * size, kind)}
{_loop("void", "copy", "ptr %x, ptr %y", "", 0, copies, _COPIES * size, kind)}
{_loop("float", "fmas", "float %f", splat, _FMAS, fmas, 1, kind)}
attributes #0 = {{ "prefer-vector-width"="512" "min-legal-vector-width"="512" }}
!0 = !{{i32 1}}
"""


def _sums(name: str) -> Callable[[], object]:
    """The sums over k of f(x[i] + c[k]): hardly any memory, and vectors of one or of the other."""
    call = compile_mlir(sums_of(name))
    x, c = np.linspace(0.5, 1, _ROWS, dtype=np.float32), np.linspace(0.5, 1, _COLUMNS, dtype=np.float32)
    return lambda: call(x, c)


def sums_of(name: str) -> str:
    """The sums over k of f(x[i] + c[k]) as linalg."""
    body = _BODIES.get(name, f"%y = math.{name} %a : f32")
    kinds = f"tensor<{_ROWS}xf32>, tensor<{_COLUMNS}xf32>"
    return f"""
#i = affine_map<(i, k) -> (i)>
#k = affine_map<(i, k) -> (k)>
func.func @main(%x: tensor<{_ROWS}xf32>, %c: tensor<{_COLUMNS}xf32>) -> tensor<{_ROWS}xf32> {{
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.5 : f32
  %e = tensor.empty() : tensor<{_ROWS}xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<{_ROWS}xf32>) -> tensor<{_ROWS}xf32>
  %r = linalg.generic {{indexing_maps = [#i, #k, #i], iterator_types = ["parallel", "reduction"]}}
      ins(%x, %c : {kinds}) outs(%f : tensor<{_ROWS}xf32>) {{
  ^bb0(%p: f32, %q: f32, %o: f32):
    %a = arith.addf %p, %q : f32
    {body}
    %s = arith.addf %o, %y : f32
    linalg.yield %s : f32
  }} -> tensor<{_ROWS}xf32>
  return %r : tensor<{_ROWS}xf32>
}}"""


def _loop(
    result: str, name: str, arguments: str, before: str, carried: int, body: str, step: int, kind: str
) -> str:
    """A loop over %i, of which %a0 … become %b0 …; their total is what it returns."""
    phis = "".join(
        f"%a{n} = phi {kind} [ zeroinitializer, %entry ], [ %b{n}, %loop ]\n" for n in range(carried)
    )
    totals = "%t0 = fadd KIND %b0, %b0\n" if carried else ""
    totals += "".join(f"%t{n} = fadd KIND %t{n - 1}, %b{n}\n" for n in range(1, carried))
    end = f"%r = extractelement KIND %t{carried - 1}, i32 0\nret float %r" if carried else "ret void"
    return f"""define {result} @{name}({arguments}, i64 %n) #0 {{
entry:
{before}br label %loop
loop:
%i = phi i64 [ 0, %entry ], [ %next, %loop ]
{phis}{body}%next = add i64 %i, {step}
%more = icmp slt i64 %next, %n
br i1 %more, label %loop, label %end
end:
{(totals + end).replace("KIND", kind)}
}}"""


def loaded(text: str) -> LoadedObject:
    """The functions of `program`, for this processor."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=2, reloc="pic"
    )
    return load(machine.emit_object(llvm.parse_assembly(text)), ("sum", "copy", "fmas"))


def _lines(size: int) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    """Memory that starts at a cache line, each page of it touched."""
    memory = np.zeros(size + 64, np.uint8)
    memory.fill(1)
    start = -memory.ctypes.data % 64
    return memory[start : start + size]


def main() -> None:
    threads = int(sys.argv[1])
    hold(threads)
    serve(lambda: Meter(threads))


if __name__ == "__main__":
    main()
