// RUN: mlopt-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(mlopt-tile)'

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
// expected-error @+1 {{this cannot be tiled: scan makes whole rows, which nothing else in the kernel writes}}
func.func private @added_up(%x: tensor<4x8xf32>, %out: tensor<4xf32>) -> tensor<4xf32> attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 1, 0>}} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %s = "mlopt.scan"(%x, %e) {indexing_maps = [#id, #id], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], kind = "add"} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<4xf32>) -> tensor<4xf32>
  %r = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%s : tensor<4x8xf32>) outs(%f : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %y = arith.addf %a, %b : f32
    linalg.yield %y : f32
  } -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

// expected-error @+1 {{this cannot be tiled: scan would need a whole row, whose length is not known}}
func.func private @any_length(%x: tensor<4x?xf32>, %out: tensor<4x?xf32>) -> tensor<4x?xf32> attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 1, 0>}} {
  %r = "mlopt.scan"(%x, %out) {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], kind = "add"} : (tensor<4x?xf32>, tensor<4x?xf32>) -> tensor<4x?xf32>
  return %r : tensor<4x?xf32>
}

// -----

#id = affine_map<(i, j) -> (i, j)>
// expected-error @+1 {{mlopt.schedule divides dim 1, of which a task needs all}}
func.func private @divided(%x: tensor<4x8xf32>, %out: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 1, 4>}} {
  %r = "mlopt.scan"(%x, %out) {indexing_maps = [#id, #id], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], kind = "add"} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}
