"""Kernels run as they are and as our passes leave them, all through upstream's lowering, and compared."""

from __future__ import annotations

import ctypes
import functools
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from mlir import ir
from mlir.execution_engine import ExecutionEngine
from mlir.passmanager import PassManager
from mlir.runtime import get_ranked_memref_descriptor
from mlopt.dialects.attributes import SCHEDULE, SLOW
from mlopt.dialects.context import make_context
from mlopt.passes.cpu.strip_mine import StripMine
from mlopt.passes.operations import nested_ops, ops_named
from mlopt.passes.schedule import Schedule
from mlopt.passes.self_copies import SelfCopies
from mlopt.passes.tile import Tile

BUFFERIZE = (
    "eliminate-empty-tensors,one-shot-bufferize{bufferize-function-boundaries=true "
    "function-boundary-type-conversion=identity-layout-map},drop-equivalent-buffer-results,cse"
)
LOWER_TILES = (
    "convert-linalg-to-loops,scf-forall-to-for,func.func(lower-vector-multi-reduction),convert-vector-to-scf{full-unroll=true},"
    "lower-affine,convert-scf-to-cf,expand-strided-metadata,lower-affine,"
    "func.func(math-expand-ops{ops=rsqrt}),convert-math-to-libm,"
    "convert-vector-to-llvm{vector-contract-lowering=outerproduct},convert-math-to-llvm,arith-expand,convert-arith-to-llvm,convert-index-to-llvm,"
    "finalize-memref-to-llvm,convert-func-to-llvm,convert-cf-to-llvm,convert-ub-to-llvm,reconcile-unrealized-casts"
)
# memref.copy, which the untiled slices lower to
RUNNER = str(Path(ir.__file__).parent / "lib/libmlir_c_runner_utils.so")
NUMPY = {
    "f32": np.float32,
    "f64": np.float64,
    "i64": np.int64,
    "i32": np.int32,
    "i8": np.int8,
    "f16": np.float16,
}


LOWER_STRIPS = (
    "func.func(scf-forall-to-for),canonicalize,cse,convert-linalg-to-loops,lower-affine,convert-scf-to-cf,"
    "expand-strided-metadata,lower-affine,func.func(math-expand-ops{ops=rsqrt}),convert-math-to-libm,"
    "convert-vector-to-llvm,convert-math-to-llvm,arith-expand,convert-arith-to-llvm,convert-index-to-llvm,"
    "finalize-memref-to-llvm,convert-func-to-llvm,convert-cf-to-llvm,convert-ub-to-llvm,reconcile-unrealized-casts"
)
WIDTHS = [256, 512]  # of vector registers, in bits

ARGMAX = """%x: f32, %m: f32, %i: i64 {
  %k = linalg.index 1 : index
  %j = arith.index_cast %k : index to i64
  %c = arith.cmpf ogt, %x, %m : f32
  %v = arith.select %c, %x, %m : f32
  %n = arith.select %c, %j, %i : i64
  linalg.yield %v, %n : f32, i64 }"""
EMBEDDING = """%i: i64, %o: f32 {
  %zero = arith.constant 0 : i64
  %rows = arith.constant 7 : i64
  %low = arith.cmpi sge, %i, %zero : i64
  %high = arith.cmpi slt, %i, %rows : i64
  %ok = arith.andi %low, %high : i1
  cf.assert %ok, "IndexError: index out of range in self"
  %safe = arith.select %ok, %i, %zero : i64
  %row = arith.index_cast %safe : i64 to index
  %column = linalg.index 2 : index
  %r = tensor.extract %a1[%row, %column] : tensor<7x5xf32>
  linalg.yield %r : f32 }"""


