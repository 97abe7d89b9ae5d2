func.func @first(%a: i32) -> i32 {
  %0 = arith.subi %a, %a : i32
  return %0 : i32
}

// -----

func.func @second() { return }
func.func @second() { return }

// -----

func.func @third(%a: i32) -> i32 {
  return %b : i32
}

// -----

module @named {
  func.func @fourth() {
    return
  }
}
