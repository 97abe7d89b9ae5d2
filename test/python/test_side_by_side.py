"""Kernels that are compiled side by side: as one after the other, whatever happens to a forked process."""

import os
import signal
import subprocess
import sys

import pytest
from mlopt.passes.side_by_side import side_by_side, spread
from mlopt.runtime.pool import Pool


def test_shares_are_much_the_same_and_in_order() -> None:
    assert spread("abcde", [9, 1, 5, 2, 4], 2) == [["a", "d"], ["b", "c", "e"]]
    assert spread("ab", [1, 1], 8) == [["a"], ["b"]]
    assert spread("ab", [1, 1], 1) == [["a", "b"]]
    assert spread("", [], 4) == []


def test_results_come_in_the_order_of_shares_from_a_process_each() -> None:
    results = side_by_side(lambda share: (share, os.getpid()), [1, 2, 3])
    assert [share for share, _ in results] == [1, 2, 3]
    assert results[0][1] == os.getpid()
    assert len({process for _, process in results}) == 3


def test_results_are_packed_only_to_travel() -> None:
    lambdas = side_by_side(
        lambda share: lambda: share, [1, 2], pack=lambda made: made(), unpack=lambda data: lambda: data + 40
    )
    assert [made() for made in lambdas] == [1, 42]


@pytest.mark.parametrize("how", ["raises", "is killed", "makes what cannot travel"])
def test_what_a_process_does_not_get_done_is_done_here(how: str) -> None:
    here = os.getpid()

    def work(share: int) -> object:
        if os.getpid() != here:
            if how == "raises":
                raise MemoryError
            if how == "is killed":
                os.kill(os.getpid(), signal.SIGKILL)
            return lambda: share
        return share

    assert side_by_side(work, [1, 2, 3]) == [1, 2, 3]


def test_errors_are_told_here_and_no_process_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    forked: list[int] = []
    fork = os.fork

    def remembered_fork() -> int:
        forked.append(fork())
        return forked[-1]

    def work(share: int) -> int:
        if share == 2:
            raise ValueError(f"share {share}")
        return share

    monkeypatch.setattr(os, "fork", remembered_fork)
    with pytest.raises(ValueError, match="share 2"):
        side_by_side(work, [1, 2, 3])
    assert len(forked) == 2
    for (
        process
    ) in forked:  # the tests before this may have left others, compile workers that are at their end
        with pytest.raises(ChildProcessError):
            os.waitpid(process, os.WNOHANG)


def test_workers_have_no_threads_that_keep_them_from_it(pool: Pool) -> None:
    assert pool.call("compile", "mlopt.passes.side_by_side:processes") == len(os.sched_getaffinity(0))


def sine(name: str, size: int) -> str:
    return f"""
  %{name}_empty = tensor.empty() : tensor<{size}xf32>
  %{name}_sine = linalg.generic {{indexing_maps = [#one, #one], iterator_types = ["parallel"]}}
      ins(%{name} : tensor<{size}xf32>) outs(%{name}_empty : tensor<{size}xf32>) {{
  ^bb0(%in: f32, %out: f32):
    %v = math.sin %in : f32
    linalg.yield %v : f32
  }} -> tensor<{size}xf32>"""


def take(name: str, size: int) -> str:
    return f"""
  %{name}_empty = tensor.empty() : tensor<{size}xf32>
  %{name}_taken = linalg.generic {{indexing_maps = [#one, #one], iterator_types = ["parallel"]}}
      ins(%{name} : tensor<{size}xi64>) outs(%{name}_empty : tensor<{size}xf32>) {{
  ^bb0(%in: i64, %out: f32):
    %inside = arith.cmpi ult, %in, %bound : i64
    cf.assert %inside, "IndexError: no place {name}"
    %place = arith.index_cast %in : i64 to index
    %v = tensor.extract %y[%place] : tensor<1000xf32>
    linalg.yield %v : f32
  }} -> tensor<{size}xf32>"""


# A sum of rows has shared memory; a sine has a table, and of f64 a function; the others assert.
KERNELS = f"""
#two = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#one = affine_map<(d0) -> (d0)>
func.func public @main(
    %x: tensor<300x77xf32>, %y: tensor<1000xf32>, %z: tensor<90xf32>, %i: tensor<50xi64>, %j: tensor<70xi64>)
    -> (tensor<300xf32>, tensor<1000xf32>, tensor<90xf32>, tensor<50xf32>, tensor<70xf32>) {{
  %bound = arith.constant 1000 : i64
  %zero = arith.constant 0.0 : f32
  %rows = tensor.empty() : tensor<300xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%rows : tensor<300xf32>) -> tensor<300xf32>
  %sum = linalg.generic {{indexing_maps = [#two, #row], iterator_types = ["parallel", "reduction"]}}
      ins(%x : tensor<300x77xf32>) outs(%zeros : tensor<300xf32>) {{
  ^bb0(%in: f32, %out: f32):
    %v = arith.addf %in, %out : f32
    linalg.yield %v : f32
  }} -> tensor<300xf32>
{sine("y", 1000)}{sine("z", 90)}{take("i", 50)}{take("j", 70)}
  return %sum, %y_sine, %z_sine, %i_taken, %j_taken
      : tensor<300xf32>, tensor<1000xf32>, tensor<90xf32>, tensor<50xf32>, tensor<70xf32>
}}
"""
PROGRAM = """
import sys
from mlopt.passes.gpu import distribute
from mlopt.pipelines import device_parts
from mlopt.pipelines.compile_cuda import compile_text

def compiled(text, processes):
    distribute.processes = device_parts.processes = lambda: processes
    made = compile_text(text, chip="sm_80")
    return made["ptx"], made["stages"], made["metadata"]["asserts"]

distribute._FEW_ELEMENTS = device_parts._FEW_OPS = 0
text = sys.stdin.read()
alone = compiled(text, 1)
assert compiled(text, 3) == alone
print(alone[0].count(".entry"), len(alone[2]))
"""


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_kernels_are_the_same_side_by_side(kind: str) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-c", PROGRAM],
        input=KERNELS.replace("f32", kind),
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    entries, asserts = map(int, done.stdout.split())
    assert entries >= 5
    assert asserts == 3  # one of each that takes, and that of tensor.extract
