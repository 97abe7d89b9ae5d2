#map = affine_map<(d0) -> (d0)>
#map1 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map2 = affine_map<(d0, d1, d2, d3) -> (d1, 0, 0)>
module {
  func.func @main(%arg0: tensor<8x3x3x3xf32> {mlopt.weight}, %arg1: tensor<8xf32> {mlopt.weight}, %arg2: tensor<8xf32> {mlopt.weight}, %arg3: tensor<8xf32> {mlopt.weight}, %arg4: tensor<8xf32> {mlopt.weight}, %arg5: tensor<8xf32> {mlopt.weight}, %arg6: tensor<i64> {mlopt.weight}, %arg7: tensor<1x3x17x17xf32>) -> tensor<1x8x5x5xf32> {
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 1.000000e+00 : f32
    %cst_1 = arith.constant 0xFF800000 : f32
    %cst_2 = arith.constant 1.000000e-05 : f64
    %padded = tensor.pad %arg7 low[0, 0, 1, 1] high[0, 0, 1, 1] {
    ^bb0(%arg8: index, %arg9: index, %arg10: index, %arg11: index):
      tensor.yield %cst : f32
    } : tensor<1x3x17x17xf32> to tensor<1x3x19x19xf32>
    %0 = tensor.empty() : tensor<1x8x9x9xf32>
    %broadcasted = linalg.broadcast ins(%arg1 : tensor<8xf32>) outs(%0 : tensor<1x8x9x9xf32>) dimensions = [0, 2, 3] 
    %1 = linalg.conv_2d_nchw_fchw {dilations = dense<1> : vector<2xi64>, strides = dense<2> : vector<2xi64>} ins(%padded, %arg0 : tensor<1x3x19x19xf32>, tensor<8x3x3x3xf32>) outs(%broadcasted : tensor<1x8x9x9xf32>) -> tensor<1x8x9x9xf32>
    %2 = tensor.empty() : tensor<8xf32>
    %3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%arg5 : tensor<8xf32>) outs(%2 : tensor<8xf32>) {
    ^bb0(%in: f32, %out: f32):
      %15 = arith.truncf %cst_2 : f64 to f32
      %16 = arith.addf %in, %15 : f32
      linalg.yield %16 : f32
    } -> tensor<8xf32>
    %4 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%3 : tensor<8xf32>) outs(%2 : tensor<8xf32>) {
    ^bb0(%in: f32, %out: f32):
      %15 = math.sqrt %in : f32
      linalg.yield %15 : f32
    } -> tensor<8xf32>
    %5 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%4 : tensor<8xf32>) outs(%2 : tensor<8xf32>) {
    ^bb0(%in: f32, %out: f32):
      %15 = arith.cmpf one, %in, %cst : f32
      cf.assert %15, "unimplemented: tensor with zero element"
      %16 = arith.divf %cst_0, %in : f32
      linalg.yield %16 : f32
    } -> tensor<8xf32>
    %expanded = tensor.expand_shape %arg4 [[0, 1, 2]] output_shape [8, 1, 1] : tensor<8xf32> into tensor<8x1x1xf32>
    %expanded_3 = tensor.expand_shape %5 [[0, 1, 2]] output_shape [8, 1, 1] : tensor<8xf32> into tensor<8x1x1xf32>
    %6 = linalg.generic {indexing_maps = [#map1, #map2, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%1, %expanded : tensor<1x8x9x9xf32>, tensor<8x1x1xf32>) outs(%0 : tensor<1x8x9x9xf32>) {
    ^bb0(%in: f32, %in_7: f32, %out: f32):
      %15 = arith.subf %in, %in_7 : f32
      linalg.yield %15 : f32
    } -> tensor<1x8x9x9xf32>
    %7 = linalg.generic {indexing_maps = [#map1, #map2, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%6, %expanded_3 : tensor<1x8x9x9xf32>, tensor<8x1x1xf32>) outs(%0 : tensor<1x8x9x9xf32>) {
    ^bb0(%in: f32, %in_7: f32, %out: f32):
      %15 = arith.mulf %in, %in_7 : f32
      linalg.yield %15 : f32
    } -> tensor<1x8x9x9xf32>
    %expanded_4 = tensor.expand_shape %arg2 [[0, 1, 2]] output_shape [8, 1, 1] : tensor<8xf32> into tensor<8x1x1xf32>
    %8 = linalg.generic {indexing_maps = [#map1, #map2, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%7, %expanded_4 : tensor<1x8x9x9xf32>, tensor<8x1x1xf32>) outs(%0 : tensor<1x8x9x9xf32>) {
    ^bb0(%in: f32, %in_7: f32, %out: f32):
      %15 = arith.mulf %in, %in_7 : f32
      linalg.yield %15 : f32
    } -> tensor<1x8x9x9xf32>
    %expanded_5 = tensor.expand_shape %arg3 [[0, 1, 2]] output_shape [8, 1, 1] : tensor<8xf32> into tensor<8x1x1xf32>
    %9 = linalg.generic {indexing_maps = [#map1, #map2, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%8, %expanded_5 : tensor<1x8x9x9xf32>, tensor<8x1x1xf32>) outs(%0 : tensor<1x8x9x9xf32>) {
    ^bb0(%in: f32, %in_7: f32, %out: f32):
      %15 = arith.addf %in, %in_7 : f32
      linalg.yield %15 : f32
    } -> tensor<1x8x9x9xf32>
    %10 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%9 : tensor<1x8x9x9xf32>) outs(%0 : tensor<1x8x9x9xf32>) {
    ^bb0(%in: f32, %out: f32):
      %15 = arith.cmpf ugt, %in, %cst : f32
      %16 = arith.select %15, %in, %cst : f32
      linalg.yield %16 : f32
    } -> tensor<1x8x9x9xf32>
    %padded_6 = tensor.pad %10 low[0, 0, 1, 1] high[0, 0, 1, 1] {
    ^bb0(%arg8: index, %arg9: index, %arg10: index, %arg11: index):
      tensor.yield %cst_1 : f32
    } : tensor<1x8x9x9xf32> to tensor<1x8x11x11xf32>
    %11 = tensor.empty() : tensor<1x8x5x5xf32>
    %12 = linalg.fill ins(%cst_1 : f32) outs(%11 : tensor<1x8x5x5xf32>) -> tensor<1x8x5x5xf32>
    %13 = tensor.empty() : tensor<3x3xf32>
    %14 = linalg.pooling_nchw_max {dilations = dense<1> : vector<2xi64>, strides = dense<2> : vector<2xi64>} ins(%padded_6, %13 : tensor<1x8x11x11xf32>, tensor<3x3xf32>) outs(%12 : tensor<1x8x5x5xf32>) -> tensor<1x8x5x5xf32>
    return %14 : tensor<1x8x5x5xf32>
  }
}
