module {
  func.func @main(%arg0: tensor<8x4x3xf32> {mlopt.weight}, %arg1: tensor<8xf32> {mlopt.weight}, %arg2: tensor<2x4x16xf32>) -> tensor<2x8x8xf32> {
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 0xFF800000 : f32
    %padded = tensor.pad %arg2 low[0, 0, 1] high[0, 0, 1] {
    ^bb0(%arg3: index, %arg4: index, %arg5: index):
      tensor.yield %cst : f32
    } : tensor<2x4x16xf32> to tensor<2x4x18xf32>
    %0 = tensor.empty() : tensor<2x8x16xf32>
    %broadcasted = linalg.broadcast ins(%arg1 : tensor<8xf32>) outs(%0 : tensor<2x8x16xf32>) dimensions = [0, 2] 
    %1 = linalg.conv_1d_ncw_fcw {dilations = dense<1> : vector<1xi64>, strides = dense<1> : vector<1xi64>} ins(%padded, %arg0 : tensor<2x4x18xf32>, tensor<8x4x3xf32>) outs(%broadcasted : tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
    %expanded = tensor.expand_shape %1 [[0], [1], [2, 3]] output_shape [2, 8, 1, 16] : tensor<2x8x16xf32> into tensor<2x8x1x16xf32>
    %2 = tensor.empty() : tensor<2x8x1x8xf32>
    %3 = linalg.fill ins(%cst_0 : f32) outs(%2 : tensor<2x8x1x8xf32>) -> tensor<2x8x1x8xf32>
    %4 = tensor.empty() : tensor<1x2xf32>
    %5 = linalg.pooling_nchw_max {dilations = dense<1> : vector<2xi64>, strides = dense<[1, 2]> : vector<2xi64>} ins(%expanded, %4 : tensor<2x8x1x16xf32>, tensor<1x2xf32>) outs(%3 : tensor<2x8x1x8xf32>) -> tensor<2x8x1x8xf32>
    %collapsed = tensor.collapse_shape %5 [[0], [1, 2], [3]] : tensor<2x8x1x8xf32> into tensor<2x8x8xf32>
    return %collapsed : tensor<2x8x8xf32>
  }
}
