// What goes wrong is said in words, with the place, and makes the exit status 1.
// RUN: not mlopt-opt %s --pass-pipeline='builtin.module(cse // no end)' 2>&1 | FileCheck %s --check-prefix=COMMA
// RUN: not mlopt-opt %s --pass-pipeline='builtin.module(mlopt-verify,canonicalise)' 2>&1 | FileCheck %s --check-prefix=UPSTREAM
// RUN: not mlopt-opt %s --load-pass-plugin=%S/Inputs/planted.py --pass-pipeline='builtin.module(mlopt-test-nte)' 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not mlopt-opt %s --load-pass-plugin=%S/Inputs/planted.py --pass-pipeline='builtin.module(func.func(mlopt-test-note{siz=3}))' 2>&1 | FileCheck %s --check-prefix=OPTION
// RUN: not mlopt-opt %s --load-pass-plugin=%S/Inputs/planted.py --pass-pipeline='builtin.module(func.func(mlopt-test-note{size=x}))' 2>&1 | FileCheck %s --check-prefix=TYPE
// RUN: not mlopt-opt %s --load-pass-plugin=%S/Inputs/planted.py --pass-pipeline='builtin.module(mlopt-test-note)' 2>&1 | FileCheck %s --check-prefix=NEST
// RUN: not mlopt-opt %s --load-pass-plugin=%S/Inputs/planted.py --pass-pipeline='builtin.module(cse,func.func(cse,mlopt-test-refuse))' 2>&1 | FileCheck %s --check-prefix=REFUSE
// RUN: not mlopt-opt %s --load-pass-plugin=%S/Inputs/planted.py --pass-pipeline='builtin.module(mlopt-test-raise)' 2>&1 | FileCheck %s --check-prefix=BUG
// RUN: not mlopt-opt %s --load-pass-plugin=%S/Inputs/planted.py --pass-pipeline='builtin.module(func.func(mlopt-test-break,cse))' 2>&1 | FileCheck %s --check-prefix=INVALID
// RUN: not mlopt-opt %s --load-pass-plugin=%S/Inputs/misdeclared.py --test-required 2>&1 | FileCheck %s --check-prefix=REQUIRED
// RUN: not mlopt-opt %s --load-pass-plugin=%S/Inputs/misdeclared.py --test-union=size=3 2>&1 | FileCheck %s --check-prefix=UNION
// RUN: not mlopt-opt %s --load-pass-plugin=%S/Inputs/misdeclared.py --cse 2>&1 | FileCheck %s --check-prefix=TAKEN
// RUN: not mlopt-opt %s --load-pass-plugin=%S/Inputs/same_name.py 2>&1 | FileCheck %s --check-prefix=OWN
// RUN: not mlopt-opt %s --load-pass-plugin=%S/Inputs/misdeclared.py --test-requird 2>&1 | FileCheck %s --check-prefix=FLAG
// RUN: not mlopt-opt %s --load-pass-plugin=%S/Inputs/misdeclared.py --pass-pipeline='builtin.module(func.func(sccp),test-requird)' 2>&1 | FileCheck %s --check-prefix=NEAR
// RUN: not mlopt-opt %s.no-such-file 2>&1 | FileCheck %s --check-prefix=FILE
// RUN: not mlopt-opt %s --load-pass-plugin=%s.py 2>&1 | FileCheck %s --check-prefix=PLUGIN
// RUN: echo 'func.func @f() { return %%x : i32 }' | not mlopt-opt 2>&1 | FileCheck %s --check-prefix=PARSE

// COMMA: expected ',' or ')'
// COMMA-NEXT: builtin.module(cse // no end)
// COMMA-NEXT: {{^ +\^}}
// UPSTREAM: 'canonicalise' does not refer to a registered pass or pass pipeline
// NAME: unknown pass 'mlopt-test-nte'; did you mean 'mlopt-test-note'
// OPTION: mlopt-test-note: no option 'siz'; did you mean 'size'
// TYPE: mlopt-test-note: option 'size' takes a value of type int, not 'x'
// NEST: 'mlopt-test-note' runs on 'func.func', not on 'builtin.module'; write func.func(mlopt-test-note)
// REFUSE: opt-errors.mlir:[[#@LINE+24]]:1: error: this function is refused
// REFUSE-NEXT: func.func @f
// REFUSE-NEXT: ^
// REFUSE-NEXT: mlopt-opt: pass mlopt-test-refuse failed; all of the IR is in {{.*}}.mlir
// BUG: opt-errors.mlir:0:0: error: pass mlopt-test-raise raised KeyError: 'a bug in a pass'
// BUG-NEXT: File "{{.*}}planted.py", line
// BUG-NEXT: raise KeyError("a bug in a pass")
// BUG-NEXT: mlopt-opt: pass mlopt-test-raise has a bug; all of the IR is in {{.*}}.mlir
// INVALID: error: 'func.func' op entry block
// INVALID-NOT: see current operation
// INVALID: invalid IR after pass mlopt-test-break; all of the IR is in {{.*}}.mlir
// REQUIRED: error: test-required: {{.*}} missing 1 required positional argument: 'size'
// REQUIRED-NOT: func.func
// UNION: error: test-union: option 'size' is declared as int | None; write bool, int, float, str or tuple
// UNION-NOT: func.func
// TAKEN: mlopt-opt: error: MLIR has a pass called 'cse': give yours another name
// OWN: calls a pass 'mlopt-fuse', as mlopt does: give it another name
// FLAG: Unknown command line argument '--test-requird'
// FLAG-NEXT: Did you mean '--test-required'?
// NEAR: mlopt-opt: error: unknown pass 'test-requird'; did you mean 'test-required'
// FILE: cannot open input file '{{.*}}.no-such-file': No such file or directory
// PLUGIN: not a Python file that can be read
// PARSE: <stdin>:1:25: error: use of undeclared SSA value

func.func @f(%a: i32) -> i32 {
  return %a : i32
}
