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

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
// expected-error @+1 {{this cannot be tiled: what is reduced would be scanned in steps that carry no totals}}
func.func private @added_up_of_any_length(%x: tensor<4x?xf32>, %to: tensor<4xf32>, %out: tensor<4x?xf32>) -> (tensor<4xf32>, tensor<4x?xf32>) attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 1, 32>}} {
  %zero = arith.constant 0.0 : f32
  %s = "mlopt.scan"(%x, %out) {indexing_maps = [#id, #id], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], kind = "add"} : (tensor<4x?xf32>, tensor<4x?xf32>) -> tensor<4x?xf32>
  %f = linalg.fill ins(%zero : f32) outs(%to : tensor<4xf32>) -> tensor<4xf32>
  %r = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%s : tensor<4x?xf32>) outs(%f : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %y = arith.addf %a, %b : f32
    linalg.yield %y : f32
  } -> tensor<4xf32>
  return %r, %s : tensor<4xf32>, tensor<4x?xf32>
}

// -----

#id = affine_map<(i, j) -> (i, j)>
// expected-error @+1 {{this cannot be tiled: a scan would begin again in each step along another dim, whose length is not known}}
func.func private @rows_and_columns(%x: tensor<?x?xf32>, %a: tensor<?x?xf32>, %b: tensor<?x?xf32>) -> (tensor<?x?xf32>, tensor<?x?xf32>) attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 32, 32>}} {
  %r = "mlopt.scan"(%x, %a) {indexing_maps = [#id, #id], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], kind = "add"} : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  %c = "mlopt.scan"(%x, %b) {indexing_maps = [#id, #id], iterator_types = [#linalg.iterator_type<reduction>, #linalg.iterator_type<parallel>], kind = "add"} : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  return %r, %c : tensor<?x?xf32>, tensor<?x?xf32>
}

// -----

#id = affine_map<(i, j) -> (i, j)>
// expected-error @+1 {{mlopt.schedule divides dim 1, of which a task needs all}}
func.func private @divided(%x: tensor<4x8xf32>, %out: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 1, 4>}} {
  %r = "mlopt.scan"(%x, %out) {indexing_maps = [#id, #id], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], kind = "add"} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}
