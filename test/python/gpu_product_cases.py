"""Gates of one product on tensor cores, and the sweep of which `test_gpu_product_gates` has a slice.

    python test/python/gpu_product_cases.py                 200 products, as many of each type and transpose
    python test/python/gpu_product_cases.py --seed 7 --cases 1000

Sizes are drawn. Prints what breaks a gate, and exits with 1 then.
"""

from __future__ import annotations

import argparse
import itertools
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path

import numpy as np
from mlopt.bench.gpu.machine_code import parse
from mlopt.runtime.cuda.ptxas import assemble, disassemble_cubin, find_ptxas

sys.path.insert(0, str(Path(__file__).parent))
from gpu_gate_runs import CHIP, SECTOR, run_problems
from gpu_kernels import Kernel, compile_kernel
from gpu_products import numbers, product, wide

KINDS = ("bf16", "f16", "i8")
MOST = 160  # rows, columns and depth of what is drawn
WHOLE = 16  # bytes: rows that are no multiple are read element by element
DEPTH = 32  # bytes: of a depth that is no multiple, an instruction's last part is loaded one by one
_HEAD = re.compile(r"^\.(version|target|address_size|extern \.shared) .*$", re.MULTILINE)


@dataclass(frozen=True)
class Case:
    """A product; ``schedule``: the block that a larger one would have, "" for the schedule's own."""

    kind: str
    left: bool
    right: bool
    size: tuple[int, int, int]
    schedule: str = ""

    def __str__(self) -> str:
        turned = (" aT" if self.left else "") + (" bT" if self.right else "")
        return f"{'x'.join(map(str, self.size))} {self.kind}{turned}"

    @property
    def factors(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Their shapes in memory."""
        m, n, k = self.size
        return (k, m) if self.left else (m, k), (n, k) if self.right else (k, n)

    @property
    def bytes(self) -> int:
        """Of an element of a factor."""
        return {"i8": 1, "e4m3": 1, "e5m2": 1, "tf32": 4}.get(self.kind, 2)

    def compile(self) -> Kernel:
        """The kernel."""
        text = product(*self.size, self.kind, self.left, self.right)
        return compile_kernel(text, schedule=self.schedule or None)


def drawn(seed: int, most: int = MOST) -> Iterator[Case]:
    """Products of each type and transpose in turn; of eight sizes seven have whole pieces of 16 bytes."""
    rng = np.random.default_rng(seed)
    for number, (kind, left, right) in enumerate(
        itertools.cycle(itertools.product(KINDS, (False, True), (False, True)))
    ):
        part = 1 if number % 8 == 7 else 8 if kind != "i8" else WHOLE
        m, n, k = (int(each) * part for each in rng.integers(1, most // part + 1, 3))
        yield Case(kind, left, right, (m, n, k))


def problems(cases: Sequence[Case], seed: int = 0) -> dict[str, list[str]]:
    """What breaks a gate, by case; the kernels are assembled as one text, which is read once."""
    # Of one row and columns that lie in memory: sums of rows, which have gates of their own.
    kernels = {case: case.compile() for case in cases}
    made = {case: kernel for case, kernel in kernels.items() if "mma.sync" in kernel.ptx}
    found = {
        str(case): ["it is not on tensor cores"] for case in cases if case not in made and 1 not in case.size
    }
    for (case, kernel), code in zip(made.items(), _code_problems(made), strict=True):
        broken = [*code, *_run_problems(case, kernel, seed)]
        found |= {str(case): broken} if broken else {}
    return found


def _code_problems(kernels: Mapping[Case, Kernel]) -> list[list[str]]:
    ptxas = find_ptxas(CHIP)
    assert ptxas is not None, "the tests' environment has one"
    if not kernels:
        return []
    made = assemble(_joined([kernel.ptx for kernel in kernels.values()]), CHIP, ptxas)
    codes = parse(disassemble_cubin(made.cubin))
    assert codes.keys() == made.kernels.keys() and len(codes) >= len(kernels)
    found = []
    for number, case in enumerate(kernels):
        broken = []
        for name in (each for each in codes if each.startswith(_prefix(number))):
            code, known = codes[name], made.kernels[name]
            if known.spill_stores or known.stack:
                broken.append(f"{name} spills")
            if not code.named("IMMA" if case.kind == "i8" else "HMMA"):
                broken.append(f"{name} multiplies elsewhere")
            if not code.named("LDSM") and case.size[-1] * case.bytes % DEPTH == 0:
                broken.append(f"{name} loads no matrices")
        found.append(broken)
    return found


def _joined(texts: Sequence[str]) -> str:
    """PTX of all: one head, one symbol of shared memory, and names that tell whose kernel it is."""
    parts = []
    for number, text in enumerate(texts):
        for name in re.findall(r"\.entry (\w+)\(", text):
            text = re.sub(rf"\b{name}(?=\b|_param_)", _prefix(number) + name, text)
        parts.append(text if not number else _HEAD.sub("", text))
    return "\n".join(parts)


def _prefix(number: int) -> str:
    return f"case_{number}_"


def _run_problems(case: Case, kernel: Kernel, seed: int) -> list[str]:
    m, n, _ = case.size
    rng = np.random.default_rng(seed)
    a, b = (numbers(rng, shape, case.kind) for shape in case.factors)
    total = np.int32 if case.kind == "i8" else np.float32
    inputs = [a, b, np.zeros(n, total), np.zeros((m, n), total)]
    one, other = (wide(each).astype(np.float64) for each in (a, b))
    one, other = one.T if case.left else one, other.T if case.right else other
    bound = (case.size[2] + 2) * np.finfo(np.float32).eps * (np.abs(one) @ np.abs(other))
    is_whole = all(shape[1] * case.bytes % WHOLE == 0 for shape in case.factors)
    implied = implied_bytes(case, kernel.tile) if is_whole else None
    return run_problems(kernel, inputs, np.maximum(one @ other, 0), bound, implied)


def implied_bytes(case: Case, tile: str, result_bytes: int = 4, turned: bool = False) -> int:
    """What blocks ask the caches for: sectors of steps and of results, of the bias for each warp.

    ``result_bytes``: of an element of the result. If that is ``turned``, its columns lie along memory, and
    the block's size of them comes first.
    """
    sizes = re.search(r"tile = array<i64: (\d+), (\d+), (\d+)>", tile)
    warps = re.search(r"warps = array<i64: (\d+)>", tile)
    assert sizes is not None and warps is not None
    extents = case.size
    high, wide_, step = (int(text) or extent for text, extent in zip(sizes.groups(), extents, strict=True))
    m, n, k = extents
    if turned:
        high, wide_ = wide_, high
    rows, columns, steps = (list(_parts(*each)) for each in ((m, high), (n, wide_), (k, step)))
    (_, left), (_, right) = case.factors
    each = case.bytes
    count = sum(
        len(columns) * (_sectors(left, each, at, i) if case.left else _sectors(left, each, i, at))
        for i in rows for at in steps
    )  # fmt: skip
    count += sum(
        len(rows) * (_sectors(right, each, j, at) if case.right else _sectors(right, each, at, j))
        for j in columns for at in steps
    )  # fmt: skip
    count += sum(
        _sectors(m, result_bytes, j, i) if turned else _sectors(n, result_bytes, i, j)
        for i in rows for j in columns
    )  # fmt: skip
    count += sum(len(rows) * int(warps[1]) * _sectors(n, 4, range(1), j) for j in columns)
    return SECTOR * count


def _parts(extent: int, size: int) -> Iterator[range]:
    for first in range(0, extent, size):
        yield range(first, min(first + size, extent))


def _sectors(row: int, each: int, rows: range, columns: range) -> int:
    """How many sectors a part of a matrix lies in, whose rows have ``row`` elements."""
    found: set[int] = set()
    for at in rows:
        first, last = (at * row + columns[0]) * each, (at * row + columns[-1] + 1) * each
        found.update(range(first // SECTOR, ceil(last / SECTOR)))
    return len(found)


def main() -> int:
    """Sweep; 0 if every product holds all gates."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=200)
    options = parser.parse_args()
    broken = 0
    for case in itertools.islice(drawn(options.seed), options.cases):
        for name, found in problems([case]).items():
            broken += 1
            print(f"{name}: {'; '.join(found)}", flush=True)
    print(f"{options.cases} products, {broken} break a gate (seed {options.seed})")
    return bool(broken)


if __name__ == "__main__":
    raise SystemExit(main())
