// Reductions, scans and rows: warp shuffles, shared memory, votes, atomics on floats.
#include <cuda_fp16.h>

__device__ __forceinline__ float warp_sum(float v) {
  for (int d = 16; d; d >>= 1) v += __shfl_down_sync(~0u, v, d);
  return v;
}

extern "C" __global__ void sum(const float *x, float *out, int n) {
  __shared__ float parts[32];
  float v = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += x[i];
  v = warp_sum(v);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x < 32) {
    v = threadIdx.x < blockDim.x / 32 ? parts[threadIdx.x] : 0.f;
    v = warp_sum(v);
    if (threadIdx.x == 0) atomicAdd(out, v);
  }
}

// An inclusive scan of a row of at most blockDim.x numbers: Hillis and Steele, two buffers.
extern "C" __global__ void scan(const int *x, int *y, int n) {
  extern __shared__ int s[];
  int t = threadIdx.x, from = 0;
  s[t] = t < n ? x[blockIdx.x * n + t] : 0;
  __syncthreads();
  for (int d = 1; d < blockDim.x; d *= 2) {
    int v = s[from * blockDim.x + t];
    if (t >= d) v += s[from * blockDim.x + t - d];
    from ^= 1;
    s[from * blockDim.x + t] = v;
    __syncthreads();
  }
  if (t < n) y[blockIdx.x * n + t] = s[from * blockDim.x + t];
}

extern "C" __global__ void softmax(const float *__restrict__ x, float *y, int n) {
  __shared__ float parts[33];
  const float *row = x + (size_t)blockIdx.x * n;
  float m = -INFINITY, t = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) m = fmaxf(m, row[i]);
  for (int d = 16; d; d >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, d));
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = m;
  __syncthreads();
  m = parts[0];
  for (int w = 1; w < blockDim.x / 32; w++) m = fmaxf(m, parts[w]);
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) t += expf(row[i] - m);
  for (int d = 16; d; d >>= 1) t += __shfl_xor_sync(~0u, t, d);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = t;
  __syncthreads();
  t = parts[0];
  for (int w = 1; w < blockDim.x / 32; w++) t += parts[w];
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[(size_t)blockIdx.x * n + i] = expf(row[i] - m) / t;
}

// Layer norm in double, one warp a row; the warp leaves early where there is no row.
extern "C" __global__ void layer_norm(const __half *x, const float *w, const float *b, __half *y, int rows, int n) {
  int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  double s = 0, q = 0;
  for (int i = lane; i < n; i += 32) {
    double v = __half2float(x[row * n + i]);
    s += v;
    q += v * v;
  }
  for (int d = 16; d; d >>= 1) {
    s += __shfl_xor_sync(~0u, s, d);
    q += __shfl_xor_sync(~0u, q, d);
  }
  double mean = s / n, scale = rsqrt(q / n - mean * mean + 1e-5);
  for (int i = lane; i < n; i += 32)
    y[row * n + i] = __float2half((__half2float(x[row * n + i]) - mean) * scale * w[i] + b[i]);
}

// Keeps what is positive, in order within each warp; counts by ballot and a shared atomic.
extern "C" __global__ void compact(const int *x, int *y, int *count, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, v = i < n ? x[i] : 0;
  unsigned kept = __ballot_sync(~0u, v > 0);
  int base = 0;
  if (threadIdx.x % 32 == 0) base = atomicAdd(count, __popc(kept));
  base = __shfl_sync(~0u, base, 0);
  if (v > 0) y[base + __popc(kept & ((1u << threadIdx.x % 32) - 1))] = v;
}

extern "C" __global__ void votes(const int *x, int *out) {
  int t = threadIdx.x, v = x[t];
  out[t] = __syncthreads_count(v & 1);
  out[blockDim.x + t] = __syncthreads_and(v >= 0) * 2 + __syncthreads_or(v > 90);
  out[2 * blockDim.x + t] = __match_any_sync(~0u, v % 4);
  out[3 * blockDim.x + t] = __reduce_add_sync(~0u, v);
  out[4 * blockDim.x + t] = __reduce_max_sync(~0u, v);
  if (v % 2) out[5 * blockDim.x + t] = __activemask();
}
