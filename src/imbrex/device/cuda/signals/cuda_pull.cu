#include "imbrex/device/cuda/signals/cuda_pull.h"

#include <cstdint>

namespace imbrex {

namespace {

constexpr unsigned threads = 256;

__device__ unsigned long long load_acquire(const unsigned long long* p) {
  unsigned long long v;
  asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
  return v;
}

__device__ void store_relaxed(unsigned long long* p, unsigned long long v) {
  asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(p), "l"(v) : "memory");
}

template <class Unit>
__device__ void copy_units(void* to, const void* from, std::size_t n) {
  auto* t = static_cast<Unit*>(to);
  auto* f = static_cast<const Unit*>(from);
  const std::size_t step = std::size_t{gridDim.x} * threads;
  std::size_t i = std::size_t{blockIdx.x} * threads + threadIdx.x;
  for (; i + 3 * step < n; i += 4 * step) {  // several loads under way: each takes a microsecond
    const Unit a = f[i], b = f[i + step], c = f[i + 2 * step], d = f[i + 3 * step];
    t[i] = a, t[i + step] = b, t[i + 2 * step] = c, t[i + 3 * step] = d;
  }
  for (; i < n; i += step) t[i] = f[i];
}

template <class Unit>
__global__ void pull_kernel(cuda_pull p) {
  if (p.ready != nullptr) {
    if (threadIdx.x == 0) {
      for (unsigned polls = 0; load_acquire(p.ready) < p.ready_value; ++polls) {
        if (polls < 200) continue;
        __nanosleep(500);  // long waits leave the links to others
        if (polls % 64 == 0 && load_acquire(p.give_up) == cuda_pull::beyond_all) break;
      }
    }
    __syncthreads();
  }
  copy_units<Unit>(p.to, p.from, p.bytes / sizeof(Unit));
  __syncthreads();
  if (threadIdx.x != 0 || p.mark.num_arrived == nullptr) return;
  if (gridDim.x > 1) {
    __threadfence();
    if (atomicInc(p.mark.num_arrived, gridDim.x - 1) != gridDim.x - 1) return;
  }
  __threadfence_system();
  if (p.word != nullptr) store_relaxed(p.word, p.word_value);
  if (p.mark.flag != nullptr) store_relaxed(p.mark.flag, p.mark.number);
}

template <class Unit>
cudaError_t launch_by(cudaStream_t s, cuda_pull p) {
  void* arguments[] = {&p};
  return cudaLaunchKernel(reinterpret_cast<const void*>(&pull_kernel<Unit>), dim3(p.blocks), dim3(threads), arguments,
                          0, s);
}

}  // namespace

cudaError_t cuda_pull::launch(cudaStream_t s) const {
  const std::uintptr_t all = reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from) | bytes;
  if (all % sizeof(uint4) == 0) return launch_by<uint4>(s, *this);
  if (all % sizeof(std::uint64_t) == 0) return launch_by<std::uint64_t>(s, *this);
  if (all % sizeof(std::uint32_t) == 0) return launch_by<std::uint32_t>(s, *this);
  return launch_by<std::uint8_t>(s, *this);
}

}  // namespace imbrex
