func.func @first() -> i32 {
  return %b : i32 // expected-error {{use of undeclared SSA value name}}
}

// -----

// expected-note@below {{see existing symbol definition here}}
func.func @second() { return }
// expected-error-re@+1 {{redefinition of symbol named '{{[a-z]+}}'}}
func.func @second() { return }
