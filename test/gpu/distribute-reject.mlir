// RUN: mlopt-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(mlopt-gpu-distribute)'

func.func private @bare(%x: memref<8xf32>) attributes {mlopt.kernel} {
  %pad = arith.constant 0.0 : f32
  scf.forall (%i) = (0) to (8) step (4) {
    // expected-error @+1 {{a tile without mlopt.layout; run mlopt-gpu-assign-layouts}}
    %v = vector.transfer_read %x[%i], %pad {in_bounds = [true]} : memref<8xf32>, vector<4xf32>
  }
  return
}

// -----

func.func private @unknown(%x: memref<8xf32>) attributes {mlopt.kernel} {
  scf.forall (%i) = (0) to (8) step (4) {
    %c = arith.constant dense<0.0> : vector<4xf32>
    // expected-error @+1 {{no rule for 'vector.reduction'}}
    %v = vector.reduction <add>, %c : vector<4xf32> into f32
  }
  return
}

// -----

func.func private @other_warps(%x: memref<8xf32>) attributes {mlopt.kernel} {
  %pad = arith.constant 0.0 : f32
  scf.forall (%i) = (0) to (8) step (4) {
    // expected-error @+1 {{a layout for 1 warps, not 4}}
    %v = vector.transfer_read %x[%i], %pad {in_bounds = [true], mlopt.layout = "reg lane 32:(1) warp 1:(0)"} : memref<8xf32>, vector<4xf32>
  }
  return
}

// -----

// 200,000 bytes, of 166,912 that a block of compute capability 8.0 can have.
// expected-error @+1 {{a block of @crowded needs 200000 bytes of shared memory, the GPU gives it 166912 at most}}
func.func private @crowded(%out: memref<8xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  scf.forall (%i) = (0) to (8) step (8) {
    %kept = memref.alloca() : memref<50000xf32, #gpu.address_space<workgroup>>
    %v = vector.transfer_read %kept[%c0], %pad {in_bounds = [true], mlopt.layout = "reg lane 8:(1) 4:(0) warp 4:(0)"} : memref<50000xf32, #gpu.address_space<workgroup>>, vector<8xf32>
    vector.transfer_write %v, %out[%i] {in_bounds = [true]} : vector<8xf32>, memref<8xf32>
  }
  return
}

// -----

func.func private @backwards(%x: memref<128xi32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0 : i32
  %limit = arith.constant dense<7> : vector<128xi32>
  scf.forall (%i) = (0) to (8) step (8) {
    %list = memref.alloca() : memref<128xi32>
    %v = vector.transfer_read %x[%c0], %pad {in_bounds = [true], mlopt.layout = "reg 2:(1) lane 32:(4) warp 2:(2)"} : memref<128xi32>, vector<128xi32>
    %m = arith.cmpi slt, %v, %limit {mlopt.layout = "reg 2:(1) lane 32:(4) warp 2:(2)"} : vector<128xi32>
    // expected-error @+1 {{a vector.compressstore of a tile that lanes and warps do not run along}}
    vector.compressstore %list[%c0], %m, %v : memref<128xi32>, vector<128xi1>, vector<128xi32>
  } {mlopt.schedule = {min_blocks = array<i64: 1>, tile = array<i64: 0>, warps = array<i64: 2>}}
  return
}

// -----

func.func private @further(%x: memref<128xi32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %pad = arith.constant 0 : i32
  %limit = arith.constant dense<7> : vector<128xi32>
  scf.forall (%i) = (0) to (8) step (8) {
    %list = memref.alloca() : memref<128xi32>
    %v = vector.transfer_read %x[%c0], %pad {in_bounds = [true], mlopt.layout = "reg 2:(1) lane 32:(2) warp 2:(64)"} : memref<128xi32>, vector<128xi32>
    %m = arith.cmpi slt, %v, %limit {mlopt.layout = "reg 2:(1) lane 32:(2) warp 2:(64)"} : vector<128xi32>
    // expected-error @+1 {{a vector.compressstore is to the beginning of a list in shared memory}}
    vector.compressstore %list[%c1], %m, %v : memref<128xi32>, vector<128xi1>, vector<128xi32>
  } {mlopt.schedule = {min_blocks = array<i64: 1>, tile = array<i64: 0>, warps = array<i64: 2>}}
  return
}
