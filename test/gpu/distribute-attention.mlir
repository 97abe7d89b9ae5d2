// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-hoist-factors,mlopt-gpu-assign-layouts,mlopt-gpu-pipeline-loads)' | FileCheck %s --check-prefix=LAYOUT
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-hoist-factors,mlopt-gpu-assign-layouts,mlopt-gpu-pipeline-loads,mlopt-gpu-distribute)' | FileCheck %s --check-prefix=THREAD

// Four warps have 32 whole rows each, of the scores and of the sums: the weights are where the second product
// wants them. Queries come through shared memory once, keys and values are copied ahead; a tile of values is
// taken where they are multiplied. The two numbers of a causal mask have a layout each.
// LAYOUT-LABEL: @attention
// LAYOUT: %[[Q:.*]] = "mlopt.convert_layout"{{.*}}mlopt.layout = "reg 2:(16,0) 8:(0,8) 2:(8,0) 2:(0,1) lane 4:(0,2) 8:(1,0) warp 4:(32,0)"
// LAYOUT-COUNT-2: mlopt.async_copy
// LAYOUT: scf.for
// LAYOUT: mlopt.async_wait
// LAYOUT: %[[K:.*]] = "mlopt.shared_tile"
// LAYOUT-COUNT-2: mlopt.async_copy
// LAYOUT: vector.contract {{.*}} %[[Q]], %[[K]], {{.*}}mlopt.layout = "reg 4:(8,0) 8:(0,8) 2:(0,1) lane 4:(0,2) 8:(1,0) warp 4:(32,0)"
// LAYOUT-NOT: mlopt.convert_layout"({{.*}}index>
// LAYOUT: %[[W:.*]] = "mlopt.convert_layout"{{.*}}mlopt.layout = "reg 2:(16,0) 8:(0,8) 2:(8,0) 2:(0,1) lane 4:(0,2) 8:(1,0) warp 4:(32,0)"
// LAYOUT: %[[V:.*]] = "mlopt.shared_tile"
// LAYOUT: vector.contract {{.*}} %[[W]], %[[V]], {{.*}}mlopt.layout = "reg 4:(8,0) 8:(0,8) 2:(0,1) lane 4:(0,2) 8:(1,0) warp 4:(32,0)"

// One barrier a step; maxima cross four lanes; 16 loads of four matrices for 64 products of either kind, those of
// values turned; nothing else goes through shared memory.
// THREAD-LABEL: llvm.func @attention(
// THREAD: scf.for
// THREAD: nvvm.barrier0
// THREAD: nvvm.ldmatrix {{.*}}mma_layout<row>
// THREAD-COUNT-64: mma.sync.aligned
// THREAD-NOT: mma.sync.aligned
// THREAD-NOT: nvvm.barrier0
// THREAD: nvvm.shfl.sync
// THREAD-NOT: llvm.store
// THREAD: nvvm.ldmatrix {{.*}}mma_layout<col>
// THREAD-COUNT-64: mma.sync.aligned
// THREAD: scf.yield
#q = affine_map<(m, n, k) -> (m, k)>
#k = affine_map<(m, n, k) -> (n, k)>
#v = affine_map<(m, n, k) -> (k, n)>
#s = affine_map<(m, n, k) -> (m, n)>
func.func private @attention(%q: memref<512x64xbf16>, %k: memref<500x64xbf16>, %v: memref<500x64xbf16>, %o: memref<512x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c500 = arith.constant 500 : index
  %pad = arith.constant 0.0 : bf16
  %low = arith.constant dense<0xFF800000> : vector<128xf32>
  %lows = arith.constant dense<0xFF800000> : vector<128x64xf32>
  %zero = arith.constant dense<0.0> : vector<128xf32>
  %zeros = arith.constant dense<0.0> : vector<128x64xf32>
  %scale = arith.constant dense<0.125> : vector<128x64xf32>
  scf.forall (%i) = (0) to (512) step (128) {
    %r:2 = scf.for %n = %c0 to %c500 step %c64 iter_args(%top = %low, %acc = %zeros) -> (vector<128xf32>, vector<128x64xf32>) {
      %x = vector.transfer_read %q[%i, %c0], %pad {in_bounds = [true, true]} : memref<512x64xbf16>, vector<128x64xbf16>
      %y = vector.transfer_read %k[%n, %c0], %pad {in_bounds = [false, true]} : memref<500x64xbf16>, vector<64x64xbf16>
      %d = vector.contract {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "reduction"], mlopt.mma = "m16n8k16.bf16"}
          %x, %y, %zeros : vector<128x64xbf16>, vector<64x64xbf16> into vector<128x64xf32>
      %number = vector.step : vector<64xindex>
      %first = vector.broadcast %n : index to vector<64xindex>
      %key = arith.addi %number, %first : vector<64xindex>
      %numbers = vector.step : vector<128xindex>
      %begin = vector.broadcast %i : index to vector<128xindex>
      %row = arith.addi %numbers, %begin : vector<128xindex>
      %tallrow = vector.shape_cast %row : vector<128xindex> to vector<128x1xindex>
      %rows = vector.broadcast %tallrow : vector<128x1xindex> to vector<128x64xindex>
      %keys = vector.broadcast %key : vector<64xindex> to vector<128x64xindex>
      %ins = arith.cmpi sge, %rows, %keys : vector<128x64xindex>
      %p = arith.mulf %d, %scale : vector<128x64xf32>
      %t = arith.select %ins, %p, %lows : vector<128x64xi1>, vector<128x64xf32>
      %m = vector.multi_reduction <maximumf>, %t, %top [1] : vector<128x64xf32> to vector<128xf32>
      %none = arith.cmpf oeq, %m, %low : vector<128xf32>
      %less = arith.select %none, %zero, %m : vector<128xi1>, vector<128xf32>
      %tall = vector.shape_cast %less : vector<128xf32> to vector<128x1xf32>
      %wide = vector.broadcast %tall : vector<128x1xf32> to vector<128x64xf32>
      %e = arith.subf %t, %wide : vector<128x64xf32>
      %w = math.exp %e : vector<128x64xf32>
      %f = arith.subf %top, %less : vector<128xf32>
      %kept = math.exp %f : vector<128xf32>
      %old = vector.shape_cast %kept : vector<128xf32> to vector<128x1xf32>
      %olds = vector.broadcast %old : vector<128x1xf32> to vector<128x64xf32>
      %scaled = arith.mulf %acc, %olds : vector<128x64xf32>
      %z = vector.transfer_read %v[%n, %c0], %pad {in_bounds = [false, true]} : memref<500x64xbf16>, vector<64x64xbf16>
      %h = arith.truncf %w : vector<128x64xf32> to vector<128x64xbf16>
      %next = vector.contract {indexing_maps = [#q, #v, #s], iterator_types = ["parallel", "parallel", "reduction"], mlopt.mma = "m16n8k16.bf16"}
          %h, %z, %scaled : vector<128x64xbf16>, vector<64x64xbf16> into vector<128x64xf32>
      scf.yield %m, %next : vector<128xf32>, vector<128x64xf32>
    }
    vector.transfer_write %r#1, %o[%i, %c0] {in_bounds = [true, true]} : vector<128x64xf32>, memref<512x64xf32>
  } {mlopt.schedule = {tile = array<i64: 128, 0, 64, 64>, stages = array<i64: 2>, warps = array<i64: 4>}}
  return
}
