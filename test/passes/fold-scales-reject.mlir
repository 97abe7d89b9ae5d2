// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fold-scales)' --split-input-file | FileCheck %s

// The product is also read as it is.
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#n = affine_map<(d0, d1) -> (d1)>
#m = affine_map<(d0, d1) -> (d0)>
// CHECK: mlopt.rewrites = {"mlopt-fold-scales" = [{bytes = {{[0-9]+}} : i64, {{.*}}ops = "matmul -> mul", reason = "what is scaled is read by others, too", seconds = {{[1-9]}}
// CHECK-LABEL: func.func @main
// CHECK: %[[M:.*]] = linalg.generic {{.*}} ins(%arg0, %arg1 : {{.*}}mlopt.op = "matmul"
// CHECK: linalg.generic {{.*}} ins(%[[M]], %arg2 : {{.*}}mlopt.op = "mul"
func.func @main(%x: tensor<5x8xf32>, %w: tensor<8x16xf32> {mlopt.weight}, %scale: tensor<16xf32> {mlopt.weight}) -> tensor<5x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<5x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<5x16xf32>) -> tensor<5x16xf32>
  %m = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<5x8xf32>, tensor<8x16xf32>) outs(%f : tensor<5x16xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %r = arith.mulf %p, %q : f32
    %s = arith.addf %o, %r : f32
    linalg.yield %s : f32
  } -> tensor<5x16xf32>
  %r = linalg.generic {indexing_maps = [#id, #n, #id], iterator_types = ["parallel", "parallel"]}
      ins(%m, %scale : tensor<5x16xf32>, tensor<16xf32>) outs(%e : tensor<5x16xf32>) attrs = {mlopt.op = "mul"} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.mulf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<5x16xf32>
  %t = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%r, %m : tensor<5x16xf32>, tensor<5x16xf32>) outs(%e : tensor<5x16xf32>) attrs = {mlopt.op = "add"} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<5x16xf32>
  return %t : tensor<5x16xf32>
}

// -----

