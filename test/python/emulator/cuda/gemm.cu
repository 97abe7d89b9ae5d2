// GEMM of 128×128×32 tiles: cp.async in two stages, ldmatrix, mma.sync of f16 with f32 sums.
#include <cuda_fp16.h>
#include <stdint.h>

constexpr int BM = 128, BN = 128, BK = 32;

__device__ __forceinline__ void copy16(uint32_t to, const void *from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from));
}

extern "C" __global__ void __launch_bounds__(256) gemm(const __half *A, const __half *B, float *C, int M, int N, int K) {
  __shared__ __align__(16) __half As[2][BM][BK + 8];
  __shared__ __align__(16) __half Bs[2][BK][BN + 8];
  int t = threadIdx.x, lane = t & 31, w = t >> 5, wm = (w >> 2) * 64, wn = (w & 3) * 32;
  int m0 = blockIdx.y * BM, n0 = blockIdx.x * BN;
  float acc[4][4][4] = {};
  auto load = [&](int s, int k0) {
    for (int i = 0; i < 2; i++) {
      int c = t + i * 256, r = c >> 2, q = (c & 3) * 8;
      copy16(__cvta_generic_to_shared(&As[s][r][q]), A + (size_t)(m0 + r) * K + k0 + q);
    }
    for (int i = 0; i < 2; i++) {
      int c = t + i * 256, r = c >> 4, q = (c & 15) * 8;
      copy16(__cvta_generic_to_shared(&Bs[s][r][q]), B + (size_t)(k0 + r) * N + n0 + q);
    }
    asm volatile("cp.async.commit_group;");
  };
  load(0, 0);
  int s = 0;
  for (int k0 = 0; k0 < K; k0 += BK) {
    if (k0 + BK < K) load(s ^ 1, k0 + BK);
    else asm volatile("cp.async.commit_group;");
    asm volatile("cp.async.wait_group 1;");
    __syncthreads();
    for (int kk = 0; kk < BK; kk += 16) {
      uint32_t a[4][4], b[4][2];
      for (int i = 0; i < 4; i++) {
        uint32_t at = __cvta_generic_to_shared(&As[s][wm + i * 16 + (lane & 15)][kk + (lane >> 4) * 8]);
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(a[i][0]), "=r"(a[i][1]), "=r"(a[i][2]), "=r"(a[i][3]) : "r"(at));
      }
      for (int j = 0; j < 4; j++) {
        uint32_t at = __cvta_generic_to_shared(&Bs[s][kk + (lane & 15)][wn + j * 8]);
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];" : "=r"(b[j][0]), "=r"(b[j][1]) : "r"(at));
      }
      for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
          asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
                       : "+f"(acc[i][j][0]), "+f"(acc[i][j][1]), "+f"(acc[i][j][2]), "+f"(acc[i][j][3])
                       : "r"(a[i][0]), "r"(a[i][1]), "r"(a[i][2]), "r"(a[i][3]), "r"(b[j][0]), "r"(b[j][1]));
    }
    __syncthreads();
    s ^= 1;
  }
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) {
      int r = m0 + wm + i * 16 + (lane >> 2), c = n0 + wn + j * 8 + (lane & 3) * 2;
      C[(size_t)r * N + c] = acc[i][j][0];
      C[(size_t)r * N + c + 1] = acc[i][j][1];
      C[(size_t)(r + 8) * N + c] = acc[i][j][2];
      C[(size_t)(r + 8) * N + c + 1] = acc[i][j][3];
    }
}
