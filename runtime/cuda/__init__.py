"""Running GPU programs: the device, its limits, launches through MLIR's CUDA runtime."""
