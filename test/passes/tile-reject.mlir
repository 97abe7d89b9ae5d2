// RUN: mlopt-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(mlopt-tile)'

// expected-error @+1 {{mlopt.schedule has 3 tile sizes for 1 dims}}
func.func private @sizes(%x: tensor<4xf32>, %out: tensor<4xf32>) -> tensor<4xf32> attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 1, 2, 3>}} {
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf32>) outs(%out : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %y = math.exp %a : f32
    linalg.yield %y : f32
  } -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

// expected-error @+1 {{this cannot be tiled: no tile rule takes tensor.reshape; mark it mlopt.slow}}
func.func private @no_rule(%x: tensor<4xf32>, %s: tensor<2xindex>, %out: tensor<2x2xf32>) -> tensor<2x2xf32> attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 1>}} {
  %r = tensor.reshape %x(%s) : (tensor<4xf32>, tensor<2xindex>) -> tensor<2x2xf32>
  return %r : tensor<2x2xf32>
}

// -----

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
// expected-error @+1 {{mlopt.schedule divides dim 1, of which a task needs all}}
func.func private @divided_row(%x: tensor<4x8xf32>, %out: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 1, 4, 0>}} {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<4xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<4xf32>) -> tensor<4xf32>
  %s = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x8xf32>) outs(%1 : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %y = arith.addf %o, %a : f32
    linalg.yield %y : f32
  } -> tensor<4xf32>
  %e = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x8xf32>) outs(%out : tensor<4x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %y = math.exp %a : f32
    linalg.yield %y : f32
  } -> tensor<4x8xf32>
  %r = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%e, %s : tensor<4x8xf32>, tensor<4xf32>) outs(%out : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %y = arith.divf %a, %b : f32
    linalg.yield %y : f32
  } -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----

