// RUN: mlopt-opt %s --pass-pipeline='builtin.module(func.func(convert-elementwise-to-linalg),mlopt-raise,canonicalize,cse)' --split-input-file | FileCheck %s

// Rows that are read again: a task owns each.
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
// CHECK: mlopt.rewrites = {"mlopt-raise" = [{{.*}}: reduce in 64 parts", reason = "its rows are read more than once, by the 4 tasks that have them"
// CHECK-LABEL: func.func @read_back
// CHECK: linalg.generic {{.*}} ins(%arg0 : tensor<4x1048576xf32>) outs(%{{.*}} : tensor<4xf32>) {{.*}}{mlopt.op = "reduce"}
func.func @read_back(%x: tensor<4x1048576xf32>) -> tensor<4x1048576xf32> {
  %zero = arith.constant 0.0 : f32
  %o = tensor.empty() : tensor<4xf32>
  %e = tensor.empty() : tensor<4x1048576xf32>
  %f = linalg.fill ins(%zero : f32) outs(%o : tensor<4xf32>) -> tensor<4xf32>
  %s = linalg.reduce { arith.addf } ins(%x : tensor<4x1048576xf32>) outs(%f : tensor<4xf32>) dimensions = [1]
  %d = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %s : tensor<4x1048576xf32>, tensor<4xf32>) outs(%e : tensor<4x1048576xf32>) {
  ^bb0(%p: f32, %q: f32, %acc: f32):
    %0 = arith.subf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<4x1048576xf32>
  return %d : tensor<4x1048576xf32>
}

// -----

// What was made with another reduction of the rows: who owns a row for that one has it here, too.
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
// CHECK-LABEL: func.func @made_of_rows
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<4x1048576xf32>) outs(%{{.*}} : tensor<4xf32>) {{.*}}{mlopt.op = "reduce"}
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<4x1048576xf32>) outs(%{{.*}} : tensor<4xf32>) {{.*}}{mlopt.op = "reduce"}
func.func @made_of_rows(%x: tensor<4x1048576xf32>) -> tensor<4xf32> {
  %zero = arith.constant 0.0 : f32
  %least = arith.constant 0xFF800000 : f32
  %o = tensor.empty() : tensor<4xf32>
  %e = tensor.empty() : tensor<4x1048576xf32>
  %l = linalg.fill ins(%least : f32) outs(%o : tensor<4xf32>) -> tensor<4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%o : tensor<4xf32>) -> tensor<4xf32>
  %m = linalg.reduce { arith.maximumf } ins(%x : tensor<4x1048576xf32>) outs(%l : tensor<4xf32>) dimensions = [1]
  %d = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %m : tensor<4x1048576xf32>, tensor<4xf32>) outs(%e : tensor<4x1048576xf32>) {
  ^bb0(%p: f32, %q: f32, %acc: f32):
    %0 = arith.subf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<4x1048576xf32>
  %s = linalg.reduce { arith.addf } ins(%d : tensor<4x1048576xf32>) outs(%f : tensor<4xf32>) dimensions = [1]
  return %s : tensor<4xf32>
}

// -----

// What one task reduces soon enough: a short vector, and short columns, of which there are many.
// CHECK: mlopt.rewrites = {"mlopt-raise" = [{{.*}}: reduce in 64 parts", reason = "one task reduces 16384 elements soon enough", seconds = -{{.*}}where = ["{{[^"]*}}"]}]}}
// CHECK-LABEL: func.func @short
// CHECK: linalg.generic {{.*}} ins(%arg0 : tensor<16384xf32>) outs(%{{.*}} : tensor<f32>)
// CHECK: linalg.generic {{.*}} ins(%arg1 : tensor<4096x8192xf32>) outs(%{{.*}} : tensor<8192xf32>)
func.func @short(%x: tensor<16384xf32>, %y: tensor<4096x8192xf32>) -> (tensor<f32>, tensor<8192xf32>) {
  %zero = arith.constant 0.0 : f32
  %o = tensor.empty() : tensor<f32>
  %p = tensor.empty() : tensor<8192xf32>
  %f = linalg.fill ins(%zero : f32) outs(%o : tensor<f32>) -> tensor<f32>
  %g = linalg.fill ins(%zero : f32) outs(%p : tensor<8192xf32>) -> tensor<8192xf32>
  %s = linalg.reduce { arith.addf } ins(%x : tensor<16384xf32>) outs(%f : tensor<f32>) dimensions = [0]
  %t = linalg.reduce { arith.addf } ins(%y : tensor<4096x8192xf32>) outs(%g : tensor<8192xf32>) dimensions = [0]
  return %s, %t : tensor<f32>, tensor<8192xf32>
}

// -----

// Each part would start from the number: a sum from 1, a product from 0; and from a tensor.
// CHECK-LABEL: func.func @starts_elsewhere
// CHECK: linalg.generic {{.*}} ins(%arg0 : tensor<65536xf32>) outs(%{{.*}} : tensor<f32>)
// CHECK: linalg.generic {{.*}} ins(%arg0 : tensor<65536xf32>) outs(%{{.*}} : tensor<f32>)
// CHECK: linalg.generic {{.*}} ins(%arg0 : tensor<65536xf32>) outs(%arg1 : tensor<f32>)
func.func @starts_elsewhere(%x: tensor<65536xf32>, %start: tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %o = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%one : f32) outs(%o : tensor<f32>) -> tensor<f32>
  %g = linalg.fill ins(%zero : f32) outs(%o : tensor<f32>) -> tensor<f32>
  %s = linalg.reduce { arith.addf } ins(%x : tensor<65536xf32>) outs(%f : tensor<f32>) dimensions = [0]
  %t = linalg.reduce { arith.mulf } ins(%x : tensor<65536xf32>) outs(%g : tensor<f32>) dimensions = [0]
  %u = linalg.reduce { arith.maximumf } ins(%x : tensor<65536xf32>) outs(%start : tensor<f32>) dimensions = [0]
  return %s, %t, %u : tensor<f32>, tensor<f32>, tensor<f32>
}

