module {
  func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<2x5xf32>) -> tensor<2x11xf32> {
    %concat = tensor.concat dim(1) %arg0, %arg1, %arg0 : (tensor<2x3xf32>, tensor<2x5xf32>, tensor<2x3xf32>) -> tensor<2x11xf32>
    return %concat : tensor<2x11xf32>
  }
}
