// Mbarriers, copies by tensor maps and clusters, in inline PTX.
#pragma once
#include <stdint.h>

struct alignas(64) Map {
  char bytes[128];
};

__device__ __forceinline__ uint32_t address(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }

__device__ __forceinline__ void init(uint64_t *bar, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address(bar)), "r"(count) : "memory");
}

__device__ __forceinline__ void initialised() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

__device__ __forceinline__ void expect(uint64_t *bar, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(bar)), "r"(bytes) : "memory");
}

__device__ __forceinline__ void arrive(uint64_t *bar) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address(bar)) : "memory");
}

// In a block of the cluster.
__device__ __forceinline__ void arrive_in(uint64_t *bar, int rank) {
  asm volatile("{\n\t.reg .b32 there;\n\tmapa.shared::cluster.u32 there, %0, %1;\n\tmbarrier.arrive.release.cluster.shared::cluster.b64 _, [there];\n\t}" ::"r"(
                   address(bar)),
               "r"(rank)
               : "memory");
}

__device__ __forceinline__ void wait(uint64_t *bar, int parity) {
  asm volatile("{\n\t.reg .pred p;\n\tL:\n\tmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n\t@!p bra L;\n\t}" ::"r"(address(bar)), "r"(parity)
               : "memory");
}

// With an order for what other blocks of the cluster have done.
__device__ __forceinline__ void wait_cluster(uint64_t *bar, int parity) {
  asm volatile("{\n\t.reg .pred p;\n\tL:\n\tmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], %1;\n\t@!p bra L;\n\t}" ::"r"(address(bar)),
               "r"(parity)
               : "memory");
}

__device__ __forceinline__ void load(void *to, const Map *map, int x, int y, uint64_t *bar) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(address(to)),
               "l"(map), "r"(x), "r"(y), "r"(address(bar))
               : "memory");
}

__device__ __forceinline__ void load_for(uint16_t blocks, void *to, const Map *map, int x, int y, uint64_t *bar) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(
          address(to)),
      "l"(map), "r"(x), "r"(y), "r"(address(bar)), "h"(blocks)
      : "memory");
}

__device__ __forceinline__ void store(const Map *map, int x, int y, const void *from) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map), "r"(x), "r"(y), "r"(address(from))
               : "memory");
}

__device__ __forceinline__ void commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

__device__ __forceinline__ void fence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

__device__ __forceinline__ bool elected() {
  int one;
  asm volatile("{\n\t.reg .pred p;\n\telect.sync _|p, 0xffffffff;\n\tselp.b32 %0, 1, 0, p;\n\t}" : "=r"(one));
  return one;
}

__device__ __forceinline__ void cluster_barrier() {
  asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
}

__device__ __forceinline__ void named_barrier(int number, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(number), "r"(threads) : "memory");
}
