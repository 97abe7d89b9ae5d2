// The mlopt dialect. `mlir-opt --irdl-file=mlopt.irdl.mlir` reads this file too.
//
// Operations declared here have no effects that upstream passes know of, so they are
// leaves that a pass of ours rewrites away, and they live only between passes of ours.
// All else that mlopt says about IR is a discardable `mlopt.*` attribute on upstream
// operations: see attributes.py.
irdl.dialect @mlopt {
}
