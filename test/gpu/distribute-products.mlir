// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-tensor-cores,mlopt-gpu-assign-layouts)' | FileCheck %s --check-prefix=LAYOUT
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-tensor-cores,mlopt-gpu-assign-layouts,mlopt-gpu-distribute)' | FileCheck %s --check-prefix=THREAD
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-tensor-cores,mlopt-gpu-assign-layouts,mlopt-gpu-distribute,canonicalize,cse)' | FileCheck %s --check-prefix=SWIZZLE

// Four warps have 32 x 32 of the result each. Factors are read as they lie, 16 bytes a thread, and come through
// shared memory to the fragments of the instruction; the right one is turned on the way.
// LAYOUT-LABEL: @product
// LAYOUT: vector.transfer_read %arg0{{.*}}mlopt.layout = "reg 2:(32,0) 8:(0,1) lane 4:(0,8) 8:(1,0) warp 4:(8,0)"
// LAYOUT: mlopt.convert_layout{{.*}}mlopt.layout = "reg 2:(16,0) 4:(0,8) 2:(8,0) 2:(0,1) lane 4:(0,2) 8:(1,0) warp 2:(32,0) 2:(0,0)"
// LAYOUT: mlopt.convert_layout{{.*}}mlopt.layout = "reg 2:(0,16) 2:(16,0) 2:(0,8) 2:(8,0) 2:(1,0) lane 4:(2,0) 8:(0,1) warp 2:(0,0) 2:(0,32)"
// LAYOUT: vector.contract{{.*}}mlopt.layout = "reg 4:(8,0) 4:(0,8) 2:(0,1) lane 4:(0,2) 8:(1,0) warp 2:(32,0) 2:(0,32)"

// Rows are swizzled, not padded: eight of them have pieces of 16 bytes in banks of their own, as two rows of 64
// bytes share a line of all banks. Another step of the depth, 16 columns further on, has its own address.
// SWIZZLE-LABEL: llvm.func @product(
// SWIZZLE: %[[PAIR:.*]] = arith.divui %[[ROW:.*]], %c2_i32
// SWIZZLE: %[[TURN:.*]] = arith.remui %[[PAIR]], %c4_i32
// SWIZZLE: %[[PLACE:.*]] = arith.muli %[[TURN]], %c8_i32
// SWIZZLE: %[[COLUMN:.*]] = arith.xori %{{.*}}, %[[PLACE]]
// SWIZZLE: nvvm.ldmatrix
// SWIZZLE: arith.xori %{{.*}}, %c16_i32
// SWIZZLE: nvvm.ldmatrix

// A step of 32: 2 x 2 x 4 products of 16 x 8 x 16, whose factors are 4 + 4 words of four matrices each.
// THREAD-LABEL: llvm.func @product(
// THREAD-COUNT-4: nvvm.ldmatrix {{.*}}layout = #nvvm.mma_layout<row>{{.*}}num = 4
// THREAD-COUNT-4: nvvm.ldmatrix {{.*}}layout = #nvvm.mma_layout<col>{{.*}}num = 4
// THREAD-COUNT-16: mma.sync.aligned
// THREAD-NOT: mma.sync.aligned
// THREAD: scf.yield
// THREAD-LABEL: llvm.func @product_unaligned
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
func.func private @product(%a: memref<64x512xbf16>, %b: memref<512x64xbf16>, %out: memref<64x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c512 = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i) in (1) {
    %d = scf.for %k = %c0 to %c512 step %c32 iter_args(%s = %zero) -> (vector<64x64xf32>) {
      %x = vector.transfer_read %a[%c0, %k], %pad {in_bounds = [true, true]} : memref<64x512xbf16>, vector<64x32xbf16>
      %y = vector.transfer_read %b[%k, %c0], %pad {in_bounds = [true, true]} : memref<512x64xbf16>, vector<32x64xbf16>
      %t = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x32xbf16>, vector<32x64xbf16> into vector<64x64xf32>
      scf.yield %t : vector<64x64xf32>
    }
    vector.transfer_write %d, %out[%c0, %c0] {in_bounds = [true, true]} : vector<64x64xf32>, memref<64x64xf32>
  } {mlopt.schedule = {tile = array<i64: 64, 64, 32>, warps = array<i64: 4>}}
  return
}

// Bytes that lie across the depth are copied as they lie, and turned in pairs: rows of a lane are neighbours, and
// so are columns of two instructions. Of two words of ldmatrix a lane makes two, of four steps of the depth each.
// LAYOUT-LABEL: @bytes(
// LAYOUT: mlopt.convert_layout{{.*}}mlopt.layout = "reg 2:(0,16) 4:(16,0) 2:(0,1) 4:(1,0) lane 4:(4,0) 8:(0,2) warp 2:(0,32) 2:(0,0)"
// LAYOUT: mlopt.convert_layout{{.*}}mlopt.layout = "reg 2:(0,16) 4:(16,0) 2:(0,1) 4:(1,0) lane 4:(4,0) 8:(0,2) warp 2:(0,0) 2:(0,32)"
// LAYOUT: vector.contract{{.*}}mlopt.layout = "reg 2:(16,0) 2:(1,0) 2:(0,16) 4:(0,1) lane 4:(0,4) 8:(2,0) warp 2:(32,0) 2:(0,32)"
// THREAD-LABEL: llvm.func @bytes(
// THREAD: nvvm.ldmatrix {{.*}}layout = #nvvm.mma_layout<col>{{.*}}num = 4
// THREAD: nvvm.prmt
// THREAD-COUNT-16: mma.sync.aligned.m16n8k32
// THREAD-NOT: mma.sync.aligned
// THREAD-LABEL: llvm.func @bytes_unaligned
#aT = affine_map<(m, n, k) -> (k, m)>
func.func private @bytes(%a: memref<512x64xi8>, %b: memref<512x64xi8>, %out: memref<64x64xi32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %pad = arith.constant 0 : i8
  %zero = arith.constant dense<0> : vector<64x64xi32>
  scf.forall (%i) in (1) {
    %d = scf.for %k = %c0 to %c512 step %c64 iter_args(%s = %zero) -> (vector<64x64xi32>) {
      %x = vector.transfer_read %a[%k, %c0], %pad {in_bounds = [true, true]} : memref<512x64xi8>, vector<64x64xi8>
      %y = vector.transfer_read %b[%k, %c0], %pad {in_bounds = [true, true]} : memref<512x64xi8>, vector<64x64xi8>
      %t = vector.contract {indexing_maps = [#aT, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x64xi8>, vector<64x64xi8> into vector<64x64xi32>
      scf.yield %t : vector<64x64xi32>
    }
    vector.transfer_write %d, %out[%c0, %c0] {in_bounds = [true, true]} : vector<64x64xi32>, memref<64x64xi32>
  } {mlopt.schedule = {tile = array<i64: 64, 64, 64>, warps = array<i64: 4>}}
  return
}
