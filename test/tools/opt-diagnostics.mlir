// Expected messages: each comes, at its line, in each part of a split file.
// RUN: mlopt-opt %s --split-input-file --verify-diagnostics --load-pass-plugin=%S/Inputs/planted.py --pass-pipeline='builtin.module(func.func(mlopt-test-refuse))'
// One that is missing and one too many are reported.
// RUN: not mlopt-opt %S/Inputs/wrong.mlir --verify-diagnostics --load-pass-plugin=%S/Inputs/planted.py --pass-pipeline='builtin.module(func.func(mlopt-test-refuse))' 2>&1 | FileCheck %s
// CHECK: wrong.mlir:4:1: error: unexpected error: this function is refused
// CHECK: wrong.mlir:1:4: error: expected error "something else" was not produced
// Without a check the parts that pass are printed, as mlir-opt does.
// RUN: not mlopt-opt %s --split-input-file --load-pass-plugin=%S/Inputs/planted.py --pass-pipeline='builtin.module(func.func(mlopt-test-refuse))' 2>/dev/null | FileCheck %s --check-prefix=PARTS
// PARTS-NOT: func
// PARTS: // -----
// PARTS-NOT: func
// PARTS: {{^}}module {

// expected-error@+1 {{this function is refused}}
func.func @f() { return }

// -----

func.func @g() { return } // expected-error {{refused}}

// -----

// expected-error-re @below {{this {{f[a-z]*}} is}}
func.func @h() { return }

// -----

func.func @parse() {
  return %x : i32 // expected-error {{use of undeclared SSA value}}
}

// -----

module {} // nothing to refuse
