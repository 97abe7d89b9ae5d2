"""Products of dynamic sizes that TMA copies the factors of, as MLIR text."""

COLUMNS = 4096  # of fewer warps make the product alone, for any number of rows
PRODUCT = """
func.func @main(%a: tensor<?x?xf16>, %b: tensor<4096x?xf16>) -> tensor<?x4096xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %m = tensor.dim %a, %c0 : tensor<?x?xf16>
  %e = tensor.empty(%m) : tensor<?x4096xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x4096xf32>) -> tensor<?x4096xf32>
  %r = linalg.generic {
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>,
                       affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<?x?xf16>, tensor<4096x?xf16>) outs(%f : tensor<?x4096xf32>) {
  ^bb0(%x: f16, %y: f16, %s: f32):
    %xw = arith.extf %x : f16 to f32
    %yw = arith.extf %y : f16 to f32
    %p = arith.mulf %xw, %yw : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  } -> tensor<?x4096xf32>
  return %r : tensor<?x4096xf32>
}
"""

_RETURN = "  return %r : tensor<?x4096xf32>\n}\n"
NARROWED = (
    PRODUCT.removesuffix(_RETURN).replace("tensor<?x4096xf32> {\n  %c0", "tensor<?x4096xf16> {\n  %c0")
    + """  %o = tensor.empty(%m) : tensor<?x4096xf16>
  %h = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%r : tensor<?x4096xf32>) outs(%o : tensor<?x4096xf16>) {
  ^bb0(%x: f32, %s: f16):
    %t = arith.truncf %x : f32 to f16
    linalg.yield %t : f16
  } -> tensor<?x4096xf16>
  return %h : tensor<?x4096xf16>
}
"""
)
