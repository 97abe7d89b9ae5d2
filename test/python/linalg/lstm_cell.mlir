#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> (d1)>
module {
  func.func @main(%arg0: tensor<64x8xf32> {mlopt.weight}, %arg1: tensor<64x16xf32> {mlopt.weight}, %arg2: tensor<64xf32> {mlopt.weight}, %arg3: tensor<64xf32> {mlopt.weight}, %arg4: tensor<2x8xf32>, %arg5: tensor<2x16xf32>, %arg6: tensor<2x16xf32>) -> (tensor<2x16xf32>, tensor<2x16xf32>) {
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 1.000000e+00 : f32
    %0 = tensor.empty() : tensor<16x64xf32>
    %transposed = linalg.transpose ins(%arg1 : tensor<64x16xf32>) outs(%0 : tensor<16x64xf32>) permutation = [1, 0] 
    %1 = tensor.empty() : tensor<2x64xf32>
    %2 = linalg.fill ins(%cst : f32) outs(%1 : tensor<2x64xf32>) -> tensor<2x64xf32>
    %3 = linalg.matmul ins(%arg5, %transposed : tensor<2x16xf32>, tensor<16x64xf32>) outs(%2 : tensor<2x64xf32>) -> tensor<2x64xf32>
    %4 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel"]} ins(%3, %arg3 : tensor<2x64xf32>, tensor<64xf32>) outs(%1 : tensor<2x64xf32>) {
    ^bb0(%in: f32, %in_5: f32, %out: f32):
      %19 = arith.addf %in, %in_5 : f32
      linalg.yield %19 : f32
    } -> tensor<2x64xf32>
    %5 = tensor.empty() : tensor<8x64xf32>
    %transposed_1 = linalg.transpose ins(%arg0 : tensor<64x8xf32>) outs(%5 : tensor<8x64xf32>) permutation = [1, 0] 
    %6 = linalg.matmul ins(%arg4, %transposed_1 : tensor<2x8xf32>, tensor<8x64xf32>) outs(%2 : tensor<2x64xf32>) -> tensor<2x64xf32>
    %7 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel"]} ins(%6, %arg2 : tensor<2x64xf32>, tensor<64xf32>) outs(%1 : tensor<2x64xf32>) {
    ^bb0(%in: f32, %in_5: f32, %out: f32):
      %19 = arith.addf %in, %in_5 : f32
      linalg.yield %19 : f32
    } -> tensor<2x64xf32>
    %8 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%4, %7 : tensor<2x64xf32>, tensor<2x64xf32>) outs(%1 : tensor<2x64xf32>) {
    ^bb0(%in: f32, %in_5: f32, %out: f32):
      %19 = arith.addf %in, %in_5 : f32
      linalg.yield %19 : f32
    } -> tensor<2x64xf32>
    %extracted_slice = tensor.extract_slice %8[0, 0] [2, 16] [1, 1] : tensor<2x64xf32> to tensor<2x16xf32>
    %extracted_slice_2 = tensor.extract_slice %8[0, 16] [2, 16] [1, 1] : tensor<2x64xf32> to tensor<2x16xf32>
    %extracted_slice_3 = tensor.extract_slice %8[0, 32] [2, 16] [1, 1] : tensor<2x64xf32> to tensor<2x16xf32>
    %extracted_slice_4 = tensor.extract_slice %8[0, 48] [2, 16] [1, 1] : tensor<2x64xf32> to tensor<2x16xf32>
    %9 = tensor.empty() : tensor<2x16xf32>
    %10 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%extracted_slice : tensor<2x16xf32>) outs(%9 : tensor<2x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %19 = arith.negf %in : f32
      %20 = math.exp %19 : f32
      %21 = arith.addf %20, %cst_0 : f32
      %22 = arith.divf %cst_0, %21 : f32
      linalg.yield %22 : f32
    } -> tensor<2x16xf32>
    %11 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%extracted_slice_2 : tensor<2x16xf32>) outs(%9 : tensor<2x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %19 = arith.negf %in : f32
      %20 = math.exp %19 : f32
      %21 = arith.addf %20, %cst_0 : f32
      %22 = arith.divf %cst_0, %21 : f32
      linalg.yield %22 : f32
    } -> tensor<2x16xf32>
    %12 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%extracted_slice_3 : tensor<2x16xf32>) outs(%9 : tensor<2x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %19 = math.tanh %in : f32
      linalg.yield %19 : f32
    } -> tensor<2x16xf32>
    %13 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%extracted_slice_4 : tensor<2x16xf32>) outs(%9 : tensor<2x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %19 = arith.negf %in : f32
      %20 = math.exp %19 : f32
      %21 = arith.addf %20, %cst_0 : f32
      %22 = arith.divf %cst_0, %21 : f32
      linalg.yield %22 : f32
    } -> tensor<2x16xf32>
    %14 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%11, %arg6 : tensor<2x16xf32>, tensor<2x16xf32>) outs(%9 : tensor<2x16xf32>) {
    ^bb0(%in: f32, %in_5: f32, %out: f32):
      %19 = arith.mulf %in, %in_5 : f32
      linalg.yield %19 : f32
    } -> tensor<2x16xf32>
    %15 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%10, %12 : tensor<2x16xf32>, tensor<2x16xf32>) outs(%9 : tensor<2x16xf32>) {
    ^bb0(%in: f32, %in_5: f32, %out: f32):
      %19 = arith.mulf %in, %in_5 : f32
      linalg.yield %19 : f32
    } -> tensor<2x16xf32>
    %16 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%14, %15 : tensor<2x16xf32>, tensor<2x16xf32>) outs(%9 : tensor<2x16xf32>) {
    ^bb0(%in: f32, %in_5: f32, %out: f32):
      %19 = arith.addf %in, %in_5 : f32
      linalg.yield %19 : f32
    } -> tensor<2x16xf32>
    %17 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%16 : tensor<2x16xf32>) outs(%9 : tensor<2x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %19 = math.tanh %in : f32
      linalg.yield %19 : f32
    } -> tensor<2x16xf32>
    %18 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%13, %17 : tensor<2x16xf32>, tensor<2x16xf32>) outs(%9 : tensor<2x16xf32>) {
    ^bb0(%in: f32, %in_5: f32, %out: f32):
      %19 = arith.mulf %in, %in_5 : f32
      linalg.yield %19 : f32
    } -> tensor<2x16xf32>
    return %18, %16 : tensor<2x16xf32>, tensor<2x16xf32>
  }
}
