// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-outline)' --split-input-file --verify-diagnostics

#id = affine_map<(d0) -> (d0)>

// expected-error @+1 {{the groups depend on each other in a circle}}
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>)
      outs(%e : tensor<8xf32>) attrs = {mlopt.group = 0 : i64} {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.negf %in : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  %b = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%a : tensor<8xf32>)
      outs(%e : tensor<8xf32>) attrs = {mlopt.group = 1 : i64} {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.negf %in : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  %c = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%b : tensor<8xf32>)
      outs(%e : tensor<8xf32>) attrs = {mlopt.group = 0 : i64} {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.negf %in : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  return %c : tensor<8xf32>
}

// -----

// expected-error @+1 {{a result of type f32 cannot be returned; return a tensor}}
func.func @main(%x: tensor<f32>) -> f32 {
  %v = tensor.extract %x[] : tensor<f32>
  return %v : f32
}

// -----

// expected-error @+1 {{a function must have one block; lower its control flow to scf first}}
func.func @main(%c: i1, %x: tensor<4xf32>) -> tensor<4xf32> {
  cf.br ^bb1
^bb1:
  return %x : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<8xf32>, %n: tensor<i64>) -> tensor<?xf32> {
  // expected-error @+1 {{the size of a result depends on tensor.extract, and not on the sizes of the arguments alone}}
  %v = tensor.extract %n[] : tensor<i64>
  %i = arith.index_cast %v : i64 to index
  %s = tensor.extract_slice %x[0] [%i] [1] : tensor<8xf32> to tensor<?xf32>
  return %s : tensor<?xf32>
}

// -----

// expected-error @+1 {{the size of a result depends on the value of an argument}}
func.func @main(%x: tensor<8xf32>, %n: index) -> tensor<?xf32> {
  %s = tensor.extract_slice %x[0] [%n] [1] : tensor<8xf32> to tensor<?xf32>
  return %s : tensor<?xf32>
}

// -----

func.func @main(%x: tensor<8xf32>, %p: tensor<i1>) -> tensor<?xf32> {
  // expected-error @+1 {{the size of a result depends on tensor.extract, and not on the sizes of the arguments alone}}
  %b = tensor.extract %p[] : tensor<i1>
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %n = arith.select %b, %c4, %c8 : index
  %s = tensor.extract_slice %x[0] [%n] [1] : tensor<8xf32> to tensor<?xf32>
  return %s : tensor<?xf32>
}
