// A comment that parsing drops.
func.func @constants(%a: i32, %b: index) -> (i32, index) {
  %zero = arith.constant 0 : i32
  %two = arith.constant 2 : index
  %sum = arith.addi %a, %zero : i32
  %same = arith.addi %a, %zero : i32
  %product = arith.muli %sum, %same : i32
  %q = arith.ceildivsi %b, %two : index
  return %product, %q : i32, index
}

func.func private @unused(%x: f32) -> f32 {
  %y = math.tanh %x : f32
  %z = arith.maximumf %x, %y : f32
  return %z : f32
}

func.func @caller(%x: f16) -> f16 {
  %w = arith.extf %x : f16 to f32
  %r = call @unused(%w) : (f32) -> f32
  %t = arith.truncf %r : f32 to f16
  return %t : f16
}