def with_main(text: str) -> str:
    """The kernel with a @main in destination-passing form around it."""
    name, arguments = re.search(r"@(\w+)\((.*?)\) ->", text).groups()
    types = [argument.split(": ")[1] for argument in arguments.split(", ")]
    results = re.search(r"-> \(?(.*?)\)? attributes", text).group(1).split(", ")
    first = len(types) - len(results)
    head, lines, values = [], [], []
    for number, kind in enumerate(types):
        if number < first:
            writable = " {bufferization.writable = false}" if kind.startswith("tensor") else ""
            head.append(f"%a{number}: {kind}{writable}")
            values.append(f"%a{number}")
            continue
        buffer = kind.replace("tensor", "memref")
        head.append(f"%a{number}: {buffer}")
        sizes = []
        for position, size in enumerate(kind[7:-1].split("x")[:-1]):
            if size == "?":
                lines += [
                    f"%c{number}_{position} = arith.constant {position} : index",
                    f"%d{number}_{position} = memref.dim %a{number}, %c{number}_{position} : {buffer}",
                ]
                sizes.append(f"%d{number}_{position}")
        lines.append(f"%e{number} = tensor.empty({', '.join(sizes)}) : {kind}")
        values.append(f"%e{number}")
    lines.append(
        f"%r:{len(results)} = func.call @{name}({', '.join(values)}) : ({', '.join(types)}) -> "
        f"({', '.join(results)})"
    )
    for number, kind in enumerate(results):
        buffer = kind.replace("tensor", "memref")
        lines.append(
            f"bufferization.materialize_in_destination %r#{number} in restrict writable %a{first + number}"
            f" : ({kind}, {buffer}) -> ()"
        )
    return "\n".join(
        [
            text,
            f"func.func @main({', '.join(head)}) attributes {{llvm.emit_c_interface}} {{",
            *lines,
            "return",
            "}",
        ]
    )


def run(
    module: ir.Module, arrays: Sequence[np.ndarray], lower: str = LOWER_TILES, opt_level: int = 0
) -> None:
    """Lower ``module`` and call its @main with ``arrays``."""
    PassManager.parse(f"builtin.module({lower})").run(module.operation)
    engine = ExecutionEngine(module, opt_level=opt_level, shared_libs=[RUNNER])
    pointers = [ctypes.pointer(ctypes.pointer(get_ranked_memref_descriptor(array))) for array in arrays]
    engine.invoke("main", *pointers)


def run_strips(module: ir.Module, arrays: Sequence[np.ndarray]) -> None:
    """As `run`, of strips; their scratch memory leaves the loops first, as it does in mlopt-cpu-parallel."""
    for function in module.body.operations:
        if len(function.regions[0].blocks):
            first = function.regions[0].blocks[0].operations[0]
            for op in ops_named(function, "memref.alloca"):
                op.move_before(first)
    run(module, arrays, LOWER_STRIPS, opt_level=1)


def untiled(text: str) -> ir.Module:
    """The kernel of ``text`` as it is, and its @main, on buffers."""
    module = ir.Module.parse(with_main(text))
    PassManager.parse(f"builtin.module({BUFFERIZE})").run(module.operation)
    return module


def expected_of(text: str, arrays: Sequence[np.ndarray], outs: int) -> list[np.ndarray]:
    """The last ``outs`` of ``arrays`` after the kernel of ``text`` as it is; the rest are left alone."""
    contents = tuple((array.tobytes(), array.dtype.str, array.shape) for array in arrays)
    return [array.copy() for array in _run_once(text, contents, outs)]


@functools.lru_cache(maxsize=1)  # a test asks for one kernel in many tiles
def _run_once(
    text: str, contents: tuple[tuple[bytes, str, tuple[int, ...]], ...], outs: int
) -> list[np.ndarray]:
    arrays = [np.frombuffer(data, kind).reshape(shape).copy() for data, kind, shape in contents]
    run(untiled(text), arrays)
    return arrays[-outs:]


def in_tiles(text: str, tile: Sequence[int] | None) -> ir.Module:
    """The kernel of ``text`` in tiles of the sizes ``tile`` (None: as scheduled), on tensors."""
    module = ir.Module.parse(with_main(text))
    Schedule().run(module.operation)
    kernel = module.body.operations[0]
    assert SLOW.get(kernel) is None, SLOW.get(kernel)
    if tile is not None:
        SCHEDULE.set(kernel, {"tile": tuple(tile)})
    Tile().run(module.operation)
    assert module.operation.verify()
    return module


