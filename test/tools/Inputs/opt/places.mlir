func.func @f(%a: i32 loc("arg.py":3:1)) -> i32 {
  %0 = arith.addi %a, %a : i32 loc("a name"("body.py":7:2))
  return %0 : i32 loc(fused["x.py":1:1, "y.py":2:2])
} loc(callsite("callee" at "caller.py":9:9))
