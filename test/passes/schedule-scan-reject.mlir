// RUN: mlopt-opt %s --verify-diagnostics --pass-pipeline='builtin.module(mlopt-schedule)'

#id = affine_map<(i, j) -> (i, j)>
func.func private @running(%x: tensor<4x256xf32>, %out: tensor<4x256xf32>) -> tensor<4x256xf32> attributes {mlopt.kernel} {
  // expected-error @+1 {{'mlopt.scan' is for GPUs alone}}
  %r = "mlopt.scan"(%x, %out) {indexing_maps = [#id, #id], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], kind = "add"} : (tensor<4x256xf32>, tensor<4x256xf32>) -> tensor<4x256xf32>
  return %r : tensor<4x256xf32>
}
