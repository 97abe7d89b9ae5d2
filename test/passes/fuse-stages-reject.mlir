// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fuse)' --split-input-file | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fuse{machine=a100})' --split-input-file | FileCheck %s --check-prefix=GPU

// Sums of rows are no element-wise work.
#x = affine_map<(i, k) -> (i + k)>
#k = affine_map<(i, k) -> (k)>
#y = affine_map<(i, k) -> (i)>
// CHECK: mlopt.fusion = ["sum -> conv: only element-wise work is computed again for each tile of conv, sum is none"]
// GPU: mlopt.fusion = ["sum -> conv: only element-wise work is computed again for each tile of conv, sum is none"]
func.func @sums(%x: tensor<64x32xf32>, %w: tensor<3xf32>) -> tensor<62xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64xf32>
  %fe = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<64x32xf32>) outs(%fe : tensor<64xf32>) attrs = {mlopt.op = "sum"} {
  ^bb0(%a: f32, %o: f32):
    %n = arith.addf %o, %a : f32
    linalg.yield %n : f32
  } -> tensor<64xf32>
  %ey = tensor.empty() : tensor<62xf32>
  %fy = linalg.fill ins(%zero : f32) outs(%ey : tensor<62xf32>) -> tensor<62xf32>
  %y = linalg.generic {indexing_maps = [#x, #k, #y], iterator_types = ["parallel", "reduction"]}
      ins(%s, %w : tensor<64xf32>, tensor<3xf32>) outs(%fy : tensor<62xf32>) attrs = {mlopt.op = "conv"} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %n = arith.addf %o, %m : f32
    linalg.yield %n : f32
  } -> tensor<62xf32>
  return %y : tensor<62xf32>
}

// -----

// Refused: a transposed read, again for each tile.
#x = affine_map<(i, j, k) -> (i, j + k)>
#k = affine_map<(i, j, k) -> (k)>
#y = affine_map<(i, j, k) -> (i, j)>
// CHECK: mlopt.fusion = ["transpose -> conv: conv would read an operand against its order in memory, again for each tile"]
// GPU: mlopt.fusion = ["transpose -> conv: conv would read an operand against its order in memory, again for each tile"]
func.func @transposed(%x: tensor<66x64xf32>, %w: tensor<3xf32>) -> tensor<64x64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x66xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<66x64xf32>) outs(%e : tensor<64x66xf32>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<64x66xf32>
  %ey = tensor.empty() : tensor<64x64xf32>
  %fy = linalg.fill ins(%zero : f32) outs(%ey : tensor<64x64xf32>) -> tensor<64x64xf32>
  %y = linalg.generic {indexing_maps = [#x, #k, #y], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%s, %w : tensor<64x66xf32>, tensor<3xf32>) outs(%fy : tensor<64x64xf32>) attrs = {mlopt.op = "conv"} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %n = arith.addf %o, %m : f32
    linalg.yield %n : f32
  } -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// -----

// One row of the result needs all of 90000 elements: more than a CPU's task may keep. A GPU's block computes what it
// reads where it does: it has little else to do.
#x = affine_map<(i, k) -> (i + k)>
#k = affine_map<(i, k) -> (k)>
#y = affine_map<(i, k) -> (i)>
#id = affine_map<(i) -> (i)>
// CHECK: mlopt.fusion = ["exp -> conv: what a window reads would take 360064 bytes of a task's scratch, 262144 are allowed"]
// GPU: mlopt.fusion = []
func.func @far(%x: tensor<90001xf32>, %w: tensor<90000xf32>) -> tensor<2xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<90001xf32>
  %q = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<90001xf32>) outs(%e : tensor<90001xf32>) attrs = {mlopt.op = "exp"} {
  ^bb0(%a: f32, %o: f32):
    %y = math.exp %a : f32
    linalg.yield %y : f32
  } -> tensor<90001xf32>
  %ey = tensor.empty() : tensor<2xf32>
  %fy = linalg.fill ins(%zero : f32) outs(%ey : tensor<2xf32>) -> tensor<2xf32>
  %y = linalg.generic {indexing_maps = [#x, #k, #y], iterator_types = ["parallel", "reduction"]}
      ins(%q, %w : tensor<90001xf32>, tensor<90000xf32>) outs(%fy : tensor<2xf32>) attrs = {mlopt.op = "conv"} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %y = arith.addf %o, %m : f32
    linalg.yield %y : f32
  } -> tensor<2xf32>
  return %y : tensor<2xf32>
}

// -----

// How far a window reaches is known when it is called.
#x = affine_map<(i, k) -> (i + k)>
#k = affine_map<(i, k) -> (k)>
#y = affine_map<(i, k) -> (i)>
#id = affine_map<(i) -> (i)>
// CHECK: mlopt.fusion = ["exp -> conv: how far a window reaches is not known"]
// GPU: mlopt.fusion = ["exp -> conv: how far a window reaches is not known"]
func.func @any_window(%x: tensor<66xf32>, %w: tensor<?xf32>) -> tensor<64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<66xf32>
  %q = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<66xf32>) outs(%e : tensor<66xf32>) attrs = {mlopt.op = "exp"} {
  ^bb0(%a: f32, %o: f32):
    %y = math.exp %a : f32
    linalg.yield %y : f32
  } -> tensor<66xf32>
  %ey = tensor.empty() : tensor<64xf32>
  %fy = linalg.fill ins(%zero : f32) outs(%ey : tensor<64xf32>) -> tensor<64xf32>
  %y = linalg.generic {indexing_maps = [#x, #k, #y], iterator_types = ["parallel", "reduction"]}
      ins(%q, %w : tensor<66xf32>, tensor<?xf32>) outs(%fy : tensor<64xf32>) attrs = {mlopt.op = "conv"} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %y = arith.addf %o, %m : f32
    linalg.yield %y : f32
  } -> tensor<64xf32>
  return %y : tensor<64xf32>
}