// -----

// An order that counts: differences; the last number above the one before; numbers of the loop; two results at once.
#id = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>
// CHECK-LABEL: func.func @in_order
// CHECK: ins(%arg0 : tensor<65536xf32>) outs(%{{.*}} : tensor<f32>)
// CHECK: arith.subf
// CHECK: ins(%arg0 : tensor<65536xf32>) outs(%{{.*}} : tensor<f32>)
// CHECK: arith.mulf
// CHECK: arith.addf
// CHECK: ins(%arg0 : tensor<65536xf32>) outs(%{{.*}} : tensor<f32>)
// CHECK: linalg.index 0
// CHECK: ins(%arg0 : tensor<65536xf32>) outs(%{{.*}}, %{{.*}} : tensor<f32>, tensor<f32>)
func.func @in_order(%x: tensor<65536xf32>) -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) {
  %zero = arith.constant 0.0 : f32
  %o = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%zero : f32) outs(%o : tensor<f32>) -> tensor<f32>
  %r = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]}
      ins(%x : tensor<65536xf32>) outs(%f : tensor<f32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.subf %b, %a : f32
    linalg.yield %0 : f32
  } -> tensor<f32>
  %s = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]}
      ins(%x : tensor<65536xf32>) outs(%f : tensor<f32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %b : f32
    linalg.yield %1 : f32
  } -> tensor<f32>
  %t = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]}
      ins(%x : tensor<65536xf32>) outs(%f : tensor<f32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = linalg.index 0 : index
    %1 = arith.index_cast %0 : index to i64
    %2 = arith.sitofp %1 : i64 to f32
    %3 = arith.mulf %a, %2 : f32
    %4 = arith.addf %3, %b : f32
    linalg.yield %4 : f32
  } -> tensor<f32>
  %u:2 = linalg.generic {indexing_maps = [#id, #none, #none], iterator_types = ["reduction"]}
      ins(%x : tensor<65536xf32>) outs(%f, %f : tensor<f32>, tensor<f32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.addf %a, %b : f32
    %1 = arith.maximumf %a, %c : f32
    linalg.yield %0, %1 : f32, f32
  } -> (tensor<f32>, tensor<f32>)
  return %r, %s, %t, %u#0, %u#1 : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
}

// -----

// Rows of a softmax that is added up: who owns a row for its sum has it here, too, and does not share parts of rows.
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
// CHECK-LABEL: func.func @of_rows
// CHECK: linalg.generic {{.*}} ins(%arg0 : tensor<4096x256xf32>) outs(%{{.*}} : tensor<4096xf32>) {{.*}}{mlopt.op = "reduce"}
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]} ins(%{{.*}} : tensor<4096x256xf32>) outs(%{{.*}} : tensor<4096xf32>) {{.*}}{mlopt.op = "reduce"}
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<4096xf32>) outs(%{{.*}} : tensor<f32>)
func.func @of_rows(%x: tensor<4096x256xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %o = tensor.empty() : tensor<4096xf32>
  %n = tensor.empty() : tensor<f32>
  %e = tensor.empty() : tensor<4096x256xf32>
  %f = linalg.fill ins(%zero : f32) outs(%o : tensor<4096xf32>) -> tensor<4096xf32>
  %g = linalg.fill ins(%zero : f32) outs(%n : tensor<f32>) -> tensor<f32>
  %s = linalg.reduce { arith.addf } ins(%x : tensor<4096x256xf32>) outs(%f : tensor<4096xf32>) dimensions = [1]
  %d = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %s : tensor<4096x256xf32>, tensor<4096xf32>) outs(%e : tensor<4096x256xf32>) {
  ^bb0(%p: f32, %q: f32, %acc: f32):
    %0 = arith.divf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<4096x256xf32>
  %u = linalg.reduce { arith.addf } ins(%d : tensor<4096x256xf32>) outs(%g : tensor<f32>) dimensions = [0, 1]
  return %u : tensor<f32>
}

// -----

// A total whose reader is another, as of a variance: each task reads its row once from memory, and again from a cache.
#id = affine_map<(i, j) -> (i, j)>
#none = affine_map<(i, j) -> ()>
// CHECK-LABEL: func.func @in_steps
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]} ins(%arg0 : tensor<4096x256xf32>) outs(%{{.*}} : tensor<4096xf32>)
// CHECK: arith.subf
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]} ins(%{{.*}} : tensor<4096x256xf32>) outs(%{{.*}} : tensor<4096xf32>)
func.func @in_steps(%x: tensor<4096x256xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %n = tensor.empty() : tensor<f32>
  %e = tensor.empty() : tensor<4096x256xf32>
  %g = linalg.fill ins(%zero : f32) outs(%n : tensor<f32>) -> tensor<f32>
  %s = linalg.reduce { arith.addf } ins(%x : tensor<4096x256xf32>) outs(%g : tensor<f32>) dimensions = [0, 1]
  %d = linalg.generic {indexing_maps = [#id, #none, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %s : tensor<4096x256xf32>, tensor<f32>) outs(%e : tensor<4096x256xf32>) {
  ^bb0(%p: f32, %q: f32, %acc: f32):
    %0 = arith.subf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<4096x256xf32>
  %u = linalg.reduce { arith.addf } ins(%d : tensor<4096x256xf32>) outs(%g : tensor<f32>) dimensions = [0, 1]
  return %u : tensor<f32>
}
