// Products on the tensor cores of sm_90: operands come by tensor maps, swizzled by 128 bytes, in inline PTX.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include "hopper.cuh"

// Of a tile with rows of 128 bytes: `leading` and `stride` are bytes.
__device__ __forceinline__ uint64_t descriptor(const void *tile, uint64_t leading, uint64_t stride) {
  return (uint64_t)(address(tile) >> 4 & 0x3fff) | leading >> 4 << 16 | stride >> 4 << 32 | (uint64_t)1 << 62;
}

__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

#define ONE(d, u) "%" #d #u ", "
#define TEN(d) ONE(d, 0) ONE(d, 1) ONE(d, 2) ONE(d, 3) ONE(d, 4) ONE(d, 5) ONE(d, 6) ONE(d, 7) ONE(d, 8) ONE(d, 9)
#define NAMES16 TEN() ONE(1, 0) ONE(1, 1) ONE(1, 2) ONE(1, 3) ONE(1, 4) "%15"
#define NAMES64 TEN() TEN(1) TEN(2) TEN(3) TEN(4) TEN(5) ONE(6, 0) ONE(6, 1) ONE(6, 2) "%63"
#define NAMES128 \
  TEN() TEN(1) TEN(2) TEN(3) TEN(4) TEN(5) TEN(6) TEN(7) TEN(8) TEN(9) TEN(10) TEN(11) ONE(12, 0) ONE(12, 1) ONE(12, 2) ONE(12, 3) ONE(12, 4) ONE(12, 5) ONE(12, 6) "%127"
#define FOUR(how, d, i) how(d[i]), how(d[i + 1]), how(d[i + 2]), how(d[i + 3])
#define SIXTEEN(how, d, i) FOUR(how, d, i), FOUR(how, d, i + 4), FOUR(how, d, i + 8), FOUR(how, d, i + 12)
#define SIXTY_FOUR(how, d, i) SIXTEEN(how, d, i), SIXTEEN(how, d, i + 16), SIXTEEN(how, d, i + 32), SIXTEEN(how, d, i + 48)

// d = a b, plus d if `more`.
__device__ __forceinline__ void wgmma(float (&d)[128], uint64_t a, uint64_t b, int more) {
  asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %130, 0;\n\twgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {" NAMES128 "}, %128, %129, p, 1, 1, 0, 0;\n\t}"
               : SIXTY_FOUR("+f", d, 0), SIXTY_FOUR("+f", d, 64)
               : "l"(a), "l"(b), "r"(more));
}

__device__ __forceinline__ void wgmma(float (&d)[64], uint64_t a, uint64_t b, int more) {
  asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %66, 0;\n\twgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" NAMES64 "}, %64, %65, p, 1, 1, 0, 0;\n\t}"
               : SIXTY_FOUR("+f", d, 0)
               : "l"(a), "l"(b), "r"(more));
}

__device__ __forceinline__ void wgmma_fp8(float (&d)[64], uint64_t a, uint64_t b, int more) {
  asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %66, 0;\n\twgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e5m2 {" NAMES64 "}, %64, %65, p, 1, 1;\n\t}"
               : SIXTY_FOUR("+f", d, 0)
               : "l"(a), "l"(b), "r"(more));
}

// A is in registers, and rows of B lie together; d -= a b.
__device__ __forceinline__ void wgmma_turned(uint32_t (&d)[16], uint32_t (&a)[4], uint64_t b, int more) {
  asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %21, 0;\n\twgmma.mma_async.sync.aligned.m64n64k16.f16.f16.f16 {" NAMES16 "}, {%16, %17, %18, %19}, %20, p, -1, 1, 1;\n\t}"
               : SIXTEEN("+r", d, 0)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(more));
}

// The registers are named, so that the compiler moves no use of them before the wait.
template <int N> __device__ __forceinline__ void wgmma_wait(float (&d)[128]) {
  asm volatile("wgmma.wait_group.sync.aligned %128;" : SIXTY_FOUR("+f", d, 0), SIXTY_FOUR("+f", d, 64) : "n"(N) : "memory");
}

template <int N> __device__ __forceinline__ void wgmma_wait(float (&d)[64]) {
  asm volatile("wgmma.wait_group.sync.aligned %64;" : SIXTY_FOUR("+f", d, 0) : "n"(N) : "memory");
}

template <int N> __device__ __forceinline__ void wgmma_wait(uint32_t (&d)[16]) {
  asm volatile("wgmma.wait_group.sync.aligned %16;" : SIXTEEN("+r", d, 0) : "n"(N) : "memory");
}

__device__ __forceinline__ uint32_t pair(float low, float high) {
  __nv_bfloat162 both = __floats2bfloat162_rn(low, high);
  return *(uint32_t *)&both;
}

constexpr int STAGES = 3, STAGE = (128 + 256) * 128;