// -----

// Rows of any length, with padding: where it begins is not known.
#x = affine_map<(i, k) -> (i + k)>
#k = affine_map<(i, k) -> (k)>
#y = affine_map<(i, k) -> (i)>
#id = affine_map<(i) -> (i)>
// CHECK: mlopt.fusion = [{{.*}}"exp -> pad: where the padding of what a window reads begins is not known"{{.*}}]
// GPU: mlopt.fusion = [{{.*}}"exp -> pad: where the padding of what a window reads begins is not known"{{.*}}]
func.func @padded_row(%x: tensor<?xf32>, %w: tensor<3xf32>) -> tensor<?xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %size = tensor.dim %x, %c0 : tensor<?xf32>
  %wide = arith.addi %size, %c2 : index
  %e = tensor.empty(%size) : tensor<?xf32>
  %q = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<?xf32>) outs(%e : tensor<?xf32>) attrs = {mlopt.op = "exp"} {
  ^bb0(%a: f32, %o: f32):
    %y = math.exp %a : f32
    linalg.yield %y : f32
  } -> tensor<?xf32>
  %ep = tensor.empty(%wide) : tensor<?xf32>
  %fp = linalg.fill ins(%zero : f32) outs(%ep : tensor<?xf32>) -> tensor<?xf32>
  %p = tensor.insert_slice %q into %fp[1] [%size] [1] {mlopt.op = "pad"} : tensor<?xf32> into tensor<?xf32>
  %ey = tensor.empty(%size) : tensor<?xf32>
  %fy = linalg.fill ins(%zero : f32) outs(%ey : tensor<?xf32>) -> tensor<?xf32>
  %y = linalg.generic {indexing_maps = [#x, #k, #y], iterator_types = ["parallel", "reduction"]}
      ins(%p, %w : tensor<?xf32>, tensor<3xf32>) outs(%fy : tensor<?xf32>) attrs = {mlopt.op = "conv"} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %y = arith.addf %o, %m : f32
    linalg.yield %y : f32
  } -> tensor<?xf32>
  return %y : tensor<?xf32>
}

// -----

// Made for the window, and a result: it would be in no memory that others find.
#x = affine_map<(i, k) -> (i + k)>
#k = affine_map<(i, k) -> (k)>
#y = affine_map<(i, k) -> (i)>
#id = affine_map<(i) -> (i)>
// CHECK: mlopt.fusion = ["exp -> conv: what a window reads is needed elsewhere as well"]
// GPU: mlopt.fusion = ["exp -> conv: what a window reads is needed elsewhere as well"]
func.func @a_result(%x: tensor<66xf32>, %w: tensor<3xf32>) -> (tensor<64xf32>, tensor<66xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<66xf32>
  %q = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<66xf32>) outs(%e : tensor<66xf32>) attrs = {mlopt.op = "exp"} {
  ^bb0(%a: f32, %o: f32):
    %y = math.exp %a : f32
    linalg.yield %y : f32
  } -> tensor<66xf32>
  %ey = tensor.empty() : tensor<64xf32>
  %fy = linalg.fill ins(%zero : f32) outs(%ey : tensor<64xf32>) -> tensor<64xf32>
  %y = linalg.generic {indexing_maps = [#x, #k, #y], iterator_types = ["parallel", "reduction"]}
      ins(%q, %w : tensor<66xf32>, tensor<3xf32>) outs(%fy : tensor<64xf32>) attrs = {mlopt.op = "conv"} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %y = arith.addf %o, %m : f32
    linalg.yield %y : f32
  } -> tensor<64xf32>
  return %y, %q : tensor<64xf32>, tensor<66xf32>
}

// -----

// Squares: the window would have to find each element twice.
#x = affine_map<(i, k) -> (i + k)>
#k = affine_map<(i, k) -> (k)>
#y = affine_map<(i, k) -> (i)>
#id = affine_map<(i) -> (i)>
// CHECK: mlopt.fusion = [{{.*}}"exp -> conv: what a window reads is needed elsewhere as well"{{.*}}]
// GPU: mlopt.fusion = [{{.*}}"exp -> conv: what a window reads is needed elsewhere as well"{{.*}}]
func.func @twice(%x: tensor<66xf32>, %w: tensor<3xf32>) -> tensor<64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<66xf32>
  %q = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<66xf32>) outs(%e : tensor<66xf32>) attrs = {mlopt.op = "exp"} {
  ^bb0(%a: f32, %o: f32):
    %y = math.exp %a : f32
    linalg.yield %y : f32
  } -> tensor<66xf32>
  %ey = tensor.empty() : tensor<64xf32>
  %fy = linalg.fill ins(%zero : f32) outs(%ey : tensor<64xf32>) -> tensor<64xf32>
  %y = linalg.generic {indexing_maps = [#x, #x, #k, #y], iterator_types = ["parallel", "reduction"]}
      ins(%q, %q, %w : tensor<66xf32>, tensor<66xf32>, tensor<3xf32>) outs(%fy : tensor<64xf32>) attrs = {mlopt.op = "conv"} {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %n = arith.mulf %m, %c : f32
    %y = arith.addf %o, %n : f32
    linalg.yield %y : f32
  } -> tensor<64xf32>
  return %y : tensor<64xf32>
}
