#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> (d1)>
#map2 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map3 = affine_map<(d0) -> (d0)>
#map4 = affine_map<(d0, d1) -> (0, d1)>
#map5 = affine_map<(d0, d1) -> (d0, 0)>
#map6 = affine_map<(d0, d1, d2, d3) -> (d2, d3)>
#map7 = affine_map<(d0, d1, d2, d3) -> ()>
#map8 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map9 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
#map10 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
module {
  func.func @main(%arg0: tensor<48x16xf32> {mlopt.weight}, %arg1: tensor<48xf32> {mlopt.weight}, %arg2: tensor<16x16xf32> {mlopt.weight}, %arg3: tensor<16xf32> {mlopt.weight}, %arg4: tensor<1x5x16xf32>) -> tensor<1x5x16xf32> {
    %c0_i64 = arith.constant 0 : i64
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 0xFF800000 : f32
    %cst_1 = arith.constant dense<0xFF800000> : tensor<f32>
    %cst_2 = arith.constant dense<true> : tensor<5x5xi1>
    %cst_3 = arith.constant 2.8284271247461903 : f64
    %collapsed = tensor.collapse_shape %arg4 [[0, 1], [2]] : tensor<1x5x16xf32> into tensor<5x16xf32>
    %0 = tensor.empty() : tensor<16x48xf32>
    %transposed = linalg.transpose ins(%arg0 : tensor<48x16xf32>) outs(%0 : tensor<16x48xf32>) permutation = [1, 0] 
    %1 = tensor.empty() : tensor<5x48xf32>
    %2 = linalg.fill ins(%cst : f32) outs(%1 : tensor<5x48xf32>) -> tensor<5x48xf32>
    %3 = linalg.matmul ins(%collapsed, %transposed : tensor<5x16xf32>, tensor<16x48xf32>) outs(%2 : tensor<5x48xf32>) -> tensor<5x48xf32>
    %4 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel"]} ins(%3, %arg1 : tensor<5x48xf32>, tensor<48xf32>) outs(%1 : tensor<5x48xf32>) {
    ^bb0(%in: f32, %in_25: f32, %out: f32):
      %43 = arith.addf %in, %in_25 : f32
      linalg.yield %43 : f32
    } -> tensor<5x48xf32>
    %expanded = tensor.expand_shape %4 [[0, 1], [2]] output_shape [1, 5, 48] : tensor<5x48xf32> into tensor<1x5x48xf32>
    %extracted_slice = tensor.extract_slice %expanded[0, 0, 0] [1, 5, 16] [1, 1, 1] : tensor<1x5x48xf32> to tensor<1x5x16xf32>
    %extracted_slice_4 = tensor.extract_slice %expanded[0, 0, 16] [1, 5, 16] [1, 1, 1] : tensor<1x5x48xf32> to tensor<1x5x16xf32>
    %extracted_slice_5 = tensor.extract_slice %expanded[0, 0, 32] [1, 5, 16] [1, 1, 1] : tensor<1x5x48xf32> to tensor<1x5x16xf32>
    %expanded_6 = tensor.expand_shape %extracted_slice [[0], [1], [2, 3]] output_shape [1, 5, 2, 8] : tensor<1x5x16xf32> into tensor<1x5x2x8xf32>
    %5 = tensor.empty() : tensor<1x2x5x8xf32>
    %transposed_7 = linalg.transpose ins(%expanded_6 : tensor<1x5x2x8xf32>) outs(%5 : tensor<1x2x5x8xf32>) permutation = [0, 2, 1, 3] 
    %expanded_8 = tensor.expand_shape %extracted_slice_4 [[0], [1], [2, 3]] output_shape [1, 5, 2, 8] : tensor<1x5x16xf32> into tensor<1x5x2x8xf32>
    %expanded_9 = tensor.expand_shape %extracted_slice_5 [[0], [1], [2, 3]] output_shape [1, 5, 2, 8] : tensor<1x5x16xf32> into tensor<1x5x2x8xf32>
    %transposed_10 = linalg.transpose ins(%expanded_9 : tensor<1x5x2x8xf32>) outs(%5 : tensor<1x2x5x8xf32>) permutation = [0, 2, 1, 3] 
    %6 = tensor.empty() : tensor<1x2x8x5xf32>
    %transposed_11 = linalg.transpose ins(%expanded_8 : tensor<1x5x2x8xf32>) outs(%6 : tensor<1x2x8x5xf32>) permutation = [0, 2, 3, 1] 
    %collapsed_12 = tensor.collapse_shape %transposed_7 [[0, 1], [2], [3]] : tensor<1x2x5x8xf32> into tensor<2x5x8xf32>
    %collapsed_13 = tensor.collapse_shape %transposed_11 [[0, 1], [2], [3]] : tensor<1x2x8x5xf32> into tensor<2x8x5xf32>
    %7 = tensor.empty() : tensor<2x5x5xf32>
    %8 = linalg.fill ins(%cst : f32) outs(%7 : tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
    %9 = linalg.batch_matmul ins(%collapsed_12, %collapsed_13 : tensor<2x5x8xf32>, tensor<2x8x5xf32>) outs(%8 : tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
    %expanded_14 = tensor.expand_shape %9 [[0, 1], [2], [3]] output_shape [1, 2, 5, 5] : tensor<2x5x5xf32> into tensor<1x2x5x5xf32>
    %10 = tensor.empty() : tensor<1x2x5x5xf32>
    %11 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_14 : tensor<1x2x5x5xf32>) outs(%10 : tensor<1x2x5x5xf32>) {
    ^bb0(%in: f32, %out: f32):
      %43 = arith.truncf %cst_3 : f64 to f32
      %44 = arith.divf %in, %43 : f32
      linalg.yield %44 : f32
    } -> tensor<1x2x5x5xf32>
    %12 = tensor.empty() : tensor<5xi64>
    %13 = linalg.generic {indexing_maps = [#map3], iterator_types = ["parallel"]} outs(%12 : tensor<5xi64>) {
    ^bb0(%out: i64):
      %43 = linalg.index 0 : index
      %44 = arith.index_cast %43 : index to i64
      linalg.yield %44 : i64
    } -> tensor<5xi64>
    %expanded_15 = tensor.expand_shape %13 [[0, 1]] output_shape [1, 5] : tensor<5xi64> into tensor<1x5xi64>
    %expanded_16 = tensor.expand_shape %13 [[0, 1]] output_shape [5, 1] : tensor<5xi64> into tensor<5x1xi64>
    %14 = tensor.empty() : tensor<5x5xi64>
    %15 = linalg.generic {indexing_maps = [#map4, #map5, #map], iterator_types = ["parallel", "parallel"]} ins(%expanded_15, %expanded_16 : tensor<1x5xi64>, tensor<5x1xi64>) outs(%14 : tensor<5x5xi64>) {
    ^bb0(%in: i64, %in_25: i64, %out: i64):
      %43 = arith.subi %in, %in_25 : i64
      linalg.yield %43 : i64
    } -> tensor<5x5xi64>
    %16 = tensor.empty() : tensor<5x5xi1>
    %17 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%15 : tensor<5x5xi64>) outs(%16 : tensor<5x5xi1>) {
    ^bb0(%in: i64, %out: i1):
      %43 = arith.cmpi sle, %in, %c0_i64 : i64
      linalg.yield %43 : i1
    } -> tensor<5x5xi1>
    %18 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%17, %cst_2 : tensor<5x5xi1>, tensor<5x5xi1>) outs(%16 : tensor<5x5xi1>) {
    ^bb0(%in: i1, %in_25: i1, %out: i1):
      %43 = arith.andi %in, %in_25 : i1
      linalg.yield %43 : i1
    } -> tensor<5x5xi1>
    %19 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%18 : tensor<5x5xi1>) outs(%16 : tensor<5x5xi1>) {
    ^bb0(%in: i1, %out: i1):
      %43 = arith.extui %in : i1 to i64
      %44 = arith.cmpi eq, %43, %c0_i64 : i64
      linalg.yield %44 : i1
    } -> tensor<5x5xi1>
    %20 = linalg.generic {indexing_maps = [#map6, #map7, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%19, %cst_1, %11 : tensor<5x5xi1>, tensor<f32>, tensor<1x2x5x5xf32>) outs(%10 : tensor<1x2x5x5xf32>) {
    ^bb0(%in: i1, %in_25: f32, %in_26: f32, %out: f32):
      %43 = arith.select %in, %in_25, %in_26 : f32
      linalg.yield %43 : f32
    } -> tensor<1x2x5x5xf32>
    %21 = tensor.empty() : tensor<1x2x5xi64>
    %22 = linalg.fill ins(%c0_i64 : i64) outs(%21 : tensor<1x2x5xi64>) -> tensor<1x2x5xi64>
    %23 = tensor.empty() : tensor<1x2x5xf32>
    %24 = linalg.fill ins(%cst_0 : f32) outs(%23 : tensor<1x2x5xf32>) -> tensor<1x2x5xf32>
    %25:2 = linalg.generic {indexing_maps = [#map2, #map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%20 : tensor<1x2x5x5xf32>) outs(%24, %22 : tensor<1x2x5xf32>, tensor<1x2x5xi64>) {
    ^bb0(%in: f32, %out: f32, %out_25: i64):
      %43 = linalg.index 3 : index
      %44 = arith.index_cast %43 : index to i64
      %45 = arith.maximumf %in, %out : f32
      %46 = arith.cmpf ogt, %in, %out : f32
      %47 = arith.select %46, %44, %out_25 : i64
      linalg.yield %45, %47 : f32, i64
    } -> (tensor<1x2x5xf32>, tensor<1x2x5xi64>)
    %expanded_17 = tensor.expand_shape %25#0 [[0], [1], [2, 3]] output_shape [1, 2, 5, 1] : tensor<1x2x5xf32> into tensor<1x2x5x1xf32>
    %26 = linalg.generic {indexing_maps = [#map2, #map9, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%20, %expanded_17 : tensor<1x2x5x5xf32>, tensor<1x2x5x1xf32>) outs(%10 : tensor<1x2x5x5xf32>) {
    ^bb0(%in: f32, %in_25: f32, %out: f32):
      %43 = arith.subf %in, %in_25 : f32
      linalg.yield %43 : f32
    } -> tensor<1x2x5x5xf32>
    %27 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%26 : tensor<1x2x5x5xf32>) outs(%10 : tensor<1x2x5x5xf32>) {
    ^bb0(%in: f32, %out: f32):
      %43 = math.exp %in : f32
      linalg.yield %43 : f32
    } -> tensor<1x2x5x5xf32>
    %28 = tensor.empty() : tensor<1x2x5x1xf32>
    %29 = linalg.fill ins(%cst : f32) outs(%28 : tensor<1x2x5x1xf32>) -> tensor<1x2x5x1xf32>
    %30 = linalg.generic {indexing_maps = [#map2, #map9], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%27 : tensor<1x2x5x5xf32>) outs(%29 : tensor<1x2x5x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %43 = arith.addf %in, %out : f32
      linalg.yield %43 : f32
    } -> tensor<1x2x5x1xf32>
    %31 = linalg.generic {indexing_maps = [#map2, #map9, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%27, %30 : tensor<1x2x5x5xf32>, tensor<1x2x5x1xf32>) outs(%10 : tensor<1x2x5x5xf32>) {
    ^bb0(%in: f32, %in_25: f32, %out: f32):
      %43 = arith.divf %in, %in_25 : f32
      linalg.yield %43 : f32
    } -> tensor<1x2x5x5xf32>
    %collapsed_18 = tensor.collapse_shape %31 [[0, 1], [2], [3]] : tensor<1x2x5x5xf32> into tensor<2x5x5xf32>
    %collapsed_19 = tensor.collapse_shape %transposed_10 [[0, 1], [2], [3]] : tensor<1x2x5x8xf32> into tensor<2x5x8xf32>
    %32 = tensor.empty() : tensor<2x5x8xf32>
    %33 = linalg.fill ins(%cst : f32) outs(%32 : tensor<2x5x8xf32>) -> tensor<2x5x8xf32>
    %34 = linalg.batch_matmul ins(%collapsed_18, %collapsed_19 : tensor<2x5x5xf32>, tensor<2x5x8xf32>) outs(%33 : tensor<2x5x8xf32>) -> tensor<2x5x8xf32>
    %expanded_20 = tensor.expand_shape %34 [[0, 1], [2], [3]] output_shape [1, 2, 5, 8] : tensor<2x5x8xf32> into tensor<1x2x5x8xf32>
    %35 = tensor.empty() : tensor<1x5x2x8xf32>
    %transposed_21 = linalg.transpose ins(%expanded_20 : tensor<1x2x5x8xf32>) outs(%35 : tensor<1x5x2x8xf32>) permutation = [0, 2, 1, 3] 
    %collapsed_22 = tensor.collapse_shape %transposed_21 [[0, 1], [2, 3]] : tensor<1x5x2x8xf32> into tensor<5x16xf32>
    %36 = tensor.empty() : tensor<16x16xf32>
    %transposed_23 = linalg.transpose ins(%arg2 : tensor<16x16xf32>) outs(%36 : tensor<16x16xf32>) permutation = [1, 0] 
    %37 = tensor.empty() : tensor<5x16xf32>
    %38 = linalg.fill ins(%cst : f32) outs(%37 : tensor<5x16xf32>) -> tensor<5x16xf32>
    %39 = linalg.matmul ins(%collapsed_22, %transposed_23 : tensor<5x16xf32>, tensor<16x16xf32>) outs(%38 : tensor<5x16xf32>) -> tensor<5x16xf32>
    %40 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel"]} ins(%39, %arg3 : tensor<5x16xf32>, tensor<16xf32>) outs(%37 : tensor<5x16xf32>) {
    ^bb0(%in: f32, %in_25: f32, %out: f32):
      %43 = arith.addf %in, %in_25 : f32
      linalg.yield %43 : f32
    } -> tensor<5x16xf32>
    %expanded_24 = tensor.expand_shape %40 [[0, 1], [2]] output_shape [1, 5, 16] : tensor<5x16xf32> into tensor<1x5x16xf32>
    %41 = tensor.empty() : tensor<1x5x16xf32>
    %42 = linalg.generic {indexing_maps = [#map10, #map10, #map10], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg4, %expanded_24 : tensor<1x5x16xf32>, tensor<1x5x16xf32>) outs(%41 : tensor<1x5x16xf32>) {
    ^bb0(%in: f32, %in_25: f32, %out: f32):
      %43 = arith.addf %in, %in_25 : f32
      linalg.yield %43 : f32
    } -> tensor<1x5x16xf32>
    return %42 : tensor<1x5x16xf32>
  }
}
