// expected-error@below {{something else}}


func.func @f() { return }
