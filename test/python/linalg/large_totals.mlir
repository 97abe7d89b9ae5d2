#x = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#s = affine_map<(d0, d1, d2) -> ()>
#v = affine_map<(d0) -> (d0)>
#t = affine_map<(d0) -> ()>
module {
  func.func @main(%x: tensor<3x40x200xf32>, %v: tensor<66000xf32>, %d: tensor<?x66000xf32>)
      -> (tensor<f32>, tensor<f32>, tensor<f32>) {
    %zero = arith.constant 0.0 : f32
    %ninf = arith.constant 0xFF800000 : f32
    %e = tensor.empty() : tensor<f32>
    %0 = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
    %1 = linalg.generic {indexing_maps = [#x, #s], iterator_types = ["reduction", "reduction", "reduction"]}
        ins(%x : tensor<3x40x200xf32>) outs(%0 : tensor<f32>) {
    ^bb0(%in: f32, %out: f32):
      %a = arith.mulf %in, %in : f32
      %b = arith.addf %a, %out : f32
      linalg.yield %b : f32
    } -> tensor<f32>
    %e2 = tensor.empty() : tensor<f32>
    %2 = linalg.fill ins(%ninf : f32) outs(%e2 : tensor<f32>) -> tensor<f32>
    %3 = linalg.generic {indexing_maps = [#v, #t], iterator_types = ["reduction"]}
        ins(%v : tensor<66000xf32>) outs(%2 : tensor<f32>) {
    ^bb0(%in: f32, %out: f32):
      %a = arith.maximumf %in, %out : f32
      linalg.yield %a : f32
    } -> tensor<f32>
    %e4 = tensor.empty() : tensor<f32>
    %f4 = linalg.fill ins(%zero : f32) outs(%e4 : tensor<f32>) -> tensor<f32>
    %4 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]}
        ins(%d : tensor<?x66000xf32>) outs(%f4 : tensor<f32>) {
    ^bb0(%in: f32, %out: f32):
      %a = arith.addf %out, %in : f32
      linalg.yield %a : f32
    } -> tensor<f32>
    return %1, %3, %4 : tensor<f32>, tensor<f32>, tensor<f32>
  }
}
