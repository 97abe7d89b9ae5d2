// Transposes, histograms, local and constant memory, recursion, calls through pointers.
#include <assert.h>
#include <stdio.h>

extern "C" __global__ void transpose_conflicts(const float *x, float *y, int rows, int columns) {
  __shared__ float tile[32][32];
  int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
  if (r < rows && c < columns) tile[threadIdx.y][threadIdx.x] = x[r * columns + c];
  __syncthreads();
  c = blockIdx.y * 32 + threadIdx.x, r = blockIdx.x * 32 + threadIdx.y;
  if (r < columns && c < rows) y[r * rows + c] = tile[threadIdx.x][threadIdx.y];
}

extern "C" __global__ void transpose_padded(const float *x, float *y, int rows, int columns) {
  __shared__ float tile[32][33];
  int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
  if (r < rows && c < columns) tile[threadIdx.y][threadIdx.x] = x[r * columns + c];
  __syncthreads();
  c = blockIdx.y * 32 + threadIdx.x, r = blockIdx.x * 32 + threadIdx.y;
  if (r < columns && c < rows) y[r * rows + c] = tile[threadIdx.x][threadIdx.y];
}

extern "C" __global__ void histogram(const int *x, int *counts, int n) {
  __shared__ int s[64];
  if (threadIdx.x < 64) s[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&s[x[i] & 63], 1);
  __syncthreads();
  if (threadIdx.x < 64) atomicAdd(&counts[threadIdx.x], s[threadIdx.x]);
}

__constant__ int primes[8] = {2, 3, 5, 7, 11, 13, 17, 19};
__device__ int calls;

extern "C" __global__ void local_array(const int *x, int *y, int n) {
  int own[16];
  int t = threadIdx.x;
  for (int i = 0; i < 16; i++) own[(i * 5 + t) & 15] = x[t] * primes[i & 7];
  int s = 0;
  for (int i = 0; i < n; i++) s += own[x[i] & 15];
  y[t] = s;
}

__device__ __noinline__ int fibonacci(int n) {
  if (n < 2) return n;
  return fibonacci(n - 1) + fibonacci(n - 2);
}

extern "C" __global__ void recursion(int *y) {
  y[threadIdx.x] = fibonacci(threadIdx.x & 7);
  atomicAdd(&calls, 1);
  __syncthreads();
  if (threadIdx.x == 0) y[blockDim.x] = calls;
}

__device__ __noinline__ int twice(int v) { return 2 * v; }
__device__ __noinline__ int square(int v) { return v * v; }
__device__ __noinline__ int minus(int v) { return -v; }
__device__ int (*const table[3])(int) = {twice, square, minus};

extern "C" __global__ void pointers(const int *x, int *y) {
  int t = threadIdx.x;
  y[t] = table[x[t] % 3](x[t]);
}

extern "C" __global__ void switches(const int *x, int *y) {
  int t = threadIdx.x, v = x[t];
  switch (v) {
  case 0: y[t] = 17; break;
  case 1: y[t] = v * t; break;
  case 2: y[t] = x[t ^ 1]; break;
  case 3: y[t] = v - t; break;
  case 4: y[t] = t / (v + 1); break;
  case 5: y[t] = t % v; break;
  case 6: y[t] = ~t; break;
  default: y[t] = -1;
  }
}

// A lock that one thread of a warp holds while the others spin: needs independent threads.
extern "C" __global__ void spin(int *lock, int *counter) {
  bool done = false;
  while (!done) {
    if (atomicCAS(lock, 0, 1) == 0) {
      *(volatile int *)counter = *(volatile int *)counter + 1;
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    }
  }
}

extern "C" __global__ void doubles(const double *x, double *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    y[i] = sin(x[i]);
    y[n + i] = exp(x[i] / 64);
    y[2 * n + i] = fma(x[i], x[i], -1.0);
    y[3 * n + i] = log(fabs(x[i]));
    y[4 * n + i] = tanh(x[i] / 8);
    y[5 * n + i] = pow(fabs(x[i]), 0.3);
    y[6 * n + i] = (double)(long long)(x[i] * 1e6) / 7.0;
    y[7 * n + i] = erf(x[i] / 16);
  }
}

extern "C" __global__ void integers(const long long *x, const long long *z, long long *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    y[i] = x[i] / z[i];
    y[n + i] = x[i] % z[i];
    y[2 * n + i] = __mul64hi(x[i], z[i]);
    y[3 * n + i] = (unsigned)x[i] / ((unsigned)z[i] | 1u);
    y[4 * n + i] = __clzll(x[i]) + 100 * __popcll(x[i]) + 10000 * __ffsll(x[i]);
    y[5 * n + i] = __brevll(x[i]);
    y[6 * n + i] = (long long)__umulhi((unsigned)x[i], (unsigned)z[i]) + (short)x[i] * (signed char)z[i];
    y[7 * n + i] = __funnelshift_l((unsigned)x[i], (unsigned)z[i], 13) ^ __byte_perm((unsigned)x[i], (unsigned)z[i], 0x6240);
  }
}

extern "C" __global__ void prints(const int *x, int *y) {
  int t = threadIdx.x;
  if (x[t] > 5) y[t] = printf("thread %d has %5.2f%% of %s, %llx\n", t, x[t] / 8.0, "it", 1ull << 40 | t);
  else y[t] = 0;
}

extern "C" __global__ void asserts(const int *x) { assert(x[threadIdx.x] > 0); }
