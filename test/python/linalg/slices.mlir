#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1, d2, d3) -> (d1, d3)>
#map2 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
module {
  func.func @main(%arg0: tensor<6x4xf32>) -> (tensor<6x2xf32>, tensor<3x4xf32>, tensor<6x4xf32>, tensor<6x4xf32>, tensor<12x8xf32>, tensor<6x2x4xf32>) {
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 2.000000e+00 : f32
    %c5 = arith.constant 5 : index
    %extracted_slice = tensor.extract_slice %arg0[0, 1] [6, 2] [1, 1] : tensor<6x4xf32> to tensor<6x2xf32>
    %0 = tensor.empty() : tensor<6x2xf32>
    %1 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%extracted_slice : tensor<6x2xf32>) outs(%0 : tensor<6x2xf32>) {
    ^bb0(%in: f32, %out: f32):
      %7 = arith.mulf %in, %cst_0 : f32
      linalg.yield %7 : f32
    } -> tensor<6x2xf32>
    %extracted_slice_1 = tensor.extract_slice %arg0[0, 0] [3, 4] [2, 1] : tensor<6x4xf32> to tensor<3x4xf32>
    %2 = tensor.empty() : tensor<6x4xf32>
    %3 = linalg.fill ins(%cst : f32) outs(%2 : tensor<6x4xf32>) -> tensor<6x4xf32>
    %4 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%arg0 : tensor<6x4xf32>) outs(%3 : tensor<6x4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %7 = linalg.index 0 : index
      %8 = linalg.index 1 : index
      %9 = arith.subi %c5, %7 : index
      %extracted = tensor.extract %arg0[%9, %8] : tensor<6x4xf32>
      linalg.yield %extracted : f32
    } -> tensor<6x4xf32>
    %extracted_slice_2 = tensor.extract_slice %arg0[5, 0] [1, 4] [1, 1] : tensor<6x4xf32> to tensor<1x4xf32>
    %cast = tensor.cast %extracted_slice_2 : tensor<1x4xf32> to tensor<?x4xf32>
    %extracted_slice_3 = tensor.extract_slice %arg0[0, 0] [5, 4] [1, 1] : tensor<6x4xf32> to tensor<5x4xf32>
    %cast_4 = tensor.cast %extracted_slice_3 : tensor<5x4xf32> to tensor<?x4xf32>
    %concat = tensor.concat dim(0) %cast, %cast_4 : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<6x4xf32>
    %5 = tensor.empty() : tensor<2x6x2x4xf32>
    %6 = linalg.generic {indexing_maps = [#map1, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg0 : tensor<6x4xf32>) outs(%5 : tensor<2x6x2x4xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x6x2x4xf32>
    %collapsed = tensor.collapse_shape %6 [[0, 1], [2, 3]] : tensor<2x6x2x4xf32> into tensor<12x8xf32>
    %concat_5 = tensor.concat dim(1) %arg0, %arg0 : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x8xf32>
    %expanded = tensor.expand_shape %concat_5 [[0], [1, 2]] output_shape [6, 2, 4] : tensor<6x8xf32> into tensor<6x2x4xf32>
    return %1, %extracted_slice_1, %4, %concat, %collapsed, %expanded : tensor<6x2xf32>, tensor<3x4xf32>, tensor<6x4xf32>, tensor<6x4xf32>, tensor<12x8xf32>, tensor<6x2x4xf32>
  }
}
