// RUN: mlopt-opt %s --split-input-file --pass-pipeline='builtin.module(mlopt-gpu-assign-layouts)' | FileCheck %s

// Rows that are reduced: lanes along the row, 16 bytes each, a row a warp; the row's result is in every lane.
// CHECK-LABEL: @rows
// CHECK: vector.transfer_read {{.*}}mlopt.layout = "reg 8:(0,128) 4:(0,1) lane 32:(0,4) warp 4:(1,0)"
// CHECK: vector.multi_reduction {{.*}}mlopt.layout = "reg lane 32:(0) warp 4:(1)"
// CHECK: vector.shape_cast {{.*}}mlopt.layout = "reg lane 32:(0,0) warp 4:(1,0)"
// CHECK: vector.broadcast {{.*}}mlopt.layout = "reg 8:(0,128) 4:(0,1) lane 32:(0,4) warp 4:(1,0)"
// CHECK-NOT: mlopt.convert_layout
// CHECK: vector.transfer_write
func.func private @rows(%x: memref<1001x1000xf32>, %out: memref<1001x1000xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %low = arith.constant dense<0xFF800000> : vector<4xf32>
  scf.forall (%i) = (0) to (1001) step (4) {
    %v = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [false, true]} : memref<1001x1000xf32>, vector<4x1000xf32>
    %m = vector.multi_reduction <maximumf>, %v, %low [1] : vector<4x1000xf32> to vector<4xf32>
    %c = vector.shape_cast %m : vector<4xf32> to vector<4x1xf32>
    %b = vector.broadcast %c : vector<4x1xf32> to vector<4x1000xf32>
    %s = arith.subf %v, %b : vector<4x1000xf32>
    vector.transfer_write %s, %out[%i, %c0] {in_bounds = [false, true]} : vector<4x1000xf32>, memref<1001x1000xf32>
  } {mlopt.schedule = {tile = array<i64: 4, 0>, warps = array<i64: 4>}}
  return
}

// -----

// bf16: eight elements are 16 bytes. A row of 1001 is not aligned: one element at a time, and neighbouring
// lanes have neighbours.
// CHECK-LABEL: @widths
// CHECK: vector.transfer_read %{{.*}}mlopt.layout = "reg 8:(1) lane 32:(8) warp 4:(256)"
// CHECK: vector.transfer_read %{{.*}}mlopt.layout = "reg 8:(0,128) lane 32:(0,1) warp 4:(0,32)"
func.func private @widths(%x: memref<4096xbf16>, %y: memref<3x1001xf32>, %a: memref<4096xbf16>, %b: memref<3x1001xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : bf16
  %pad1 = arith.constant 0.0 : f32
  %c1 = arith.constant 1 : index
  scf.forall (%i) = (0) to (4096) step (1024) {
    %v = vector.transfer_read %x[%i], %pad {in_bounds = [true]} : memref<4096xbf16>, vector<1024xbf16>
    %w = vector.transfer_read %y[%c1, %c0], %pad1 {in_bounds = [true, true]} : memref<3x1001xf32>, vector<1x1001xf32>
    vector.transfer_write %v, %a[%i] {in_bounds = [true]} : vector<1024xbf16>, memref<4096xbf16>
    vector.transfer_write %w, %b[%c1, %c0] {in_bounds = [true, true]} : vector<1x1001xf32>, memref<3x1001xf32>
  } {mlopt.schedule = {tile = array<i64: 1024>, warps = array<i64: 4>}}
  return
}

// -----

// A transpose: read along the memory of the one, turned, written along that of the other.
// CHECK-LABEL: @turned
// CHECK: %[[V:.*]] = vector.transfer_read {{.*}}mlopt.layout = "reg 2:(0,16) 4:(1,0) lane 8:(4,0) 4:(0,1) warp 4:(0,4)"
// CHECK: %[[N:.*]] = arith.negf %[[V]]
// CHECK: %[[C:.*]] = "mlopt.convert_layout"(%[[N]]) {mlopt.layout = "reg 2:(16,0) 4:(0,1) lane 8:(0,4) 4:(1,0) warp 4:(4,0)"}
// CHECK: vector.transfer_write %[[C]]
func.func private @turned(%x: memref<64x96xf32>, %out: memref<96x64xf32>) attributes {mlopt.kernel} {
  %pad = arith.constant 0.0 : f32
  scf.forall (%i, %j) = (0, 0) to (96, 64) step (32, 32) {
    %v = vector.transfer_read %x[%j, %i], %pad {in_bounds = [true, true], permutation_map = affine_map<(d0, d1) -> (d1, d0)>} : memref<64x96xf32>, vector<32x32xf32>
    %n = arith.negf %v : vector<32x32xf32>
    vector.transfer_write %n, %out[%i, %j] {in_bounds = [true, true]} : vector<32x32xf32>, memref<96x64xf32>
  } {mlopt.schedule = {tile = array<i64: 32, 32>, warps = array<i64: 4>}}
  return
}

