#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> (d0, 0)>
module {
  func.func @main(%arg0: tensor<?x3x4xf32>) -> tensor<?x13xf32> {
    %cst = arith.constant 0.000000e+00 : f32
    %c0 = arith.constant 0 : index
    %collapsed = tensor.collapse_shape %arg0 [[0], [1, 2]] : tensor<?x3x4xf32> into tensor<?x12xf32>
    %dim = tensor.dim %arg0, %c0 : tensor<?x3x4xf32>
    %0 = tensor.empty(%dim) : tensor<?x1xf32>
    %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<?x1xf32>) -> tensor<?x1xf32>
    %2 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "reduction"]} ins(%collapsed : tensor<?x12xf32>) outs(%1 : tensor<?x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %3 = arith.addf %in, %out : f32
      linalg.yield %3 : f32
    } -> tensor<?x1xf32>
    %concat = tensor.concat dim(1) %collapsed, %2 : (tensor<?x12xf32>, tensor<?x1xf32>) -> tensor<?x13xf32>
    return %concat : tensor<?x13xf32>
  }
}
