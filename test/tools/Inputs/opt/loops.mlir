func.func @fill(%m: memref<?x4xf32>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %m, %c0 : memref<?x4xf32>
  scf.for %i = %c0 to %n step %c1 {
    affine.for %j = 0 to 4 {
      memref.store %v, %m[%i, %j] : memref<?x4xf32>
    }
  }
  return
}

func.func @choose(%c: i1, %x: index, %y: index) -> index {
  %r = scf.if %c -> (index) {
    scf.yield %x : index
  } else {
    %s = affine.apply affine_map<(d0, d1) -> (d0 + 3 * d1)>(%x, %y)
    scf.yield %s : index
  }
  return %r : index
}

func.func @scratch(%i: index) -> f32 {
  %m = memref.alloc() : memref<16xf32>
  %x = memref.load %m[%i] : memref<16xf32>
  memref.dealloc %m : memref<16xf32>
  return %x : f32
}