// -----

// What is made wider changes hands before, in fewer bytes.
// CHECK-LABEL: @turned_and_widened
// CHECK: %[[V:.*]] = vector.transfer_read
// CHECK: %[[C:.*]] = "mlopt.convert_layout"(%[[V]]) {mlopt.layout = "[[OTHER:.*]]"} : (vector<32x32xf16>)
// CHECK: %[[W:.*]] = arith.extf %[[C]] {mlopt.layout = "[[OTHER]]"} : vector<32x32xf16> to vector<32x32xf32>
// CHECK: vector.transfer_write %[[W]]
func.func private @turned_and_widened(%x: memref<64x96xf16>, %out: memref<96x64xf32>) attributes {mlopt.kernel} {
  %pad = arith.constant 0.0 : f16
  scf.forall (%i, %j) = (0, 0) to (96, 64) step (32, 32) {
    %v = vector.transfer_read %x[%j, %i], %pad {in_bounds = [true, true], permutation_map = affine_map<(d0, d1) -> (d1, d0)>} : memref<64x96xf16>, vector<32x32xf16>
    %w = arith.extf %v : vector<32x32xf16> to vector<32x32xf32>
    vector.transfer_write %w, %out[%i, %j] {in_bounds = [true, true]} : vector<32x32xf32>, memref<96x64xf32>
  } {mlopt.schedule = {tile = array<i64: 32, 32>, warps = array<i64: 4>}}
  return
}

// -----

// Rows that are written three elements further: one access of two is narrow, so both are, and nothing is turned.
// CHECK-LABEL: @shifted
// CHECK: vector.transfer_read {{.*}}mlopt.layout = "reg 8:(0,128) lane 32:(0,1) warp 4:(0,32)"
// CHECK-NOT: mlopt.convert_layout
// CHECK: vector.transfer_write
func.func private @shifted(%x: memref<64x1024xf32>, %out: memref<64x1027xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %pad = arith.constant 0.0 : f32
  scf.forall (%i) in (64) {
    %v = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<64x1024xf32>, vector<1x1024xf32>
    vector.transfer_write %v, %out[%i, %c3] {in_bounds = [true, true]} : vector<1x1024xf32>, memref<64x1027xf32>
  } {mlopt.schedule = {warps = array<i64: 4>}}
  return
}

// -----

// Two wide accesses and a narrow one: wide, and that one is turned.
// CHECK-LABEL: @two_wide
// CHECK-COUNT-2: vector.transfer_read {{.*}}mlopt.layout = "reg 2:(0,512) 4:(0,1) lane 32:(0,4) warp 4:(0,128)"
// CHECK: %[[C:.*]] = "mlopt.convert_layout"
// CHECK-SAME: mlopt.layout = "reg 8:(0,128) lane 32:(0,1) warp 4:(0,32)"
// CHECK: vector.transfer_write %[[C]]
func.func private @two_wide(%x: memref<64x1024xf32>, %y: memref<64x1024xf32>, %out: memref<64x1027xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %pad = arith.constant 0.0 : f32
  scf.forall (%i) in (64) {
    %v = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<64x1024xf32>, vector<1x1024xf32>
    %w = vector.transfer_read %y[%i, %c0], %pad {in_bounds = [true, true]} : memref<64x1024xf32>, vector<1x1024xf32>
    %s = arith.addf %v, %w : vector<1x1024xf32>
    vector.transfer_write %s, %out[%i, %c3] {in_bounds = [true, true]} : vector<1x1024xf32>, memref<64x1027xf32>
  } {mlopt.schedule = {warps = array<i64: 4>}}
  return
}

// -----

