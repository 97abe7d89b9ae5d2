#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> ()>
module {
  func.func @main(%arg0: tensor<3x4xi64>, %arg1: tensor<3x4xi64>) -> (tensor<3x4xi64>, tensor<3x4xi64>, tensor<3x4xi64>, tensor<3x4xi64>, tensor<i64>, tensor<i1>, tensor<3x4xf32>) {
    %c0_i64 = arith.constant 0 : i64
    %false = arith.constant false
    %0 = tensor.empty() : tensor<3x4xi64>
    %1 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%arg0, %arg1 : tensor<3x4xi64>, tensor<3x4xi64>) outs(%0 : tensor<3x4xi64>) {
    ^bb0(%in: i64, %in_0: i64, %out: i64):
      %15 = arith.sitofp %in : i64 to f64
      %16 = arith.sitofp %in_0 : i64 to f64
      %17 = arith.divf %15, %16 : f64
      %18 = math.floor %17 : f64
      %19 = arith.fptosi %18 : f64 to i64
      linalg.yield %19 : i64
    } -> tensor<3x4xi64>
    %2 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%arg0, %arg1 : tensor<3x4xi64>, tensor<3x4xi64>) outs(%0 : tensor<3x4xi64>) {
    ^bb0(%in: i64, %in_0: i64, %out: i64):
      %15 = arith.remsi %in, %in_0 : i64
      %16 = arith.cmpi ne, %15, %c0_i64 : i64
      %17 = arith.cmpi slt, %in_0, %c0_i64 : i64
      %18 = arith.cmpi slt, %15, %c0_i64 : i64
      %19 = arith.xori %17, %18 : i1
      %20 = arith.andi %16, %19 : i1
      %21 = arith.addi %15, %in_0 : i64
      %22 = arith.select %20, %21, %15 : i64
      linalg.yield %22 : i64
    } -> tensor<3x4xi64>
    %3 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%arg0, %arg1 : tensor<3x4xi64>, tensor<3x4xi64>) outs(%0 : tensor<3x4xi64>) {
    ^bb0(%in: i64, %in_0: i64, %out: i64):
      %15 = arith.andi %in, %in_0 : i64
      linalg.yield %15 : i64
    } -> tensor<3x4xi64>
    %4 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%arg0, %arg1 : tensor<3x4xi64>, tensor<3x4xi64>) outs(%0 : tensor<3x4xi64>) {
    ^bb0(%in: i64, %in_0: i64, %out: i64):
      %15 = arith.addi %in, %in_0 : i64
      linalg.yield %15 : i64
    } -> tensor<3x4xi64>
    %5 = tensor.empty() : tensor<i64>
    %6 = linalg.fill ins(%c0_i64 : i64) outs(%5 : tensor<i64>) -> tensor<i64>
    %7 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["reduction", "reduction"]} ins(%arg0 : tensor<3x4xi64>) outs(%6 : tensor<i64>) {
    ^bb0(%in: i64, %out: i64):
      %15 = arith.addi %in, %out : i64
      linalg.yield %15 : i64
    } -> tensor<i64>
    %8 = tensor.empty() : tensor<3x4xi1>
    %9 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%arg0, %arg1 : tensor<3x4xi64>, tensor<3x4xi64>) outs(%8 : tensor<3x4xi1>) {
    ^bb0(%in: i64, %in_0: i64, %out: i1):
      %15 = arith.cmpi sgt, %in, %in_0 : i64
      linalg.yield %15 : i1
    } -> tensor<3x4xi1>
    %10 = tensor.empty() : tensor<i1>
    %11 = linalg.fill ins(%false : i1) outs(%10 : tensor<i1>) -> tensor<i1>
    %12 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["reduction", "reduction"]} ins(%9 : tensor<3x4xi1>) outs(%11 : tensor<i1>) {
    ^bb0(%in: i1, %out: i1):
      %15 = arith.ori %in, %out : i1
      linalg.yield %15 : i1
    } -> tensor<i1>
    %13 = tensor.empty() : tensor<3x4xf32>
    %14 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%9 : tensor<3x4xi1>) outs(%13 : tensor<3x4xf32>) {
    ^bb0(%in: i1, %out: f32):
      %15 = arith.uitofp %in : i1 to f32
      linalg.yield %15 : f32
    } -> tensor<3x4xf32>
    return %1, %2, %3, %4, %7, %12, %14 : tensor<3x4xi64>, tensor<3x4xi64>, tensor<3x4xi64>, tensor<3x4xi64>, tensor<i64>, tensor<i1>, tensor<3x4xf32>
  }
}