#at = affine_map<(b, t, c) -> (b, t)>
#id = affine_map<(b, t, c) -> (b, t, c)>
#bags = affine_map<(b, t, c) -> (b, c)>
// expected-error @+1 {{mlopt.schedule must have 1 for dim 2, made element by element}}
func.func private @whole_steps(%table: tensor<1000x256xf32>, %i: tensor<8x50xi64>, %0: tensor<8x256xf32>) -> tensor<8x256xf32> attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 1, 0, 0>}} {
  %f = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x50x256xf32>
  %g = linalg.generic {indexing_maps = [#at, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%i : tensor<8x50xi64>) outs(%e : tensor<8x50x256xf32>) attrs = {mlopt.op = "gather"} {
  ^bb0(%at: i64, %o: f32):
    %rows = arith.constant 1000 : i64
    %zero = arith.constant 0 : i64
    %ok = arith.cmpi ult, %at, %rows : i64
    cf.assert %ok, "IndexError: index out of range in self"
    %safe = arith.select %ok, %at, %zero : i64
    %row = arith.index_cast %safe : i64 to index
    %column = linalg.index 2 : index
    %v = tensor.extract %table[%row, %column] : tensor<1000x256xf32>
    linalg.yield %v : f32
  } -> tensor<8x50x256xf32>
  %1 = linalg.fill ins(%f : f32) outs(%0 : tensor<8x256xf32>) -> tensor<8x256xf32>
  %r = linalg.generic {indexing_maps = [#id, #bags], iterator_types = ["parallel", "reduction", "parallel"]}
      ins(%g : tensor<8x50x256xf32>) outs(%1 : tensor<8x256xf32>) attrs = {mlopt.op = "sum"} {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %a, %o : f32
    linalg.yield %s : f32
  } -> tensor<8x256xf32>
  return %r : tensor<8x256xf32>
}

// -----

#id = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>
#all = affine_map<(i, j) -> ()>
// expected-error @+1 {{this cannot be tiled: a reduction would be made in steps along some of what it reduces; mark it mlopt.slow}}
func.func private @place_of_all(%x: tensor<4x8xf32>, %m: tensor<f32>, %i: tensor<i64>) -> (tensor<f32>, tensor<i64>) attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 0, 0>}} {
  %least = arith.constant 0xFF800000 : f32
  %2 = tensor.empty() : tensor<4x8xf32>
  %e = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x8xf32>) outs(%2 : tensor<4x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %y = math.exp %a : f32
    linalg.yield %y : f32
  } -> tensor<4x8xf32>
  %0 = tensor.empty() : tensor<8xf32>
  %1 = linalg.fill ins(%least : f32) outs(%0 : tensor<8xf32>) -> tensor<8xf32>
  %top = linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]}
      ins(%e : tensor<4x8xf32>) outs(%1 : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %y = arith.maximumf %o, %a : f32
    linalg.yield %y : f32
  } -> tensor<8xf32>
  %d = linalg.generic {indexing_maps = [#id, #column, #id], iterator_types = ["parallel", "parallel"]}
      ins(%e, %top : tensor<4x8xf32>, tensor<8xf32>) outs(%2 : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %y = arith.subf %a, %b : f32
    linalg.yield %y : f32
  } -> tensor<4x8xf32>
  %zero = arith.constant 0 : i64
  %f = linalg.fill ins(%least : f32) outs(%m : tensor<f32>) -> tensor<f32>
  %g = linalg.fill ins(%zero : i64) outs(%i : tensor<i64>) -> tensor<i64>
  %r:2 = linalg.generic {indexing_maps = [#id, #all, #all], iterator_types = ["reduction", "reduction"]}
      ins(%d : tensor<4x8xf32>) outs(%f, %g : tensor<f32>, tensor<i64>) {
  ^bb0(%a: f32, %v: f32, %w: i64):
    %k = linalg.index 1 : index
    %j = arith.index_cast %k : index to i64
    %c = arith.cmpf ogt, %a, %v : f32
    %y = arith.select %c, %a, %v : f32
    %z = arith.select %c, %j, %w : i64
    linalg.yield %y, %z : f32, i64
  } -> (tensor<f32>, tensor<i64>)
  return %r#0, %r#1 : tensor<f32>, tensor<i64>
}

// -----

#id = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>
#all = affine_map<(i, j) -> ()>
func.func private @steps_in_both(%x: tensor<4x8xf32>, %out: tensor<f32>) -> tensor<f32> attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 2, 2>}} {
  %least = arith.constant 0xFF800000 : f32
  %2 = tensor.empty() : tensor<4x8xf32>
  %e = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x8xf32>) outs(%2 : tensor<4x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %y = math.exp %a : f32
    linalg.yield %y : f32
  } -> tensor<4x8xf32>
  %0 = tensor.empty() : tensor<8xf32>
  %1 = linalg.fill ins(%least : f32) outs(%0 : tensor<8xf32>) -> tensor<8xf32>
  // expected-error @+1 {{loop 0 would be reduced in part: the task is at a part of that dim here}}
  %top = linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]}
      ins(%e : tensor<4x8xf32>) outs(%1 : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %y = arith.maximumf %o, %a : f32
    linalg.yield %y : f32
  } -> tensor<8xf32>
  %d = linalg.generic {indexing_maps = [#id, #column, #id], iterator_types = ["parallel", "parallel"]}
      ins(%e, %top : tensor<4x8xf32>, tensor<8xf32>) outs(%2 : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %y = arith.subf %a, %b : f32
    linalg.yield %y : f32
  } -> tensor<4x8xf32>
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<f32>) -> tensor<f32>
  %r = linalg.generic {indexing_maps = [#id, #all], iterator_types = ["reduction", "reduction"]}
      ins(%d : tensor<4x8xf32>) outs(%f : tensor<f32>) {
  ^bb0(%a: f32, %o: f32):
    %y = arith.addf %o, %a : f32
    linalg.yield %y : f32
  } -> tensor<f32>
  return %r : tensor<f32>
}
