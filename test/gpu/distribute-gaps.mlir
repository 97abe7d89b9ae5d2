// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-distribute)' | FileCheck %s

// Results of a product as they are stored, 4 images of 4 places with 32 channels: rows of 64 bytes, with 16 bytes
// behind each two, also the last two of an image, which has 144 elements. Each of two pairs is a store of a word.
// CHECK-LABEL: llvm.func @results
// CHECK: arith.muli %{{.*}}, %c144_i32
// CHECK: llvm.store %{{.*}} : vector<2xf16>, !llvm.ptr<3>
// CHECK: llvm.getelementptr %{{.*}}[288] : (!llvm.ptr<3>) -> !llvm.ptr<3>, f16
// CHECK: llvm.store %{{.*}} : vector<2xf16>, !llvm.ptr<3>
// CHECK: nvvm.barrier0
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<8xf16>
// CHECK: mlopt.shared = 1152
func.func private @results(%x: memref<4x4x32xf16>, %out: memref<4x4x32xf16>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f16
  scf.forall (%i) in (1) {
    %v = vector.transfer_read %x[%c0, %c0, %c0], %pad {in_bounds = [true, true, true], mlopt.layout = "reg 2:(2,0,0) 2:(0,0,1) lane 4:(0,0,2) 4:(0,1,0) 2:(1,0,0) warp 4:(0,0,8)"} : memref<4x4x32xf16>, vector<4x4x32xf16>
    %t = "mlopt.convert_layout"(%v) {mlopt.layout = "reg 8:(0,0,1) lane 4:(0,0,8) 4:(0,1,0) 2:(1,0,0) warp 2:(2,0,0) 2:(0,0,0)"} : (vector<4x4x32xf16>) -> vector<4x4x32xf16>
    vector.transfer_write %t, %out[%c0, %c0, %c0] {in_bounds = [true, true, true]} : vector<4x4x32xf16>, memref<4x4x32xf16>
  } {mlopt.schedule = {tile = array<i64: 4, 4, 32>, warps = array<i64: 4>}}
  return
}
