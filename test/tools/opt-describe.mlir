// Help comes from the docstrings of passes; passes of other packages are found by their entry points.
// RUN: mlopt-opt --describe mlopt-verify | FileCheck %s --check-prefix=VERIFY
// RUN: mlopt-opt --describe=mlopt-cuda | FileCheck %s --check-prefix=CUDA
// RUN: not mlopt-opt --describe mlopt-verfy 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: mlopt-opt --help | FileCheck %s --check-prefix=HELP
// RUN: env PYTHONPATH=%S/Inputs/package mlopt-opt %s --their-pass=note=seen | FileCheck %s --check-prefix=THEIRS
// RUN: env PYTHONPATH=%S/Inputs/package mlopt-opt %s --pass-pipeline='builtin.module(func.func(their-pass{note=seen},cse))' | FileCheck %s --check-prefix=THEIRS
// RUN: env PYTHONPATH=%S/Inputs/package not mlopt-opt %s --their-pass=nte=seen 2>&1 | FileCheck %s --check-prefix=OPTION
// RUN: mlopt-opt --describe canonicalize | FileCheck %s --check-prefix=UPSTREAM
// RUN: mlopt-opt --load-pass-plugin=%root/examples/passes/set_tile.py --describe set-tile | FileCheck %s --check-prefix=USERS
// UPSTREAM: --canonicalize {{.*}}Canonicalize operations
// UPSTREAM: --max-iterations=<long>
// USERS: set-tile (on builtin.module)
// USERS: tile sizes; run it after mlopt-schedule.
// USERS: A schedule override
// USERS: kernel: str = matmul
// USERS: tile: list of int = ()
// VERIFY: mlopt-verify (on builtin.module)
// VERIFY: Check what mlopt's own rules demand
// VERIFY: Options:
// VERIFY: level: str = tile
// CUDA: mlopt-cuda
// CUDA: chip: str = sm_90
// NAME: unknown pass 'mlopt-verfy'; did you mean 'mlopt-verify'
// HELP: --canonicalize
// HELP: --mlopt-cpu {{.*}}From linalg on tensors to the llvm dialect
// HELP: --mlopt-verify {{.*}}Check
// THEIRS: func.func @f() attributes {their.note = "seen"}
// OPTION: their-pass: no option 'nte'; did you mean 'note'
func.func @f() { return }