def check_tiles(
    text: str,
    arrays: Sequence[np.ndarray],
    tile: Sequence[int] | None = None,
    outs: int = 1,
    tolerance: float = 1e-6,
) -> str:
    """Compile ``text`` as it is, tiled, and strip-mined; compare the last ``outs`` arrays; the tile IR."""
    with make_context(), ir.Location.unknown():
        actual, stripped = ([*arrays[:-outs], *(array.copy() for array in arrays[-outs:])] for _ in range(2))
        expected = expected_of(text, arrays, outs)
        module = in_tiles(text, tile)
        emitted = str(module)
        PassManager.parse(f"builtin.module({BUFFERIZE})").run(module.operation)
        SelfCopies().run(module.operation)
        buffers = str(module)
        assert not re.search(r"memref\.(copy|alloc)\b|tensor<", buffers), buffers
        run(module, actual)
        module = ir.Module.parse(buffers)
        StripMine().run(module.operation)
        run(module, stripped)
    for one, *others in zip(expected, actual[-outs:], stripped[-outs:], strict=True):
        for other in others:
            np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)
    return emitted


def tile_text(text: str) -> str:
    """The tile IR of the kernel of ``text``, with the tiles that are scheduled."""
    with make_context(), ir.Location.unknown():
        return str(in_tiles(text, None))


def strips(text: str, tile: Sequence[int] | None, bits: int) -> ir.Module:
    """The kernel of ``text`` and its @main, down to strips."""
    module = in_tiles(text, tile)
    PassManager.parse(f"builtin.module({BUFFERIZE})").run(module.operation)
    SelfCopies().run(module.operation)
    PassManager.parse("builtin.module(canonicalize,cse)").run(module.operation)
    StripMine(vector_bits=bits).run(module.operation)
    assert module.operation.verify()
    check_widths(module, bits)
    return module


def check_widths(module: ir.Module, bits: int) -> None:
    for op in nested_ops(module.operation):
        for value in op.results:
            if isinstance(value.type, ir.VectorType):
                assert len(value.type.shape) == 1, op
                kind = value.type.element_type
                width = 64 if isinstance(kind, ir.IndexType) else kind.width
                assert value.type.shape[0] * width <= 4 * bits, op


def check_strips(
    text: str,
    arrays: Sequence[np.ndarray],
    tile: Sequence[int] | None = None,
    outs: int = 1,
    tolerance: float = 1e-6,
) -> str:
    """Compare the last ``outs`` arrays between upstream's loops and our strips; the strips' text."""
    with make_context(), ir.Location.unknown():
        expected = expected_of(text, arrays, outs)
        for bits in WIDTHS:
            # Past the end of an output nothing may be written.
            actual = [*arrays[:-outs], *(guarded(array) for array in arrays[-outs:])]
            module = strips(text, tile, bits)
            emitted = str(module)
            run_strips(module, actual)
            for one, other in zip(expected, actual[-outs:], strict=True):
                np.testing.assert_allclose(other, one, rtol=tolerance, atol=tolerance, err_msg=str(bits))
                assert (other.base[other.size :].view(np.uint8) == 0x5A).all()
    return emitted


def guarded(array: np.ndarray) -> np.ndarray:
    """A copy of ``array`` with a pattern behind it, whose ``base`` shows that pattern."""
    memory = np.empty(array.size + 64, array.dtype)
    memory.view(np.uint8)[:] = 0x5A
    copy = memory[: array.size].reshape(array.shape)
    copy[...] = array
    return copy


def data(*shape: int, kind: str = "f32") -> np.ndarray:
    generator = np.random.default_rng(sum(shape) + len(shape))
    values = generator.standard_normal(shape) * 3
    return np.ascontiguousarray(values.astype(NUMPY[kind]))
