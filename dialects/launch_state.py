"""The state of a loaded GPU program: an array of 64-bit words that the object and Python share.

The host object reads the runtime's functions and its kernels from it at each launch, so they
can differ from device to device (and be the emulator's) within one process. This module
imports nothing: the process that launches has no MLIR.
"""

from __future__ import annotations

# The runtime's functions, as libmlir_cuda_runtime.so has them:
#   CUmodule mgpuModuleLoad(void *image, size_t size)
#   CUmodule mgpuModuleLoadJIT(void *image, int level, size_t size)
#   CUfunction mgpuModuleGetFunction(CUmodule, const char *name)
#   void mgpuLaunchKernel(CUfunction, intptr_t gridX, gridY, gridZ, blockX, blockY, blockZ,
#                         int32_t sharedBytes, CUstream, void **params, void **extra, size_t count)
#   void mgpuTensorMapEncodeTiled(CUtensorMap *, int type, uint32_t rank, void *address,
#                                 const uint64_t *sizes, const uint64_t *strides, const uint32_t *box,
#                                 const uint32_t *steps, int interleave, int swizzle, int promotion, int fill)
LOAD, LOAD_JIT, GET_FUNCTION, LAUNCH, ENCODE = 0, 1, 2, 3, 4
RUNTIME_FUNCTIONS = (
    "mgpuModuleLoad", "mgpuModuleLoadJIT", "mgpuModuleGetFunction", "mgpuLaunchKernel",
    "mgpuTensorMapEncodeTiled",
)  # fmt: skip
# The device code (PTX with a NUL at its end, or a cubin), its bytes, and the level at which
# the driver is to compile it, or NO_JIT for a cubin.
IMAGE, SIZE, JIT_LEVEL = 5, 6, 7
NO_JIT = -1
# Written by `mlopt_load`: the CUmodule, and a CUfunction for each kernel.
MODULE, FUNCTIONS = 8, 9
