#include "imbrex/device/cuda_shared_memory.h"

#include <cuda_runtime_api.h>

#include <cstring>

#include <fmt/format.h>

#include "imbrex/base/error.h"
#include "imbrex/base/log.h"
#include "imbrex/device/cuda_error.h"
#include "imbrex/device/cuda_gpu.h"

namespace imbrex {

cuda_shared_memory::~cuda_shared_memory() {
  for (const auto& [handle, base] : opened_) static_cast<void>(cudaIpcCloseMemHandle(base));
}

bool cuda_shared_memory::share(const void* memory, shared_memory& as) {
  const slab_pool::slab_span slab = gpu_.pool().slab_of(memory);
  if (!slab) return false;
  const std::lock_guard lock(mutex_);
  if (refused_) return false;
  auto at = exported_.find(slab.base);
  if (at == exported_.end()) {
    gpu_.make_current();
    cudaIpcMemHandle_t native;
    const cudaError_t status = cudaIpcGetMemHandle(&native, slab.base);
    if (status != cudaSuccess) {
      static_cast<void>(cudaGetLastError());
      refused_ = true;
      log_info(fmt::format("GPU {} cannot give its memory to other processes ({}): data go through the host",
                           gpu_.number(), cuda_error_text(status)));
      return false;
    }
    shared_handle handle;
    static_assert(sizeof native <= sizeof handle.bytes);
    std::memcpy(handle.bytes.data(), &native, sizeof native);
    handle.size = sizeof native;
    handle.of = gpu_.identity();
    at = exported_.emplace(slab.base, handle).first;
  }
  as.handle = at->second;
  as.offset = static_cast<std::uint64_t>(static_cast<const std::byte*>(memory) - static_cast<std::byte*>(slab.base));
  return true;
}

const std::byte* cuda_shared_memory::open(const shared_memory& m) {
  const std::lock_guard lock(mutex_);
  auto at = opened_.find(m.handle);
  if (at == opened_.end()) {
    cudaIpcMemHandle_t native;
    if (m.handle.size != sizeof native)
      throw device_error(fmt::format("a handle of {} bytes names no memory of a GPU", m.handle.size));
    std::memcpy(&native, m.handle.bytes.data(), sizeof native);
    gpu_.make_current();
    void* base = nullptr;
    const cudaError_t status = cudaIpcOpenMemHandle(&base, native, cudaIpcMemLazyEnablePeerAccess);
    if (status != cudaSuccess) {
      static_cast<void>(cudaGetLastError());
      throw device_error(fmt::format("GPU {} cannot open memory of another process ({}): use --imbrex-protocol=staged",
                                     gpu_.number(), cuda_error_text(status)));
    }
    ++num_opened_;
    at = opened_.emplace(m.handle, base).first;
  }
  return static_cast<const std::byte*>(at->second) + m.offset;
}

}  // namespace imbrex