// One vector along both dims of a tile cannot have one layout for both: it is copied. A loop's results have
// an array of layouts; a splat has none.
// CHECK-LABEL: @cut
// CHECK: %[[V:.*]] = vector.transfer_read
// CHECK: vector.broadcast %[[V]]
// CHECK: %[[C:.*]] = "mlopt.convert_layout"(%[[V]])
// CHECK: vector.shape_cast %[[C]]
// CHECK: scf.for %
// CHECK: } {mlopt.layout = ["reg {{.*}}", ""]}
func.func private @cut(%x: memref<16xf32>, %out: memref<16x16xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<16x16xf32>
  scf.forall (%i) = (0) to (1) step (1) {
    %v = vector.transfer_read %x[%c0], %pad {in_bounds = [true]} : memref<16xf32>, vector<16xf32>
    %a = vector.broadcast %v : vector<16xf32> to vector<16x16xf32>
    %c = vector.shape_cast %v : vector<16xf32> to vector<16x1xf32>
    %b = vector.broadcast %c : vector<16x1xf32> to vector<16x16xf32>
    %s = arith.subf %a, %b : vector<16x16xf32>
    %t, %n = scf.for %k = %c0 to %c1 step %c1 iter_args(%acc = %zero, %count = %c0) -> (vector<16x16xf32>, index) {
      %next = arith.addf %acc, %s : vector<16x16xf32>
      scf.yield %next, %k : vector<16x16xf32>, index
    }
    vector.transfer_write %t, %out[%c0, %n] {in_bounds = [true, true]} : vector<16x16xf32>, memref<16x16xf32>
  } {mlopt.schedule = {tile = array<i64: 0, 0>, warps = array<i64: 4>}}
  return
}

// -----

// A row and a column that are stretched, each for two readers, one of which has them the other way round: the
// row is copied, and stretched and compared again; no square is.
// CHECK-LABEL: @stretched
// CHECK-NOT: "mlopt.convert_layout"{{.*}} -> vector<64x64
// CHECK: "mlopt.convert_layout"{{.*}} : (vector<64{{(x1)?}}xf32>)
// CHECK-NOT: "mlopt.convert_layout"{{.*}} -> vector<64x64
// CHECK: vector.transfer_write
func.func private @stretched(%x: memref<64xf32>, %out: memref<64x64xi32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  scf.forall (%i) = (0) to (1) step (1) {
    %v = vector.transfer_read %x[%c0], %pad {in_bounds = [true]} : memref<64xf32>, vector<64xf32>
    %a = vector.broadcast %v : vector<64xf32> to vector<64x64xf32>
    %c = vector.shape_cast %v : vector<64xf32> to vector<64x1xf32>
    %b = vector.broadcast %c : vector<64x1xf32> to vector<64x64xf32>
    %g = arith.cmpf ogt, %a, %b : vector<64x64xf32>
    %l = arith.cmpf ole, %b, %a : vector<64x64xf32>
    %both = arith.andi %g, %l : vector<64x64xi1>
    %more = arith.ori %l, %both : vector<64x64xi1>
    %n = arith.extui %more : vector<64x64xi1> to vector<64x64xi32>
    vector.transfer_write %n, %out[%c0, %c0] {in_bounds = [true, true]} : vector<64x64xi32>, memref<64x64xi32>
  } {mlopt.schedule = {tile = array<i64: 0, 0>, warps = array<i64: 4>}}
  return
}

// -----

// Reads come first, with the position that the second needs; one at a position that comes from a tile cannot,
// but what is read behind it can.
// CHECK-LABEL: @order
// CHECK: scf.forall
// CHECK-NEXT: vector.transfer_read
// CHECK-NEXT: arith.addi
// CHECK-NEXT: vector.transfer_read
// CHECK-NEXT: vector.transfer_read
// CHECK-NEXT: vector.transfer_read
// CHECK-NEXT: math.exp
// CHECK: vector.extract
// CHECK: vector.transfer_read
func.func private @order(%x: memref<8192xf32>, %out: memref<4096xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c4096 = arith.constant 4096 : index
  %pad = arith.constant 0.0 : f32
  scf.forall (%i) = (0) to (4096) step (512) {
    %v = vector.transfer_read %x[%i], %pad {in_bounds = [true]} : memref<8192xf32>, vector<512xf32>
    %e = math.exp %v : vector<512xf32>
    %j = arith.addi %i, %c4096 : index
    %w = vector.transfer_read %x[%j], %pad {in_bounds = [true]} : memref<8192xf32>, vector<512xf32>
    %s = arith.addf %e, %w : vector<512xf32>
    %one = vector.transfer_read %x[%c0], %pad {in_bounds = [true]} : memref<8192xf32>, vector<1xf32>
    %n = arith.fptosi %one : vector<1xf32> to vector<1xi32>
    %m = vector.extract %n[0] : i32 from vector<1xi32>
    %k = arith.index_cast %m : i32 to index
    %u = vector.transfer_read %x[%k], %pad {in_bounds = [false]} : memref<8192xf32>, vector<512xf32>
    %t = arith.addf %s, %u : vector<512xf32>
    %last = vector.transfer_read %x[%c4096], %pad {in_bounds = [true]} : memref<8192xf32>, vector<512xf32>
    %r = arith.addf %t, %last : vector<512xf32>
    vector.transfer_write %r, %out[%i] {in_bounds = [true]} : vector<512xf32>, memref<4096xf32>
  } {mlopt.schedule = {tile = array<i64: 512>, warps = array<i64: 4>}}
  return
}

