// A pipeline with mbarriers: half of the warps copy, the others add up; two stages.
#include <stdint.h>

__device__ __forceinline__ uint32_t address(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }

__device__ __forceinline__ void wait(uint32_t bar, uint32_t parity) {
  asm volatile("{\n\t.reg .pred P1;\n\tLAB_WAIT:\n\t"
               "mbarrier.test_wait.parity.shared::cta.b64 P1, [%0], %1;\n\t@P1 bra DONE;\n\tbra LAB_WAIT;\n\tDONE:\n\t}" ::"r"(bar), "r"(parity));
}

extern "C" __global__ void pipeline(const float *x, float *out, int steps) {
  __shared__ __align__(8) uint64_t full[2], empty[2];
  __shared__ __align__(16) float stage[2][256];
  int t = threadIdx.x;
  if (t == 0)
    for (int i = 0; i < 2; i++) {
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 64;" ::"r"(address(&full[i])));
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 64;" ::"r"(address(&empty[i])));
    }
  __syncthreads();
  if (t < 64) {
    for (int i = 0; i < steps; i++) {
      int s = i & 1;
      if (i >= 2) wait(address(&empty[s]), ((i >> 1) - 1) & 1);
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address(&stage[s][t * 4])), "l"(x + i * 256 + t * 4));
      asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(address(&full[s])));
    }
  } else {
    float v = 0;
    for (int i = 0; i < steps; i++) {
      int s = i & 1;
      wait(address(&full[s]), (i >> 1) & 1);
      for (int j = 0; j < 4; j++) v += stage[s][(t - 64) + 64 * j] * (j + 1);
      asm volatile("{\n\t.reg .b64 st;\n\tmbarrier.arrive.shared::cta.b64 st, [%0];\n\t}" ::"r"(address(&empty[s])));
    }
    out[t - 64] = v;
  }
}

// The same with named barriers: 64 threads produce for 64 that consume.
extern "C" __global__ void named(const float *x, float *out, int steps) {
  __shared__ float stage[64];
  int t = threadIdx.x;
  if (t < 64) {
    for (int i = 0; i < steps; i++) {
      if (i) asm volatile("bar.sync 2, 128;");
      stage[t] = x[i * 64 + t];
      __threadfence_block();
      asm volatile("bar.arrive 1, 128;");
    }
  } else {
    float v = 0;
    for (int i = 0; i < steps; i++) {
      asm volatile("bar.sync 1, 128;");
      v += stage[127 - t];
      if (i + 1 < steps) asm volatile("bar.arrive 2, 128;");
    }
    out[t - 64] = v;
  }
}