// A scale that each call brings along.
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#n = affine_map<(d0, d1) -> (d1)>
#m = affine_map<(d0, d1) -> (d0)>
// CHECK-NOT: mlopt.rewrites
// CHECK-LABEL: func.func @main
// CHECK: %[[M:.*]] = linalg.generic {{.*}} ins(%arg0, %arg1 : {{.*}}mlopt.op = "matmul"
// CHECK: linalg.generic {{.*}} ins(%[[M]], %arg2 : {{.*}}mlopt.op = "mul"
func.func @main(%x: tensor<5x8xf32>, %w: tensor<8x16xf32> {mlopt.weight}, %scale: tensor<16xf32>) -> tensor<5x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<5x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<5x16xf32>) -> tensor<5x16xf32>
  %m = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<5x8xf32>, tensor<8x16xf32>) outs(%f : tensor<5x16xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %r = arith.mulf %p, %q : f32
    %s = arith.addf %o, %r : f32
    linalg.yield %s : f32
  } -> tensor<5x16xf32>
  %r = linalg.generic {indexing_maps = [#id, #n, #id], iterator_types = ["parallel", "parallel"]}
      ins(%m, %scale : tensor<5x16xf32>, tensor<16xf32>) outs(%e : tensor<5x16xf32>) attrs = {mlopt.op = "mul"} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.mulf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<5x16xf32>
  return %r : tensor<5x16xf32>
}

// -----

// A weight that each call brings along.
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#n = affine_map<(d0, d1) -> (d1)>
#m = affine_map<(d0, d1) -> (d0)>
// CHECK: mlopt.rewrites = {"mlopt-fold-scales" = [{bytes = {{[0-9]+}} : i64, {{.*}}ops = "matmul -> mul", reason = "matmul has no factor that is a weight, read at one place of each loop", seconds = {{[1-9]}}
// CHECK-LABEL: func.func @main
// CHECK: %[[M:.*]] = linalg.generic {{.*}} ins(%arg0, %arg1 : {{.*}}mlopt.op = "matmul"
// CHECK: linalg.generic {{.*}} ins(%[[M]], %arg2 : {{.*}}mlopt.op = "mul"
func.func @main(%x: tensor<5x8xf32>, %w: tensor<8x16xf32>, %scale: tensor<16xf32> {mlopt.weight}) -> tensor<5x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<5x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<5x16xf32>) -> tensor<5x16xf32>
  %m = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<5x8xf32>, tensor<8x16xf32>) outs(%f : tensor<5x16xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %r = arith.mulf %p, %q : f32
    %s = arith.addf %o, %r : f32
    linalg.yield %s : f32
  } -> tensor<5x16xf32>
  %r = linalg.generic {indexing_maps = [#id, #n, #id], iterator_types = ["parallel", "parallel"]}
      ins(%m, %scale : tensor<5x16xf32>, tensor<16xf32>) outs(%e : tensor<5x16xf32>) attrs = {mlopt.op = "mul"} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.mulf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<5x16xf32>
  return %r : tensor<5x16xf32>
}

// -----

// A factor for each row: the weight has no rows.
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#n = affine_map<(d0, d1) -> (d1)>
#m = affine_map<(d0, d1) -> (d0)>
// CHECK: mlopt.rewrites = {"mlopt-fold-scales" = [{bytes = {{[0-9]+}} : i64, {{.*}}ops = "matmul -> mul", reason = "the scale runs along a dim that the weight does not have", seconds = {{[1-9]}}
// CHECK-LABEL: func.func @main
// CHECK: %[[M:.*]] = linalg.generic {{.*}} ins(%arg0, %arg1 : {{.*}}mlopt.op = "matmul"
// CHECK: linalg.generic {{.*}} ins(%[[M]], %arg2 : {{.*}}mlopt.op = "mul"
func.func @main(%x: tensor<5x8xf32>, %w: tensor<8x16xf32> {mlopt.weight}, %scale: tensor<5xf32> {mlopt.weight}) -> tensor<5x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<5x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<5x16xf32>) -> tensor<5x16xf32>
  %m = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<5x8xf32>, tensor<8x16xf32>) outs(%f : tensor<5x16xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %r = arith.mulf %p, %q : f32
    %s = arith.addf %o, %r : f32
    linalg.yield %s : f32
  } -> tensor<5x16xf32>
  %r = linalg.generic {indexing_maps = [#id, #m, #id], iterator_types = ["parallel", "parallel"]}
      ins(%m, %scale : tensor<5x16xf32>, tensor<5xf32>) outs(%e : tensor<5x16xf32>) attrs = {mlopt.op = "mul"} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.mulf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<5x16xf32>
  return %r : tensor<5x16xf32>
}

// -----

// In bf16 the scaled weight would be rounded once more.
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#n = affine_map<(d0, d1) -> (d1)>
#m = affine_map<(d0, d1) -> (d0)>
// CHECK: mlopt.rewrites = {"mlopt-fold-scales" = [{bytes = {{[0-9]+}} : i64, {{.*}}ops = "matmul -> mul", reason = "a scaled weight that is not f32 or f64, as all else, would be rounded once more", seconds = {{[1-9]}}
// CHECK-LABEL: func.func @main
// CHECK: %[[M:.*]] = linalg.generic {{.*}} ins(%arg0, %arg1 : {{.*}}mlopt.op = "matmul"
// CHECK: linalg.generic {{.*}} ins(%[[M]], %arg2 : {{.*}}mlopt.op = "mul"
func.func @main(%x: tensor<5x8xbf16>, %w: tensor<8x16xbf16> {mlopt.weight}, %scale: tensor<16xf32> {mlopt.weight}) -> tensor<5x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<5x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<5x16xf32>) -> tensor<5x16xf32>
  %m = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<5x8xbf16>, tensor<8x16xbf16>) outs(%f : tensor<5x16xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: bf16, %q: bf16, %o: f32):
    %p1 = arith.extf %p : bf16 to f32
    %q1 = arith.extf %q : bf16 to f32
    %r = arith.mulf %p1, %q1 : f32
    %s = arith.addf %o, %r : f32
    linalg.yield %s : f32
  } -> tensor<5x16xf32>
  %r = linalg.generic {indexing_maps = [#id, #n, #id], iterator_types = ["parallel", "parallel"]}
      ins(%m, %scale : tensor<5x16xf32>, tensor<16xf32>) outs(%e : tensor<5x16xf32>) attrs = {mlopt.op = "mul"} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.mulf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<5x16xf32>
  return %r : tensor<5x16xf32>
}