// -----

// Two contractions that share rows: the larger result is laid out first, and the keys of the scores run along the
// threads that the values of the sums have. Each factor comes through a conversion.
// CHECK-LABEL: @attention
// CHECK: vector.contract {{.*}}mlopt.layout = "reg 4:(1,0) lane 8:(0,1) 4:(4,0) warp 2:(16,0) 2:(0,8)"{{.*}} into vector<32x16xf32>
// CHECK: vector.multi_reduction
// CHECK: mlopt.convert_layout
// CHECK: mlopt.convert_layout
// CHECK: vector.contract {{.*}}mlopt.layout = "reg 4:(0,1) 4:(1,0) lane 8:(0,4) 4:(4,0) warp 2:(16,0) 2:(0,32)"{{.*}} into vector<32x64xf32>
#rows = affine_map<(m, n, d) -> (m, d)>
#keys = affine_map<(m, n, d) -> (n, d)>
#out = affine_map<(m, n, d) -> (m, n)>
#weights = affine_map<(m, d, n) -> (m, n)>
#values = affine_map<(m, d, n) -> (n, d)>
#sums = affine_map<(m, d, n) -> (m, d)>
func.func private @attention(%q: memref<64x16xf32>, %k: memref<128x16xf32>, %v: memref<128x64xf32>, %o: memref<64x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c128 = arith.constant 128 : index
  %pad = arith.constant 0.0 : f32
  %low = arith.constant dense<0xFF800000> : vector<32xf32>
  %none = arith.constant dense<0.0> : vector<32x16xf32>
  %start = arith.constant dense<0.0> : vector<32x64xf32>
  scf.forall (%i) = (0) to (64) step (32) {
    %r:2 = scf.for %j = %c0 to %c128 step %c16 iter_args(%top = %low, %acc = %start) -> (vector<32xf32>, vector<32x64xf32>) {
      %a = vector.transfer_read %q[%i, %c0], %pad {in_bounds = [true, true]} : memref<64x16xf32>, vector<32x16xf32>
      %b = vector.transfer_read %k[%j, %c0], %pad {in_bounds = [true, true]} : memref<128x16xf32>, vector<16x16xf32>
      %s = vector.contract {indexing_maps = [#rows, #keys, #out], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %a, %b, %none : vector<32x16xf32>, vector<16x16xf32> into vector<32x16xf32>
      %new = vector.multi_reduction <maximumf>, %s, %top [1] : vector<32x16xf32> to vector<32xf32>
      %c = vector.shape_cast %new : vector<32xf32> to vector<32x1xf32>
      %w = vector.broadcast %c : vector<32x1xf32> to vector<32x16xf32>
      %d = arith.subf %s, %w : vector<32x16xf32>
      %p = math.exp %d : vector<32x16xf32>
      %z = vector.broadcast %c : vector<32x1xf32> to vector<32x64xf32>
      %g = arith.mulf %acc, %z : vector<32x64xf32>
      %y = vector.transfer_read %v[%j, %c0], %pad {in_bounds = [true, true]} : memref<128x64xf32>, vector<16x64xf32>
      %next = vector.contract {indexing_maps = [#weights, #values, #sums], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %p, %y, %g : vector<32x16xf32>, vector<16x64xf32> into vector<32x64xf32>
      scf.yield %new, %next : vector<32xf32>, vector<32x64xf32>
    }
    vector.transfer_write %r#1, %o[%i, %c0] {in_bounds = [true, true]} : vector<32x64xf32>, memref<64x64xf32>
  } {mlopt.schedule = {tile = array<i64: 32, 64, 16>, warps = array<i64: 4>}}
  return
}

// -----

// Rows of two elements, one behind the other in memory: a thread writes two rows at once.
// CHECK-LABEL: @shuffle
// CHECK: vector.transfer_read {{.*}}mlopt.layout = "reg 4:(0,1,0) lane
// CHECK: mlopt.convert_layout{{.*}}mlopt.layout = "reg 2:(0,1,0) 2:(0,0,1) lane 16:(0,2,0) 2:(1,0,0) warp
func.func private @shuffle(%x: memref<2x64x32xf32>, %out: memref<64x32x2xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  scf.forall (%i) = (0) to (64) step (8) {
    %v = vector.transfer_read %x[%c0, %i, %c0], %pad {in_bounds = [true, true, true], permutation_map = affine_map<(d0, d1, d2) -> (d1, d2, d0)>} : memref<2x64x32xf32>, vector<8x32x2xf32>
    vector.transfer_write %v, %out[%i, %c0, %c0] {in_bounds = [true, true, true]} : vector<8x32x2xf32>, memref<64x32x2xf32>
  } {mlopt.schedule = {tile = array<i64: 8, 0, 0>, warps = array<i64: 4>, min_blocks = array<i64: 4>}}
  return
}

// -----

// Of three elements no 16 bytes are whole rows.
// CHECK-LABEL: @triples
// CHECK-NOT: reg 2:(0,1,0) {{.*}}:(0,0,1)
// CHECK: vector.transfer_write
func.func private @triples(%x: memref<3x64x32xf32>, %out: memref<64x32x3xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  scf.forall (%i) = (0) to (64) step (8) {
    %v = vector.transfer_read %x[%c0, %i, %c0], %pad {in_bounds = [true, true, true], permutation_map = affine_map<(d0, d1, d2) -> (d1, d2, d0)>} : memref<3x64x32xf32>, vector<8x32x3xf32>
    vector.transfer_write %v, %out[%i, %c0, %c0] {in_bounds = [true, true, true]} : vector<8x32x3xf32>, memref<64x32x3xf32>
  } {mlopt.schedule = {tile = array<i64: 8, 0, 0>, warps = array<i64: 4>, min_blocks = array<i64: 4>}}
  return
}

// -----

// The factors of a last, ragged step are not read ahead of the loop, whose sums have the registers; what is
// added at the end is.
// CHECK-LABEL: @last_step
// CHECK: vector.transfer_read %arg2
// CHECK-NOT: vector.transfer_read
// CHECK: scf.for %
// CHECK-COUNT-2: vector.transfer_read
// CHECK: scf.yield
// CHECK-COUNT-2: vector.transfer_read
// CHECK: vector.contract
#rows = affine_map<(m, n, k) -> (m, k)>
#columns = affine_map<(m, n, k) -> (k, n)>
#result = affine_map<(m, n, k) -> (m, n)>
func.func private @last_step(%x: memref<64x40xf16>, %y: memref<40x64xf16>, %z: memref<64x64xf32>, %o: memref<64x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %pad = arith.constant 0.0 : f16
  %none = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<32x64xf32>
  scf.forall (%i) = (0) to (64) step (32) {
    %sum = scf.for %k = %c0 to %c32 step %c16 iter_args(%s = %zero) -> (vector<32x64xf32>) {
      %a = vector.transfer_read %x[%i, %k], %pad {in_bounds = [true, true]} : memref<64x40xf16>, vector<32x16xf16>
      %b = vector.transfer_read %y[%k, %c0], %pad {in_bounds = [true, true]} : memref<40x64xf16>, vector<16x64xf16>
      %t = vector.contract {indexing_maps = [#rows, #columns, #result], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>, mlopt.mma = "m16n8k16.f16"} %a, %b, %s : vector<32x16xf16>, vector<16x64xf16> into vector<32x64xf32>
      scf.yield %t : vector<32x64xf32>
    }
    %a = vector.transfer_read %x[%i, %c32], %pad {in_bounds = [true, true]} : memref<64x40xf16>, vector<32x8xf16>
    %b = vector.transfer_read %y[%c32, %c0], %pad {in_bounds = [true, true]} : memref<40x64xf16>, vector<8x64xf16>
    %all = vector.contract {indexing_maps = [#rows, #columns, #result], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>, mlopt.mma = "m16n8k16.f16"} %a, %b, %sum : vector<32x8xf16>, vector<8x64xf16> into vector<32x64xf32>
    %w = vector.transfer_read %z[%i, %c0], %none {in_bounds = [true, true]} : memref<64x64xf32>, vector<32x64xf32>
    %r = arith.addf %all, %w : vector<32x64xf32>
    vector.transfer_write %r, %o[%i, %c0] {in_bounds = [true, true]} : vector<32x64xf32>, memref<64x64xf32>
  } {mlopt.schedule = {tile = array<i64: 32, 64, 16>, warps = array<i64: 4>}}
  return
}

// -----

// What the task has written it reads behind that, and what comes after it, too; a buffer that it only reads, and
// one that it writes later, come first.
// CHECK-LABEL: @written(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<8x128xf32>, %[[OUT:[a-z0-9]+]]: memref<8x128xf32>
// CHECK: scf.forall
// CHECK-NEXT: vector.transfer_read %[[X]]
// CHECK-NEXT: vector.transfer_read %[[OUT]]
// CHECK: vector.transfer_write %{{.*}}, %[[OUT]]
// CHECK-NEXT: vector.transfer_read %[[OUT]]
// CHECK-NEXT: vector.transfer_read %[[X]]
func.func private @written(%x: memref<8x128xf32>, %out: memref<8x128xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  scf.forall (%i) in (8) {
    %t = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true]} : memref<8x128xf32>, vector<128xf32>
    %d = arith.addf %t, %t : vector<128xf32>
    %o = vector.transfer_read %out[%i, %c0], %pad {in_bounds = [true]} : memref<8x128xf32>, vector<128xf32>
    %u = arith.addf %d, %o : vector<128xf32>
    vector.transfer_write %u, %out[%i, %c0] {in_bounds = [true]} : vector<128xf32>, memref<8x128xf32>
    %v = vector.transfer_read %out[%i, %c0], %pad {in_bounds = [true]} : memref<8x128xf32>, vector<128xf32>
    %y = vector.transfer_read %x[%c0, %c0], %pad {in_bounds = [true]} : memref<8x128xf32>, vector<128xf32>
    %w = arith.mulf %v, %y : vector<128xf32>
    vector.transfer_write %w, %out[%i, %c0] {in_bounds = [true]} : vector<128xf32>, memref<8x128xf32>
  } {mlopt.schedule = {tile = array<i64: 1, 0>, warps = array<i64: 4>}}
  return
}

// -----

// So does a read whose place was loaded from what the task has written.
// CHECK-LABEL: @place_written
// CHECK: memref.store
// CHECK: memref.load
// CHECK: vector.transfer_read
func.func private @place_written(%x: memref<8x128xf32>, %rows: memref<8xindex>, %out: memref<8x128xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  scf.forall (%i) in (8) {
    memref.store %c0, %rows[%i] : memref<8xindex>
    %row = memref.load %rows[%i] : memref<8xindex>
    %t = vector.transfer_read %x[%row, %c0], %pad {in_bounds = [true]} : memref<8x128xf32>, vector<128xf32>
    vector.transfer_write %t, %out[%i, %c0] {in_bounds = [true]} : vector<128xf32>, memref<8x128xf32>
  } {mlopt.schedule = {tile = array<i64: 1, 0>, warps = array<i64: 4>}}
  return
}

// -----

// Losses and the flags that say which count, summed side by side: a thread has eight of each, as all 128 threads have
// some then; sixteen flags, 16 bytes, would be for 64 of them, and again for the others.
// CHECK-LABEL: @side_by_side
// CHECK: vector.transfer_read {{.*}} mlopt.layout = "reg 2:(512) 4:(1) lane 32:(4) warp 4:(128)"} : memref<1024xf32>
// CHECK: vector.transfer_read {{.*}} mlopt.layout = "reg 8:(1) lane 32:(8) warp 4:(256)"} : memref<1024xi8>
func.func private @side_by_side(%flags: memref<1024xi8>, %losses: memref<1024xf32>, %sum: memref<f32>, %count: memref<i8>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0 : i8
  scf.forall (%i) in (1) {
    %a = vector.transfer_read %losses[%c0], %zero {in_bounds = [true]} : memref<1024xf32>, vector<1024xf32>
    %b = vector.transfer_read %flags[%c0], %none {in_bounds = [true]} : memref<1024xi8>, vector<1024xi8>
    %s = vector.multi_reduction <add>, %a, %zero [0] : vector<1024xf32> to f32
    %n = vector.multi_reduction <add>, %b, %none [0] : vector<1024xi8> to i8
    %u = vector.broadcast %s : f32 to vector<f32>
    %v = vector.broadcast %n : i8 to vector<i8>
    vector.transfer_write %u, %sum[] : vector<f32>, memref<f32>
    vector.transfer_write %v, %count[] : vector<i8>, memref<i8>
  } {mlopt.schedule = {tile = array<i64: 0, 0>, warps = array<i64: 4>, min_blocks = array<i64: 8>}}
  return
}

// -----

// Windows of 3x3 at every other place: a thread has two results, whose windows begin in one access, of each of four
// rows below each other. Results change hands, so that they are stored 16 bytes at once.
// CHECK-LABEL: @overlapping
// CHECK: vector.transfer_read {{.*}}mlopt.layout = "reg 4:(0,1,0) 2:(0,0,1) lane 16:(0,0,2) 2:(0,4,0) warp 2:(0,8,0)"
// CHECK: "mlopt.convert_layout"(%{{.*}}) {mlopt.layout = "reg {{.*}}4:(0,0,1) lane 8:(0,0,4)
func.func private @overlapping(%x: memref<8x32x2x32x2xf32>, %out: memref<8x32x32xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %pad = arith.constant 0xFF800000 : f32
  %low = arith.constant dense<0xFF800000> : vector<1x16x32xf32>
  scf.forall (%n, %i) = (0, 0) to (8, 32) step (1, 16) {
    %m = scf.for %k = %c0 to %c3 step %c1 iter_args(%a = %low) -> (vector<1x16x32xf32>) {
      %r = scf.for %l = %c0 to %c3 step %c1 iter_args(%b = %a) -> (vector<1x16x32xf32>) {
        %row = affine.apply affine_map<(d0, d1) -> (d0 + (d1 + 1) floordiv 2 - 1)>(%i, %k)
        %odd = affine.apply affine_map<(d0) -> ((d0 + 1) mod 2)>(%k)
        %column = affine.apply affine_map<(d0) -> ((d0 + 1) floordiv 2 - 1)>(%l)
        %right = affine.apply affine_map<(d0) -> ((d0 + 1) mod 2)>(%l)
        %v = vector.transfer_read %x[%n, %row, %odd, %column, %right], %pad {in_bounds = [true, false, false], permutation_map = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3)>} : memref<8x32x2x32x2xf32>, vector<1x16x32xf32>
        %y = arith.maximumf %b, %v : vector<1x16x32xf32>
        scf.yield %y : vector<1x16x32xf32>
      }
      scf.yield %r : vector<1x16x32xf32>
    }
    vector.transfer_write %m, %out[%n, %i, %c0] {in_bounds = [true, true, true]} : vector<1x16x32xf32>, memref<8x32x32xf32>
  } {mlopt.schedule = {tile = array<i64: 1, 16, 0, 1, 1>, warps = array<i64: 2>, min_blocks = array<i64: 4>}}
  return
}

// Columns that are scanned: a thread has neighbouring rows of its four columns, then come lanes, then warps.
// CHECK-LABEL: @running
// CHECK: vector.transfer_read {{.*}} mlopt.layout = "reg 2:(1,0) 4:(0,1) lane 8:(0,4) 4:(2,0) warp 4:(8,0)"
// CHECK: vector.scan {{.*}} mlopt.layout = ["reg 2:(1,0) 4:(0,1) lane 8:(0,4) 4:(2,0) warp 4:(8,0)", "reg 4:(1) lane 8:(4) 4:(0) warp 4:(0)"]
func.func private @running(%x: memref<32x96xf32>, %out: memref<32x96xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<32xf32>
  scf.forall (%i) = (0) to (96) step (32) {
    %v = vector.transfer_read %x[%c0, %i], %pad {in_bounds = [true, true]} : memref<32x96xf32>, vector<32x32xf32>
    %s, %all = vector.scan <add>, %v, %zero {inclusive = true, reduction_dim = 0 : i64} : vector<32x32xf32>, vector<32xf32>
    vector.transfer_write %s, %out[%c0, %i] {in_bounds = [true, true]} : vector<32x32xf32>, memref<32x96xf32>
  } {mlopt.schedule = {tile = array<i64: 0, 32>, warps = array<i64: 4>}}
  return
}
