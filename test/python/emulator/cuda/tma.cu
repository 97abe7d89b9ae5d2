// Copies in bulk and by tensor maps, clusters: what sm_90 has, in inline PTX.
#include <cuda_fp16.h>
#include "hopper.cuh"

// y = 2 x, 64 by 64 halves at a time, swizzled by 128 bytes.
extern "C" __global__ void twice(const __grid_constant__ Map x, const __grid_constant__ Map y) {
  __shared__ __align__(1024) __half tile[64 * 64];
  __shared__ __align__(8) uint64_t bar;
  int t = threadIdx.x, column = blockIdx.x * 64, row = blockIdx.y * 64;
  if (t == 0) {
    init(&bar, 1);
    initialised();
  }
  __syncthreads();
  if (t == 0) {
    expect(&bar, sizeof(tile));
    load(tile, &x, column, row, &bar);
  }
  wait(&bar, 0);
  for (int i = t; i < 64 * 64; i += blockDim.x) tile[i] = tile[i] + tile[i];
  fence();
  __syncthreads();
  if (t == 0) {
    store(&y, column, row, tile);
    commit();
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
  }
}

// The sums of rows of f32: a producer warp loads stages of 32 columns by 64 rows, two warps add them up.
extern "C" __global__ void rows(const __grid_constant__ Map x, float *y, int steps) {
  extern __shared__ __align__(1024) char space[];
  float *stage = (float *)space;
  uint64_t *full = (uint64_t *)(space + 3 * 64 * 128), *empty = full + 3;
  int t = threadIdx.x;
  if (t == 0) {
    for (int i = 0; i < 3; i++) {
      init(full + i, 1);
      init(empty + i, 2);
    }
    initialised();
  }
  __syncthreads();
  if (t >= 64) {
    if (t == 64)
      for (int i = 0; i < steps; i++) {
        int s = i % 3, turn = i / 3;
        wait(empty + s, (turn & 1) ^ 1);
        expect(full + s, 64 * 128);
        load(stage + s * 64 * 32, &x, i * 32, blockIdx.x * 64, full + s);
      }
  } else {
    float sum = 0;
    for (int i = 0; i < steps; i++) {
      int s = i % 3, turn = i / 3;
      wait(full + s, turn & 1);
      for (int c = 0; c < 8; c++) {
        float4 v = *(float4 *)(stage + s * 64 * 32 + t * 32 + 4 * (c ^ (t & 7)));
        sum += v.x + v.y + v.z + v.w;
      }
      fence();
      __syncwarp();
      if ((t & 31) == 0) arrive(empty + s);
    }
    y[blockIdx.x * 64 + t] = sum;
  }
}

// Every block of a cluster of 2 loads half of a tile for both; each adds the whole of it to y.
extern "C" __global__ void __cluster_dims__(2, 1, 1) shared_by_two(const __grid_constant__ Map x, float *y) {
  __shared__ __align__(1024) float tile[32 * 32];
  __shared__ __align__(8) uint64_t bar;
  int t = threadIdx.x, rank = blockIdx.x & 1;
  if (t == 0) {
    init(&bar, 1);
    initialised();
    expect(&bar, sizeof(tile));
  }
  asm volatile("barrier.cluster.arrive.relaxed.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
  if (t == 0)
    load_for(3, tile + rank * 16 * 32, &x, 0, blockIdx.x / 2 * 32 + rank * 16, &bar);
  wait(&bar, 0);
  y[blockIdx.x * 1024 + t * 4] = tile[t * 4];
  for (int i = 1; i < 4; i++) y[blockIdx.x * 1024 + t * 4 + i] = tile[t * 4 + i];
  cluster_barrier();
}

// One dimension without a map: x goes through shared memory, doubled, and is added to y.
extern "C" __global__ void plain(const float *x, float *y) {
  __shared__ __align__(16) float tile[256];
  __shared__ __align__(8) uint64_t bar;
  int t = threadIdx.x;
  if (t == 0) init(&bar, 1);
  __syncthreads();
  if (t == 0) {
    expect(&bar, sizeof(tile));
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(address(tile)),
                 "l"(x + blockIdx.x * 256), "r"((int)sizeof(tile)), "r"(address(&bar))
                 : "memory");
  }
  wait(&bar, 0);
  tile[t] *= 2;
  fence();
  __syncthreads();
  if (t == 0) {
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(y), "r"(address(tile)), "r"((int)sizeof(tile))
                 : "memory");
    commit();
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
}

// A block sends its numbers to the next one of the cluster.
extern "C" __global__ void __cluster_dims__(4, 1, 1) passes_on(int *y) {
  __shared__ __align__(16) int mine[64], theirs[64];
  __shared__ __align__(8) uint64_t bar;
  int t = threadIdx.x, rank = blockIdx.x & 3;
  if (t == 0) {
    init(&bar, 1);
    expect(&bar, sizeof(theirs));
  }
  mine[t] = rank * 100 + t;
  fence();
  cluster_barrier();
  if (t == 0) {
    uint32_t to, at;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(to) : "r"(address(theirs)), "r"((rank + 1) & 3));
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(at) : "r"(address(&bar)), "r"((rank + 1) & 3));
    asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to), "r"(address(mine)),
                 "r"((int)sizeof(mine)), "r"(at)
                 : "memory");
  }
  wait(&bar, 0);
  y[blockIdx.x * 64 + t] = theirs[t];
  cluster_barrier();
}

// Pixels of an image of 4 dimensions, by im2col: 32 pixels of 16 channels at an offset of the filter.
extern "C" __global__ void filter(const __grid_constant__ Map x, __half *y, int w, int h, int n) {
  __shared__ __align__(128) __half tile[32 * 16];
  __shared__ __align__(8) uint64_t bar;
  int t = threadIdx.x;
  if (t == 0) init(&bar, 1);
  __syncthreads();
  if (t == 0) {
    expect(&bar, sizeof(tile));
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5}], [%6], {%7, %8};" ::"r"(
            address(tile)),
        "l"(&x), "r"(0), "r"(w), "r"(h), "r"(n), "r"(address(&bar)), "h"((short)(blockIdx.x % 3)), "h"((short)(blockIdx.x / 3))
        : "memory");
  }
  wait(&bar, 0);
  for (int i = t; i < 32 * 16; i += blockDim.x) y[blockIdx.x * 512 + i] = tile[i];
}
