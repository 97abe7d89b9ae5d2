// Order between blocks: handing over partial sums, a lock, in place or not. Each fault has a fixed twin.

template <bool FENCE, bool ATOMIC>
__device__ void handover(float *out, const float *x, float *part, unsigned *count) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    float sum = 0;
    for (int i = blockIdx.x * 64; i < blockIdx.x * 64 + 64; ++i)
      sum += x[i];
    part[blockIdx.x] = sum;
    if (FENCE)
      __threadfence();
    if (ATOMIC) {
      last = atomicInc(count, gridDim.x - 1) == gridDim.x - 1;
    } else {
      unsigned before = *count;
      *count = before + 1;
      last = before == gridDim.x - 1;
    }
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    float sum = 0;
    for (int i = 0; i < gridDim.x; ++i)
      sum += part[i];
    *out = sum;
  }
}

extern "C" __global__ void handover_fixed(float *out, const float *x, float *part, unsigned *count) {
  handover<true, true>(out, x, part, count);
}

extern "C" __global__ void handover_without_fence(float *out, const float *x, float *part, unsigned *count) {
  handover<false, true>(out, x, part, count);
}

extern "C" __global__ void handover_without_atomic(float *out, const float *x, float *part, unsigned *count) {
  handover<true, false>(out, x, part, count);
}

template <bool FENCE> __device__ void add_under_lock(int *lock, float *sum) {
  if (threadIdx.x == 0) {
    while (atomicCAS(lock, 0, 1)) {
    }
    if (FENCE)
      __threadfence();
    *sum += blockIdx.x + 1.f;
    if (FENCE)
      __threadfence();
    atomicExch(lock, 0);
  }
}

extern "C" __global__ void lock_fixed(int *lock, float *sum) { add_under_lock<true>(lock, sum); }

extern "C" __global__ void lock_without_fence(int *lock, float *sum) { add_under_lock<false>(lock, sum); }

// With y == x, blocks write what their neighbours may not have read yet.
extern "C" __global__ void stencil(float *y, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float mean = i > 0 && i < n - 1 ? (x[i - 1] + x[i + 1]) * 0.5f : 0.f;
  __syncthreads();
  if (i < n)
    y[i] = mean;
}

// With stride < blockDim.x, neighbouring blocks write the same elements.
extern "C" __global__ void fill(float *y, int n, int stride) {
  int i = blockIdx.x * stride + threadIdx.x;
  if (i < n)
    y[i] = i + blockIdx.x;
}
