// expected-error@below {{something else}}
func.func @first() -> i32 {
  return %b : i32
}
