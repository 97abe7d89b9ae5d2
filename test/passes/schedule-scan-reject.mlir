// RUN: mlopt-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(mlopt-schedule)'

// CPUs have no kernel that runs along rows of unknown length.
#id = affine_map<(i, j) -> (i, j)>
func.func private @running(%x: tensor<4x?xf32>, %out: tensor<4x?xf32>) -> tensor<4x?xf32> attributes {mlopt.kernel} {
  // expected-error @+1 {{no kernel has this 'mlopt.scan': a row of unknown length would be scanned in steps}}
  %r = "mlopt.scan"(%x, %out) {indexing_maps = [#id, #id], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], kind = "add"} : (tensor<4x?xf32>, tensor<4x?xf32>) -> tensor<4x?xf32>
  return %r : tensor<4x?xf32>
}

// -----

// What is transposed would be made in another order than the loop that carries totals has.
#id = affine_map<(i, j) -> (i, j)>
#turned = affine_map<(i, j) -> (j, i)>
func.func private @turned(%x: tensor<4x256xf32>, %out: tensor<256x4xf32>) -> tensor<256x4xf32> attributes {mlopt.kernel} {
  %e = tensor.empty() : tensor<4x256xf32>
  // expected-error @+1 {{what is made of totals has other dims than they have, or in another order}}
  %s = "mlopt.scan"(%x, %e) {indexing_maps = [#id, #id], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], kind = "add"} : (tensor<4x256xf32>, tensor<4x256xf32>) -> tensor<4x256xf32>
  %r = linalg.generic {indexing_maps = [#id, #turned], iterator_types = ["parallel", "parallel"]} ins(%s : tensor<4x256xf32>) outs(%out : tensor<256x4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %y = arith.negf %a : f32
    linalg.yield %y : f32
  } -> tensor<256x4xf32>
  return %r : tensor<256x4xf32>
}
