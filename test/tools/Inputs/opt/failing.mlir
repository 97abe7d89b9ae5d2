func.func @f(%m: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %0 = "test.unknown"(%c0) : (index) -> index
  return
}
