#map = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map1 = affine_map<(d0, d1, d2, d3) -> (d0, d1, 0, 0)>
module {
  func.func @main(%arg0: tensor<8x2x3x3xf32> {mlopt.weight}, %arg1: tensor<8xf32> {mlopt.weight}, %arg2: tensor<8x1x3x3xf32> {mlopt.weight}, %arg3: tensor<8xf32> {mlopt.weight}, %arg4: tensor<1x4x16x16xf32>) -> tensor<1x8x1x1xf32> {
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 4.000000e+00 : f32
    %cst_1 = arith.constant 1.600000e+01 : f32
    %padded = tensor.pad %arg4 low[0, 0, 1, 1] high[0, 0, 1, 1] {
    ^bb0(%arg5: index, %arg6: index, %arg7: index, %arg8: index):
      tensor.yield %cst : f32
    } : tensor<1x4x16x16xf32> to tensor<1x4x18x18xf32>
    %0 = tensor.empty() : tensor<1x8x16x16xf32>
    %broadcasted = linalg.broadcast ins(%arg1 : tensor<8xf32>) outs(%0 : tensor<1x8x16x16xf32>) dimensions = [0, 2, 3] 
    %expanded = tensor.expand_shape %padded [[0], [1, 2], [3], [4]] output_shape [1, 2, 2, 18, 18] : tensor<1x4x18x18xf32> into tensor<1x2x2x18x18xf32>
    %expanded_2 = tensor.expand_shape %arg0 [[0, 1], [2], [3], [4]] output_shape [2, 4, 2, 3, 3] : tensor<8x2x3x3xf32> into tensor<2x4x2x3x3xf32>
    %expanded_3 = tensor.expand_shape %broadcasted [[0], [1, 2], [3], [4]] output_shape [1, 2, 4, 16, 16] : tensor<1x8x16x16xf32> into tensor<1x2x4x16x16xf32>
    %1 = linalg.conv_2d_ngchw_gfchw {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%expanded, %expanded_2 : tensor<1x2x2x18x18xf32>, tensor<2x4x2x3x3xf32>) outs(%expanded_3 : tensor<1x2x4x16x16xf32>) -> tensor<1x2x4x16x16xf32>
    %collapsed = tensor.collapse_shape %1 [[0], [1, 2], [3], [4]] : tensor<1x2x4x16x16xf32> into tensor<1x8x16x16xf32>
    %padded_4 = tensor.pad %collapsed low[0, 0, 2, 2] high[0, 0, 2, 2] {
    ^bb0(%arg5: index, %arg6: index, %arg7: index, %arg8: index):
      tensor.yield %cst : f32
    } : tensor<1x8x16x16xf32> to tensor<1x8x20x20xf32>
    %2 = tensor.empty() : tensor<1x8x8x8xf32>
    %broadcasted_5 = linalg.broadcast ins(%arg3 : tensor<8xf32>) outs(%2 : tensor<1x8x8x8xf32>) dimensions = [0, 2, 3] 
    %collapsed_6 = tensor.collapse_shape %arg2 [[0, 1], [2], [3]] : tensor<8x1x3x3xf32> into tensor<8x3x3xf32>
    %3 = linalg.depthwise_conv_2d_nchw_chw {dilations = dense<2> : vector<2xi64>, strides = dense<2> : vector<2xi64>} ins(%padded_4, %collapsed_6 : tensor<1x8x20x20xf32>, tensor<8x3x3xf32>) outs(%broadcasted_5 : tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>
    %4 = tensor.empty() : tensor<1x8x4x4xf32>
    %5 = linalg.fill ins(%cst : f32) outs(%4 : tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
    %6 = tensor.empty() : tensor<2x2xf32>
    %7 = linalg.pooling_nchw_sum {dilations = dense<1> : vector<2xi64>, strides = dense<2> : vector<2xi64>} ins(%3, %6 : tensor<1x8x8x8xf32>, tensor<2x2xf32>) outs(%5 : tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
    %8 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%7 : tensor<1x8x4x4xf32>) outs(%4 : tensor<1x8x4x4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %13 = arith.divf %in, %cst_0 : f32
      linalg.yield %13 : f32
    } -> tensor<1x8x4x4xf32>
    %9 = tensor.empty() : tensor<1x8x1x1xf32>
    %10 = linalg.fill ins(%cst : f32) outs(%9 : tensor<1x8x1x1xf32>) -> tensor<1x8x1x1xf32>
    %11 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%8 : tensor<1x8x4x4xf32>) outs(%10 : tensor<1x8x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %13 = arith.addf %in, %out : f32
      linalg.yield %13 : f32
    } -> tensor<1x8x1x1xf32>
    %12 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%11 : tensor<1x8x1x1xf32>) outs(%9 : tensor<1x8x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %13 = arith.divf %in, %cst_1 : f32
      linalg.yield %13 : f32
    } -> tensor<1x8x1x1xf32>
    return %12 : tensor<1x8x1x1xf32>
  }
}