// C = A B^T for A of M by K, B of N by K: tiles of 128 by 256, 64 deep. Blocks take tile after tile; one warpgroup
// loads stages, two multiply 64 rows each and store them by stmatrix and a tensor map.
extern "C" __global__ void __launch_bounds__(384, 1)
    gemm(const __grid_constant__ Map a, const __grid_constant__ Map b, const __grid_constant__ Map c, int columns, int tiles, int steps) {
  extern __shared__ __align__(1024) char space[];
  char *out = space + STAGES * STAGE;
  uint64_t *full = (uint64_t *)(out + 128 * 256 * 2), *empty = full + STAGES;
  int t = threadIdx.x, group = __shfl_sync(0xffffffff, t / 128, 0);
  if (t == 0) {
    for (int i = 0; i < STAGES; i++) {
      init(full + i, 1);
      init(empty + i, 2);
    }
    initialised();
  }
  __syncthreads();
  if (group == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (t < 32 && elected()) {
      int s = 0, turn = 0;
      for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x)
#pragma unroll 1
        for (int i = 0; i < steps; i++) {
          wait(empty + s, turn ^ 1);
          expect(full + s, STAGE);
          load(space + s * STAGE, &a, i * 64, tile / columns * 128, full + s);
          load(space + s * STAGE + 128 * 128, &b, i * 64, tile % columns * 256, full + s);
          if (++s == STAGES) s = 0, turn ^= 1;
        }
    }
    return;
  }
  asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
  int own = group - 1, lane = t % 32, warp = t / 32 % 4;
  bool leads = t % 128 == 0;
  int s = 0, turn = 0;
  char *mine = out + own * 64 * 512;  // four boxes of 64 rows of 128 bytes
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    float d[128];
#pragma unroll 1
    for (int i = 0; i < steps; i++) {
      wait(full + s, turn);
      wgmma_fence();
      uint64_t left = descriptor(space + s * STAGE + own * 64 * 128, 16, 1024);
      uint64_t right = descriptor(space + s * STAGE + 128 * 128, 16, 1024);
#pragma unroll
      for (int k = 0; k < 4; k++) wgmma(d, left + 2 * k, right + 2 * k, i + k);
      wgmma_commit();
      if (i) {
        wgmma_wait<1>(d);
        if (leads) arrive(empty + (s + STAGES - 1) % STAGES);
      }
      if (++s == STAGES) s = 0, turn ^= 1;
    }
    wgmma_wait<0>(d);
    if (leads) {
      arrive(empty + (s + STAGES - 1) % STAGES);
      asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    }
    named_barrier(1 + own, 128);
    int row = warp * 16 + lane % 16;
#pragma unroll
    for (int i = 0; i < 16; i++) {  // 16 columns each
      char *at = mine + i / 4 * 64 * 128 + row * 128 + ((i % 4 * 2 + lane / 16) ^ (row & 7)) * 16;
      asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address(at)), "r"(pair(d[8 * i], d[8 * i + 1])),
                   "r"(pair(d[8 * i + 2], d[8 * i + 3])), "r"(pair(d[8 * i + 4], d[8 * i + 5])), "r"(pair(d[8 * i + 6], d[8 * i + 7]))
                   : "memory");
    }
    fence();
    named_barrier(1 + own, 128);
    if (leads) {
      for (int i = 0; i < 4; i++) store(&c, tile % columns * 256 + i * 64, tile / columns * 128 + own * 64, mine + i * 64 * 128);
      commit();
    }
  }
  if (leads) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

// Two blocks of a cluster have tiles of 128 by 128 above each other: each loads its own part of A, and one half of B
// for both. Warps 0 to 7 multiply, warp 8 loads.
extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(288, 1)
    gemm_of_two(const __grid_constant__ Map a, const __grid_constant__ Map b, float *c, int n, int steps) {
  extern __shared__ __align__(1024) char space[];
  constexpr int SIZE = 256 * 128;
  uint64_t *full = (uint64_t *)(space + STAGES * SIZE), *empty = full + STAGES;
  int t = threadIdx.x, rank = blockIdx.x % 2;
  if (t == 0) {
    for (int i = 0; i < STAGES; i++) {
      init(full + i, 1);
      init(empty + i, 4);
    }
    initialised();
  }
  cluster_barrier();
  if (t >= 256) {
    if (elected()) {
#pragma unroll 1
      for (int i = 0; i < steps; i++) {
        int s = i % STAGES, turn = i / STAGES & 1;
        wait_cluster(empty + s, turn ^ 1);
        expect(full + s, SIZE);
        load(space + s * SIZE, &a, i * 64, blockIdx.x * 128, full + s);
        load_for(3, space + s * SIZE + (128 + rank * 64) * 128, &b, i * 64, blockIdx.y * 128 + rank * 64, full + s);
      }
    }
    __syncwarp();
  } else {
    float d[64];
    int group = t / 128;
#pragma unroll 1
    for (int i = 0; i < steps; i++) {
      int s = i % STAGES, turn = i / STAGES & 1;
      wait(full + s, turn);
      wgmma_fence();
#pragma unroll
      for (int k = 0; k < 4; k++)
        wgmma(d, descriptor(space + s * SIZE + group * 64 * 128, 16, 1024) + 2 * k, descriptor(space + s * SIZE + 128 * 128, 16, 1024) + 2 * k, i + k);
      wgmma_commit();
      wgmma_wait<0>(d);
      if (t % 128 < 2) arrive_in(empty + s, t % 128);
    }
    float *row = c + (size_t)(blockIdx.x * 128 + t / 32 * 16 + t % 32 / 4) * n + blockIdx.y * 128 + t % 4 * 2;
#pragma unroll
    for (int i = 0; i < 16; i++)
#pragma unroll
      for (int half = 0; half < 2; half++) *(float2 *)(row + half * 8 * n + 8 * i) = make_float2(d[4 * i + 2 * half], d[4 * i + 2 * half + 1]);
  }
  cluster_barrier();
}

