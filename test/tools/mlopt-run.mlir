// RUN: rm -rf %t && mkdir %t
// RUN: %python -c "import numpy as np; np.save('%t/x.npy', np.arange(6, dtype=np.float32).reshape(2, 3)); np.save('%t/wrong.npy', np.zeros(3))"
// RUN: mlopt run %s -i %t/x.npy -o %t/out --repeat 2 | FileCheck %s
// RUN: %python -c "import numpy as np; assert np.load('%t/out/result_0.npy').tolist() == [[0, 2, 4], [6, 8, 10]]"
// Random inputs, the same for the same seed; bfloat16 through torch.
// RUN: mlopt run %s --size 5 --seed 3 | FileCheck %s --check-prefix=RANDOM
// RUN: mlopt run %S/Inputs/half.mlir --func half | FileCheck %s --check-prefix=HALF
// RUN: not mlopt run %s -i %t/wrong.npy 2>&1 | FileCheck %s --check-prefix=WRONG
// RUN: not mlopt run %s -i %t/x.npy -i %t/x.npy 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: not mlopt run %s -i %s 2>&1 | FileCheck %s --check-prefix=NPY

// CHECK: argument 0  float32  2×3{{ +}}0, 1, 2, 3, …
// CHECK: result 0    float32  2×3{{ +}}0, 2, 4, 6, …
// CHECK: compiled in {{.*}} s, first call {{.*}} µs, then {{.*}} µs (median of 2)
// CHECK: wrote {{.*}}result_0.npy
// RANDOM: argument 0  float32  5×3
// RANDOM: result 0    float32  5×3
// HALF: result 0    bfloat16  8
// WRONG: mlopt: error: argument 0 is float64[3]
// MANY: mlopt: error: 2 input files for 1 arguments
// NPY: mlopt-run.mlir cannot be read
func.func @main(%x: tensor<?x3xf32>) -> tensor<?x3xf32> {
  %c0 = arith.constant 0 : index
  %d = tensor.dim %x, %c0 : tensor<?x3xf32>
  %e = tensor.empty(%d) : tensor<?x3xf32>
  %y = linalg.add ins(%x, %x : tensor<?x3xf32>, tensor<?x3xf32>) outs(%e : tensor<?x3xf32>) -> tensor<?x3xf32>
  return %y : tensor<?x3xf32>
}
