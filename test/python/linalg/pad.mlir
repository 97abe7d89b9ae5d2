module {
  func.func @main(%arg0: tensor<2x3xf32>) -> tensor<3x6xf32> {
    %cst = arith.constant 2.000000e+00 : f32
    %padded = tensor.pad %arg0 low[0, 1] high[1, 2] {
    ^bb0(%arg1: index, %arg2: index):
      tensor.yield %cst : f32
    } : tensor<2x3xf32> to tensor<3x6xf32>
    return %padded : tensor<3x6xf32>
  }
}
