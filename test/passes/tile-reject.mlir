// RUN: mlopt-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(mlopt-tile)'

// expected-error @+1 {{mlopt.schedule has 3 tile sizes for 1 dims}}
func.func private @sizes(%x: tensor<4xf32>, %out: tensor<4xf32>) -> tensor<4xf32> attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 1, 2, 3>}} {
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf32>) outs(%out : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %y = math.exp %a : f32
    linalg.yield %y : f32
  } -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

// expected-error @+1 {{this cannot be tiled: no tile rule takes tensor.reshape; mark it mlopt.slow}}
func.func private @no_rule(%x: tensor<4xf32>, %s: tensor<2xindex>, %out: tensor<2x2xf32>) -> tensor<2x2xf32> attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 1>}} {
  %r = tensor.reshape %x(%s) : (tensor<4xf32>, tensor<2xindex>) -> tensor<2x2xf32>
  return %r : tensor<2x2xf32>
}
