// The mlopt dialect. `mlir-opt --irdl-file=mlopt.irdl.mlir` reads this file too.
//
// Operations declared here have no effects that upstream passes know of, so they are
// leaves that a pass of ours rewrites away, and they live only between passes of ours.
// All else that mlopt says about IR is a discardable `mlopt.*` attribute on upstream
// operations: see attributes.py.
irdl.dialect @mlopt {
  // The same tile in another layout, its mlopt.layout: between mlopt-gpu-assign-layouts and
  // mlopt-gpu-distribute.
  irdl.operation @convert_layout {
    %tile = irdl.base "!builtin.vector"
    irdl.operands(source: %tile)
    irdl.results(result: %tile)
  }
}