// e4m3 times e5m2: tiles of 64 by 128, 128 deep, one warpgroup that loads two steps ahead.
extern "C" __global__ void __launch_bounds__(128) gemm_fp8(const __grid_constant__ Map a, const __grid_constant__ Map b, float *c, int n, int steps) {
  extern __shared__ __align__(1024) char space[];
  constexpr int SIZE = (64 + 128) * 128;
  uint64_t *full = (uint64_t *)(space + 2 * SIZE);
  int t = threadIdx.x;
  auto fetch = [&](int i) {
    int s = i % 2;
    expect(full + s, SIZE);
    load(space + s * SIZE, &a, i * 128, blockIdx.x * 64, full + s);
    load(space + s * SIZE + 64 * 128, &b, i * 128, blockIdx.y * 128, full + s);
  };
  if (t == 0) {
    init(full, 1);
    init(full + 1, 1);
    initialised();
    for (int i = 0; i < 2 && i < steps; i++) fetch(i);
  }
  __syncthreads();
  float d[64];
#pragma unroll 1
  for (int i = 0; i < steps; i++) {
    int s = i % 2;
    wait(full + s, i / 2 & 1);
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < 4; k++)
      wgmma_fp8(d, descriptor(space + s * SIZE, 16, 1024) + 2 * k, descriptor(space + s * SIZE + 64 * 128, 16, 1024) + 2 * k, i + k);
    wgmma_commit();
    wgmma_wait<0>(d);
    __syncthreads();
    if (t == 0 && i + 2 < steps) fetch(i + 2);
  }
  float *row = c + (size_t)(blockIdx.x * 64 + t / 32 * 16 + t % 32 / 4) * n + blockIdx.y * 128 + t % 4 * 2;
#pragma unroll
  for (int i = 0; i < 16; i++)
#pragma unroll
    for (int half = 0; half < 2; half++) *(float2 *)(row + half * 8 * n + 8 * i) = make_float2(d[4 * i + 2 * half], d[4 * i + 2 * half + 1]);
}

// C -= A B for B of K by N, in f16: A goes through registers by ldmatrix. Tiles of 64 by 64, K is 64.
extern "C" __global__ void __launch_bounds__(128) gemm_turned(const __grid_constant__ Map a, const __grid_constant__ Map b, __half *c, int n) {
  __shared__ __align__(1024) __half left[64 * 64], right[64 * 64];
  __shared__ __align__(8) uint64_t full;
  int t = threadIdx.x, lane = t % 32, warp = t / 32;
  if (t == 0) {
    init(&full, 1);
    initialised();
    expect(&full, sizeof(left) + sizeof(right));
    load(left, &a, 0, blockIdx.x * 64, &full);
    load(right, &b, blockIdx.y * 64, 0, &full);
  }
  uint32_t d[16], *row = (uint32_t *)(c + (size_t)(blockIdx.x * 64 + warp * 16 + lane / 4) * n + blockIdx.y * 64 + lane % 4 * 2);
#pragma unroll
  for (int i = 0; i < 8; i++) {
    d[2 * i] = row[4 * i];
    d[2 * i + 1] = row[4 * i + 8 * n / 2];
  }
  __syncthreads();
  wait(&full, 0);
  uint32_t parts[4][4];
#pragma unroll
  for (int k = 0; k < 4; k++) {
    int at = warp * 16 + lane % 16;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(parts[k][0]), "=r"(parts[k][1]), "=r"(parts[k][2]), "=r"(parts[k][3])
                 : "r"(address(left) + at * 128 + ((2 * k + lane / 16) ^ (at & 7)) * 16));
  }
  wgmma_fence();
#pragma unroll
  for (int k = 0; k < 4; k++) wgmma_turned(d, parts[k], descriptor(right + k * 16 * 64, 16, 1024), 1);
  wgmma_commit();
  wgmma_wait<0>(d);
#pragma unroll
  for (int i = 0; i < 8; i++) {
    row[4 * i] = d[2 * i];
    row[4 * i + 8 * n / 2] = d[2 * i + 1];
  }
}
