// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-check-sizes)' --split-input-file | FileCheck %s

// The check stands in front of all that reads the arguments; one for each pair that is not known to be equal.
// CHECK-LABEL: func.func @add
// CHECK-SAME: %[[X:.*]]: tensor<?x4xf32>, %[[Y:.*]]: tensor<?x4xf32>
// CHECK: %[[N:.*]] = tensor.dim %[[X]], %{{.*}}
// CHECK: %[[M:.*]] = tensor.dim %[[Y]], %{{.*}}
// CHECK: %[[SAME:.*]] = arith.cmpi eq, %[[N]], %[[M]] : index
// CHECK: cf.assert %[[SAME]], "RuntimeError: linalg.add at line {{[0-9]+}}, column {{[0-9]+}}: dim 0 of operand 0 and dim 0 of operand 1 differ in size"
// CHECK-NOT: cf.assert
// CHECK: linalg.exp
// CHECK: linalg.add
func.func @add(%x: tensor<?x4xf32>, %y: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x4xf32>
  %e = tensor.empty(%n) : tensor<?x4xf32>
  %p = linalg.exp ins(%x : tensor<?x4xf32>) outs(%e : tensor<?x4xf32>) -> tensor<?x4xf32>
  %r = linalg.add ins(%p, %y : tensor<?x4xf32>, tensor<?x4xf32>) outs(%e : tensor<?x4xf32>) -> tensor<?x4xf32>
  return %r : tensor<?x4xf32>
}

// -----

// A dynamic size beside a static one.
// CHECK-LABEL: func.func @matmul
// CHECK-SAME: %[[X:.*]]: tensor<3x?xf32>
// CHECK: %[[N:.*]] = tensor.dim %[[X]], %{{.*}}
// CHECK: %[[FIVE:.*]] = arith.constant 5 : index
// CHECK: %[[SAME:.*]] = arith.cmpi eq, %[[N]], %[[FIVE]]
// CHECK: cf.assert %[[SAME]], "RuntimeError: linalg.matmul{{.*}}: dim 1 of operand 0 and dim 0 of operand 1 differ in size"
func.func @matmul(%x: tensor<3x?xf32>, %y: tensor<5x4xf32>, %o: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %r = linalg.matmul ins(%x, %y : tensor<3x?xf32>, tensor<5x4xf32>) outs(%o : tensor<3x4xf32>) -> tensor<3x4xf32>
  return %r : tensor<3x4xf32>
}

// -----

// The last window is at (6 - 1) * 2, and ends 2 further.
// CHECK: #[[LAST:.*]] = affine_map<(d0, d1, d2, d3, d4) -> ((d1 - 1) * 2 + d3 - 1)>
// CHECK-LABEL: func.func @window
// CHECK: %[[AT:.*]] = affine.apply #[[LAST]]
// CHECK: %[[N:.*]] = tensor.dim
// CHECK: %[[FITS:.*]] = arith.cmpi slt, %[[AT]], %[[N]]
// CHECK: cf.assert %[[FITS]], "RuntimeError: linalg.conv_1d_nwc_wcf{{.*}}: the windows reach beyond dim 1 of operand 0"
func.func @window(%x: tensor<1x?x2xf32>, %w: tensor<3x2x4xf32>, %o: tensor<1x6x4xf32>) -> tensor<1x6x4xf32> {
  %r = linalg.conv_1d_nwc_wcf {strides = dense<2> : tensor<1xi64>} ins(%x, %w : tensor<1x?x2xf32>, tensor<3x2x4xf32>)
      outs(%o : tensor<1x6x4xf32>) -> tensor<1x6x4xf32>
  return %r : tensor<1x6x4xf32>
}

// -----

// CHECK-LABEL: func.func @shapes
// CHECK-DAG: cf.assert %{{.*}}, "RuntimeError: tensor.cast{{.*}}: dim 0 of the operand is not 6"
// CHECK-DAG: cf.assert %{{.*}}, "RuntimeError: tensor.concat{{.*}}: dim 1 of operand 0 and dim 1 of operand 1 differ in size"
// CHECK-DAG: cf.assert %{{.*}}, "RuntimeError: tensor.expand_shape{{.*}}: dim 0 of the operand is not the product of its parts"
// CHECK-DAG: cf.assert %{{.*}}, "RuntimeError: tensor.extract_slice{{.*}}: the slice reaches beyond dim 0"
// CHECK-DAG: cf.assert %{{.*}}, "RuntimeError: tensor.insert_slice{{.*}}: the slice reaches beyond dim 1"
// CHECK-DAG: cf.assert %{{.*}}, "RuntimeError: tensor.insert_slice{{.*}}: dim 0 of what is inserted differs from its place in size"
func.func @shapes(%x: tensor<?x?xf32>, %y: tensor<?x?xf32>, %n: index)
    -> (tensor<6x?xf32>, tensor<?x?xf32>, tensor<?x2x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %w = tensor.dim %x, %c1 : tensor<?x?xf32>
  %h = tensor.dim %y, %c0 : tensor<?x?xf32>
  %a = tensor.cast %x : tensor<?x?xf32> to tensor<6x?xf32>
  %b = tensor.concat dim(0) %x, %y : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  %c = tensor.expand_shape %x [[0, 1], [2]] output_shape [%n, 2, %w] : tensor<?x?xf32> into tensor<?x2x?xf32>
  %d = tensor.extract_slice %x[2, 0] [%n, %w] [1, 1] : tensor<?x?xf32> to tensor<?x?xf32>
  %e = tensor.insert_slice %x into %y[0, 0] [%h, %w] [1, 1] : tensor<?x?xf32> into tensor<?x?xf32>
  return %a, %b, %c, %d, %e : tensor<6x?xf32>, tensor<?x?xf32>, tensor<?x2x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>
}

// -----

// Also where the front end has shown sizes: torch takes a negative amount for a cut.
// CHECK-LABEL: func.func @pad
// CHECK-SAME: %{{.*}}: tensor<5xf32>, %[[N:.*]]: index
// CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : index
// CHECK: %[[FINE:.*]] = arith.cmpi sge, %[[N]], %[[ZERO]]
// CHECK: cf.assert %[[FINE]], "RuntimeError: tensor.pad{{.*}}: the high padding of dim 0 is negative"
// CHECK-NOT: cf.assert
module attributes {mlopt.sizes_agree} {
  func.func @pad(%x: tensor<5xf32>, %n: index) -> tensor<?xf32> {
    %zero = arith.constant 0.0 : f32
    %r = tensor.pad %x low[2] high[%n] {
    ^bb0(%i: index):
      tensor.yield %zero : f32
    } : tensor<5xf32> to tensor<?xf32>
    return %r : tensor<?xf32>
  }
}
